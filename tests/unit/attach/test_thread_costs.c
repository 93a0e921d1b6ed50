/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads paid in the last second (attach/thread_costs.h), from what the BPF programs have summed up so far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>

#include "attach/attach_state.h"
#include "attach/thread_costs.h"

#define SECOND 1000000000ull
#define THREADS 3000u /* more than are read at once */

static struct {
	struct gputrace_bpf bpf;
	struct attach attach;
	struct gpt_thread_state threads[THREADS]; /* by tid - 1 */
	uint32_t count;
	struct cost_entries entries;
	struct thread_costs costs;
} made;

struct cost_entries costs_sum_entries(struct attach *attach)
{
	return made.entries;
}

/* Of the map of threads; a batch begins where the last one ended. */
int bpf_map_lookup_batch(int fd, void *from, void *to, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	uint32_t at = from ? *(uint32_t *)from : 0, most = *count;

	for (*count = 0; at < made.count && *count < most; at++, ++*count) {
		((uint32_t *)keys)[*count] = at + 1;
		((struct gpt_thread_state *)values)[*count] = made.threads[at];
	}
	*(uint32_t *)to = at;
	return at < made.count ? 0 : -ENOENT;
}

int bpf_map__fd(const struct bpf_map *map)
{
	return 0;
}

static int begin_test(void **state)
{
	memset(&made, 0, sizeof(made));
	made.attach.programs.bpf = &made.bpf;
	return 0;
}

static int end_test(void **state)
{
	thread_costs_free(&made.costs);
	return 0;
}

static void pay(uint32_t tid, uint64_t runs, uint64_t each_ns)
{
	struct gpt_thread_state *thread = &made.threads[tid - 1];

	made.count = tid > made.count ? tid : made.count;
	if (!thread->paid_from_ns)
		thread->paid_from_ns = tid;
	thread->pid = 7;
	thread->paid_runs += runs;
	thread->paid_ns += runs * each_ns;
	made.entries.runs += runs;
	made.entries.ns += (double)runs * 500;
}

/* As if the last measurement had taken no time: on a busy machine it puts the next one off. */
static bool measure(uint64_t now_ns, struct thread_cost *most)
{
	made.costs.took_ns = 0;
	return thread_costs_measure(&made.costs, &made.attach, now_ns, most);
}

static void it_is_what_the_one_that_paid_most_has_paid_since_with_the_way_in(void **state)
{
	struct thread_cost most;

	pay(1, 1000000, 1000); /* before */
	pay(2, 1, 1000);
	thread_costs_begin(&made.costs, &made.attach, SECOND);
	pay(1, 1000, 1000);
	pay(2, 3000, 1000);
	assert_false(measure(2 * SECOND - 1, &most));
	assert_true(measure(2 * SECOND, &most));
	assert_int_equal(most.tid, 2);
	assert_int_equal(most.pid, 7);
	assert_int_equal(most.ns, 3000 * (1000 + 500));
	pay(1, 100, 1000);
	assert_true(measure(4 * SECOND, &most));
	assert_int_equal(most.tid, 1);
	assert_int_equal(most.ns, 100 * (1000 + 500) / 2); /* in two seconds */
	assert_true(measure(5 * SECOND, &most));
	assert_int_equal(most.ns, 0);
}

static void a_thread_that_came_since_has_paid_all_of_it_since(void **state)
{
	struct thread_cost most;

	pay(1, 1000, 1000);
	thread_costs_begin(&made.costs, &made.attach, SECOND);
	made.threads[0] = (struct gpt_thread_state){.paid_from_ns = 99}; /* another one got its number */
	pay(1, 10, 1000);
	assert_true(measure(2 * SECOND, &most));
	assert_int_equal(most.ns, 10 * (1000 + 500));
	pay(2, 20, 1000);
	assert_true(measure(3 * SECOND, &most));
	assert_int_equal(most.tid, 2);
	assert_int_equal(most.ns, 20 * (1000 + 500));
}

static void of_many_threads_none_is_left_out(void **state)
{
	struct thread_cost most;

	for (uint32_t tid = 1; tid <= THREADS; tid++)
		pay(tid, 1000, 1000);
	thread_costs_begin(&made.costs, &made.attach, SECOND);
	for (uint32_t tid = 1; tid <= THREADS; tid++) {
		pay(tid, 10, 1000);
		assert_true(measure((tid + 1) * SECOND, &most));
		assert_int_equal(most.tid, tid);
		assert_int_equal(most.ns, 10 * (1000 + 500));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_what_the_one_that_paid_most_has_paid_since_with_the_way_in,
						begin_test, end_test),
		cmocka_unit_test_setup_teardown(a_thread_that_came_since_has_paid_all_of_it_since, begin_test,
						end_test),
		cmocka_unit_test_setup_teardown(of_many_threads_none_is_left_out, begin_test, end_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
