/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The GPU's short gaps, by which the rate of samples is chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gputrace/agent.h>

#include "capture/gaps.h"

#define MS 1000000ull

static struct gaps gaps;

static int reset_test(void **state)
{
	memset(&gaps, 0, sizeof(gaps));
	return 0;
}

static void add_batch(uint32_t pid, const void *record, size_t bytes)
{
	_Alignas(8) uint8_t room[sizeof(struct gpt_agent_batch) + sizeof(struct gpt_agent_kernel)] = {0};
	struct gpt_agent_batch *batch = (struct gpt_agent_batch *)room;

	batch->hdr = (struct gpt_record){.size = (uint32_t)(sizeof(*batch) + bytes), .type = GPT_AGENT_BATCH};
	batch->pid = pid;
	batch->bytes = (uint32_t)bytes;
	memcpy(batch->data, record, bytes);
	gaps_add(&gaps, &batch->hdr);
}

static void add_kernel(uint32_t pid, uint32_t device, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpt_agent_kernel kernel = {.hdr = {.size = sizeof(kernel), .type = GPT_AGENT_KERNEL},
						.start_wall_ns = start_ns,
						.end_wall_ns = end_ns,
						.device = device};

	add_batch(pid, &kernel, sizeof(kernel));
}

static void short_gaps_are_summed_up(void **state)
{
	const struct gpt_agent_memcpy copy = {.hdr = {.size = sizeof(copy), .type = GPT_AGENT_MEMCPY},
					      .start_wall_ns = 9 * MS,
					      .end_wall_ns = 10 * MS};

	add_kernel(7, 0, 1 * MS, 2 * MS);
	assert_int_equal(gaps.short_ns, 0);
	add_kernel(7, 0, 5 * MS, 6 * MS);
	assert_int_equal(gaps.short_ns, 3 * MS);
	add_batch(7, &copy, sizeof(copy));
	assert_int_equal(gaps.short_ns, 6 * MS);
}

static void the_price_of_a_launch_and_long_gaps_are_none(void **state)
{
	add_kernel(7, 0, 1 * MS, 2 * MS);
	add_kernel(7, 0, 2 * MS + GAPS_LEAST_NS - 1, 3 * MS);
	add_kernel(7, 0, 3 * MS + GAPS_MOST_NS + 1, 90 * MS);
	assert_int_equal(gaps.short_ns, 0);
}

static void work_beside_other_work_leaves_no_gap(void **state)
{
	add_kernel(7, 0, 1 * MS, 9 * MS);
	add_kernel(7, 0, 2 * MS, 3 * MS);
	add_kernel(7, 0, 5 * MS, 6 * MS);
	add_kernel(7, 0, 9 * MS, 10 * MS);
	assert_int_equal(gaps.short_ns, 0);
}

static void processes_and_gpus_are_told_apart(void **state)
{
	add_kernel(7, 0, 1 * MS, 2 * MS);
	add_kernel(8, 0, 4 * MS, 5 * MS);
	add_kernel(7, 1, 7 * MS, 8 * MS);
	assert_int_equal(gaps.short_ns, 0);
	add_kernel(7, 0, 4 * MS, 5 * MS);
	assert_int_equal(gaps.short_ns, 2 * MS);
}

static void what_is_no_batch_or_malformed_counts_for_nothing(void **state)
{
	const struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}};
	const struct gpt_record cut_short = {.size = sizeof(cut_short), .type = GPT_AGENT_KERNEL};

	add_kernel(7, 0, 1 * MS, 2 * MS);
	gaps_add(&gaps, &call.hdr);
	add_batch(7, &cut_short, sizeof(cut_short));
	add_kernel(7, 0, 9 * MS, 3 * MS); /* ends before it starts */
	assert_int_equal(gaps.short_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(short_gaps_are_summed_up, reset_test),
		cmocka_unit_test_setup(the_price_of_a_launch_and_long_gaps_are_none, reset_test),
		cmocka_unit_test_setup(work_beside_other_work_leaves_no_gap, reset_test),
		cmocka_unit_test_setup(processes_and_gpus_are_told_apart, reset_test),
		cmocka_unit_test_setup(what_is_no_batch_or_malformed_counts_for_nothing, reset_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
