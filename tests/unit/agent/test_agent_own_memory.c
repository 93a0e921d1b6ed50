/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads of the process's own memory, which may be unmapped meanwhile: they give the right bytes or an error; and the
 * copies of pages that are kept for the next walk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/share/own_memory.h"
#include "agent_points.h"

#define PAGES 24u
#define PAGE 4096u
#define THREAD 7u

static struct own_pages pages;
static uint8_t *memory;

/* Every eight bytes hold their own index. */
static void set_up(bool by_call)
{
	own_memory_begin(by_call);
	memset(&pages, 0, sizeof(pages));
	memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	for (uint64_t i = 0; i < PAGES * PAGE / 8; i++)
		memcpy(memory + i * 8, &i, 8);
}

static int by_call(void **state)
{
	set_up(true);
	return 0;
}

/* Sets a filter that allows every call: it stays. */
static void set_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Only in a process that has a filter. */
static int by_file(void **state)
{
	if (!prctl(PR_GET_SECCOMP))
		set_filter();
	set_up(false);
	return 0;
}

static int unmap_pages(void **state)
{
	return munmap(memory, (size_t)PAGES * PAGE);
}

static bool reads_pages(uint32_t at, uint32_t bytes)
{
	static uint8_t got[PAGES * PAGE];

	memset(got, 0xee, sizeof(got));
	if (own_memory_read_paged(&pages, got, bytes, (uint64_t)(memory + at)))
		return false;
	assert_memory_equal(got, memory + at, bytes);
	return true;
}

static void what_lies_over_pages_is_read_whole(void **state)
{
	own_pages_begin(&pages, THREAD);
	assert_true(reads_pages(0, 8));
	assert_true(reads_pages(PAGE - 3, 6));
	assert_true(reads_pages(PAGE / 2, 4 * PAGE));
	assert_true(reads_pages(5, 9 * PAGE)); /* longer than what is kept */
	assert_int_equal(pages.count, 5);
}

static void more_pages_than_are_kept_are_read_all_the_same(void **state)
{
	own_pages_begin(&pages, THREAD);
	for (uint32_t i = 0; i < PAGES; i++)
		assert_true(reads_pages(i * PAGE + 16, 8));
	assert_true(reads_pages(8 * PAGE + 1, 4 * PAGE));
	for (uint32_t i = 0; i < PAGES; i++)
		assert_true(reads_pages(i * PAGE, PAGE));
}

static void what_the_last_walk_used_is_there_when_the_next_begins(void **state)
{
	own_pages_begin(&pages, THREAD);
	assert_true(reads_pages(0, 8) && reads_pages(3 * PAGE, 8) && reads_pages(5 * PAGE - 4, 8));
	own_pages_begin(&pages, THREAD);
	assert_int_equal(pages.count, 4);
	memset(memory, 1, PAGE); /* a copy shows the page as it was when the walk began */
	assert_int_equal(own_memory_read_paged(&pages, &(uint64_t){0}, 8, (uint64_t)memory), 0);
	assert_int_equal(pages.copies[0][0], 0);
	own_pages_begin(&pages, THREAD);
	assert_int_equal(pages.count, 1); /* the only one used since */
	assert_int_equal(pages.copies[0][0], 1);
	own_pages_begin(&pages, THREAD + 1);
	assert_int_equal(pages.count, 0);
}

/* A pointer of an interpreter that has ended is none: what lies at an offset from it is in page 0. */
static void what_a_pointer_to_nothing_leads_to_is_an_error(void **state)
{
	uint64_t word;

	assert_int_equal(own_memory_read_kept(&word, sizeof(word), 8), -1);
	assert_int_equal(own_memory_read_kept(&word, sizeof(word), PAGE - 4), -1);
	assert_int_equal(own_memory_read(&word, sizeof(word), 8), -1);
}

static void a_page_that_is_gone_is_an_error_and_the_others_are_read(void **state)
{
	own_pages_begin(&pages, THREAD);
	assert_true(reads_pages(0, 8) && reads_pages(2 * PAGE, 8) && reads_pages(4 * PAGE, 8));
	munmap(memory + 2 * PAGE, PAGE);
	own_pages_begin(&pages, THREAD);
	assert_int_equal(pages.count, 1); /* only the pages before it */
	assert_false(reads_pages(2 * PAGE, 8));
	assert_false(reads_pages(2 * PAGE - 4, 8));
	assert_false(reads_pages(PAGE, 3 * PAGE));
	assert_true(reads_pages(0, 8) && reads_pages(PAGE, PAGE) && reads_pages(4 * PAGE, 8));
	assert_int_equal(own_memory_read_paged(&pages, &(uint64_t){0}, 8, 0), -1);
	assert_int_equal(own_memory_read_paged(&pages, &(uint64_t){0}, 8, UINT64_MAX - 3), -1);
	assert_int_equal(own_memory_read_paged(&pages, &(uint64_t){0}, 0, (uint64_t)memory), -1);
}

static bool reads_under_a_filter(void)
{
	uint64_t word = 0, third = 3 * PAGE / 8, at = (uint64_t)memory;

	if (own_memory_is_filtered() || !reads_pages(0, 8))
		return false;
	set_filter();
	munmap(memory + 2 * PAGE, PAGE);
	return own_memory_is_filtered() && own_memory_read(&word, 8, at) < 0 &&
	       !own_memory_read_kept(&word, 8, at + 3 * PAGE) && word == third &&
	       own_memory_read_kept(&word, 8, at + 2 * PAGE - 4) < 0;
}

static void under_a_filter_set_meanwhile_only_what_stays_mapped_is_read(void **state)
{
	pid_t child = fork();
	int status;

	if (!child) {
		own_memory_begin(true);
		_exit(!reads_under_a_filter());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A descriptor would be one of the program's, which another thread may close and open again meanwhile. */
static void without_a_filter_no_descriptor_is_needed(void **state)
{
	struct rlimit before, none;

	if (prctl(PR_GET_SECCOMP))
		skip(); /* a container's filter */
	own_memory_begin(false);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	own_pages_begin(&pages, THREAD);
	assert_true(reads_pages(PAGE - 3, 6));
	assert_int_equal(own_memory_read(&(uint64_t){0}, 8, (uint64_t)memory), 0);
	assert_int_equal(own_memory_read(&(uint64_t){0}, 8, 8), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

#define tests_of(way)                                                                                                  \
	cmocka_unit_test_setup_teardown(what_lies_over_pages_is_read_whole, way, unmap_pages),                         \
		cmocka_unit_test_setup_teardown(more_pages_than_are_kept_are_read_all_the_same, way, unmap_pages),     \
		cmocka_unit_test_setup_teardown(what_the_last_walk_used_is_there_when_the_next_begins, way,            \
						unmap_pages),                                                          \
		cmocka_unit_test_setup_teardown(what_a_pointer_to_nothing_leads_to_is_an_error, way, unmap_pages),     \
		cmocka_unit_test_setup_teardown(a_page_that_is_gone_is_an_error_and_the_others_are_read, way,          \
						unmap_pages)

int main(void)
{
	const struct CMUnitTest tests[] = {
		tests_of(by_call),
		cmocka_unit_test_setup_teardown(without_a_filter_no_descriptor_is_needed, by_call, unmap_pages),
		cmocka_unit_test_setup_teardown(under_a_filter_set_meanwhile_only_what_stays_mapped_is_read, by_call,
						unmap_pages),
		tests_of(by_file), /* the last ones: the filter stays */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
