/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses of CUPTI that wait until there is time to find out whose they are (attach/clients/cupti_uses.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/clients/cupti_uses.h"

#define MANY 1000

static struct gpt_cupti_use use_of(uint32_t pid, uint64_t time_ns)
{
	return (struct gpt_cupti_use){.pid = pid, .time_ns = time_ns};
}

static void uses_wait_in_their_order(void **state)
{
	struct cupti_uses uses = {};

	for (uint64_t i = 0; i < 3; i++)
		assert_true(cupti_uses_defer(&uses, &(struct gpt_cupti_use){.pid = 7, .time_ns = i}));
	assert_true(cupti_uses_wait(&uses, 7));
	assert_false(cupti_uses_wait(&uses, 8));
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(uses.list.items[i].time_ns, i);
	array_free(&uses.list);
}

static void a_process_that_makes_too_many_takes_no_others_place(void **state)
{
	struct cupti_uses uses = {};
	struct gpt_cupti_use use = use_of(7, 1), other = use_of(8, 2);
	unsigned waiting = 0;

	for (int i = 0; i < MANY; i++)
		waiting += cupti_uses_defer(&uses, &use);
	assert_in_range(waiting, 30, MANY - 1);
	assert_int_equal(uses.list.count, waiting);
	assert_true(cupti_uses_defer(&uses, &other));
	array_free(&uses.list);
}

static void a_process_that_is_over_waits_no_longer(void **state)
{
	struct cupti_uses uses = {};
	struct gpt_cupti_use use = use_of(7, 1), other = use_of(8, 2);

	cupti_uses_defer(&uses, &use);
	cupti_uses_defer(&uses, &other);
	cupti_uses_defer(&uses, &use);
	cupti_uses_forget(&uses, 7);
	assert_false(cupti_uses_wait(&uses, 7));
	assert_true(cupti_uses_wait(&uses, 8));
	assert_int_equal(uses.list.count, 1);
	array_free(&uses.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uses_wait_in_their_order),
		cmocka_unit_test(a_process_that_makes_too_many_takes_no_others_place),
		cmocka_unit_test(a_process_that_is_over_waits_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
