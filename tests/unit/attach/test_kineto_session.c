/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A second look at torch.profiler in a process.  The process is this one, with a flag of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "attach/clients/kineto_session.h"

static volatile uint8_t guard = 1, records;

static struct kineto_place known_place(void)
{
	return (struct kineto_place){
		.known = true,
		.flag = {.guard = (uintptr_t)&guard - 4096, .instance = (uintptr_t)&records - 4096},
		.bias = 4096,
	};
}

static void a_place_that_is_known_is_read_without_its_file(void **state)
{
	struct kineto_place place = known_place();

	records = 0;
	assert_int_equal(kineto_session_lasts(getpid(), NULL, NULL, 0, &place), 0);
	records = 1;
	assert_int_equal(kineto_session_lasts(getpid(), NULL, NULL, 0, &place), 1);
}

static void a_place_that_cannot_be_read_any_more_is_looked_for_in_the_files(void **state)
{
	struct kineto_place place = known_place();

	place.flag.guard = 0;
	place.bias = 0;
	records = 1;
	assert_int_equal(kineto_session_lasts(getpid(), NULL, NULL, 0, &place), 0); /* there is no file to look in */
}

static void a_place_that_is_known_says_nothing_of_two_copies(void **state)
{
	struct probed_file copies[2] = {{.kind = LIBRARY_TORCH, .torch_tried = true},
					{.kind = LIBRARY_TORCH, .torch_tried = true}};
	struct probed_file *const mapped[] = {&copies[0], &copies[1]};
	struct kineto_place place = known_place();

	records = 0;
	assert_int_equal(kineto_session_lasts(getpid(), NULL, mapped, 1, &place), 0);
	assert_int_equal(kineto_session_lasts(getpid(), NULL, mapped, 2, &place), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_that_is_known_is_read_without_its_file),
		cmocka_unit_test(a_place_that_cannot_be_read_any_more_is_looked_for_in_the_files),
		cmocka_unit_test(a_place_that_is_known_says_nothing_of_two_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
