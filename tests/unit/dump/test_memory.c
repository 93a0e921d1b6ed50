/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that a child reads of a process: as it is now, or each page once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dump/process/look.h"
#include "dump/process/memory.h"
#include "target/process.h"

#define PAGE 4096u
#define PAGES 8u

static uint8_t *map_pages(void)
{
	uint8_t *pages =
		mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	return pages;
}

/* Reads 2 bytes both ways, which must agree; returns the first one, -1: not readable. */
static int read_byte(const uint8_t *at)
{
	uint8_t read[2], other[2];
	bool done = memory_read(getpid(), (uintptr_t)at, read, sizeof(read));

	assert_int_equal(process_read_memory(getpid(), (uintptr_t)at, other, sizeof(other)) == 0, done);
	if (!done)
		return -1;
	assert_memory_equal(read, other, sizeof(read));
	return read[0];
}

static void a_page_is_read_once_until_it_is_forgotten(void **state)
{
	uint8_t *pages = map_pages(), *across = pages + 3 * PAGE - 1;

	(void)state;
	assert_true(memory_keep_pages(getpid(), MEMORY_LARGE));
	*across = 1;
	assert_int_equal(read_byte(across), 1);
	*across = 2;
	assert_int_equal(read_byte(across), 1);
	assert_true(memory_keep_pages(getpid(), MEMORY_LARGE));
	assert_int_equal(read_byte(across), 2);
	*across = 3;
	memory_forget_pages();
	assert_int_equal(read_byte(across), 3);
	munmap(pages, PAGES * PAGE);
}

static void a_page_beside_one_that_cannot_be_read_can_be(void **state)
{
	uint8_t *pages = map_pages();

	(void)state;
	assert_int_equal(munmap(pages + PAGE, PAGE), 0);
	assert_int_equal(munmap(pages + 4 * PAGE, PAGE), 0);
	assert_true(memory_keep_pages(getpid(), MEMORY_LARGE));
	for (unsigned page = 0; page < PAGES; page++)
		assert_int_equal(read_byte(pages + page * PAGE), page == 1 || page == 4 ? -1 : 0);
	assert_int_equal(read_byte(pages + PAGE - 1), -1); /* its second byte is in the next page */
	memory_forget_pages();
	munmap(pages, PAGES * PAGE);
}

static void no_address_wraps_around(void **state)
{
	(void)state;
	assert_true(memory_keep_pages(getpid(), MEMORY_LARGE));
	assert_int_equal(read_byte((const uint8_t *)UINTPTR_MAX), -1);
	assert_int_equal(read_byte(NULL), -1);
	memory_forget_pages();
}

static bool can_map(uint64_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
	       MAP_FAILED;
}

/* A process may make each of its objects refer to the same large one, of which a copy is kept each time. */
static void a_child_that_reads_a_process_takes_no_memory_without_end(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	assert_true(can_map(2 * LOOK_MEMORY_MAX)); /* what gputrace has itself does not count */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		look_child_begin("test", -1);
		_exit(!can_map(LOOK_MEMORY_MAX / 2) || can_map(LOOK_MEMORY_MAX));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_read_once_until_it_is_forgotten),
		cmocka_unit_test(a_page_beside_one_that_cannot_be_read_can_be),
		cmocka_unit_test(no_address_wraps_around),
		cmocka_unit_test(a_child_that_reads_a_process_takes_no_memory_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
