/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines that a gap is put on while asyncio's loop waits: small logs, as in test_analyze_blame.c. */
#include "gap_log.h"
#include "report/why/why.h"

#define LOOP_CODE 0x100
#define SLEEP_CODE 0x101
#define OTHER_CODE 0x102

enum { LOOP = 20, SLEEPS, AWAITS, STRANGER, LIBRARY }; /* stacks */

#define LINE_SLEEP "tasks.py:602 sleep"
#define LINE_STRANGER "other.py:51 other"

/* train.py:34 launches in a task of `train`; the loop's frames are around it. */
static void begin_loop(struct gap *gap)
{
	begin_gap(gap);
	log_function(&gap->log, PID, LOOP_CODE, "_run_once", "/usr/lib/python3.11/asyncio/base_events.py", 1800);
	log_function(&gap->log, PID, SLEEP_CODE, "sleep", "/usr/lib/python3.11/asyncio/tasks.py", 600);
	log_function(&gap->log, PID, OTHER_CODE, "other", "/src/other.py", 50);
	log_stack(&gap->log, PID, LOOP, 1, (struct gpt_pyframe[]){{.code = LOOP_CODE, .lasti = 2}});
	log_stack(&gap->log, PID, SLEEPS, 2,
		  (struct gpt_pyframe[]){{.code = SLEEP_CODE, .lasti = 4}, {.code = 0xc0de, .lasti = 10}});
	log_stack(&gap->log, PID, AWAITS, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 6}});
	log_stack(&gap->log, PID, STRANGER, 1, (struct gpt_pyframe[]){{.code = OTHER_CODE, .lasti = 2}});
	log_stack(&gap->log, PID, LIBRARY, 1, (struct gpt_pyframe[]){{.code = SLEEP_CODE, .lasti = 4}});
}

static void waits_in_loop(struct gap *gap, uint64_t from_ns, uint64_t to_ns)
{
	log_wait(&gap->log, waits(GPT_WAIT_POLL, LOOP, from_ns, to_ns));
}

static void read_at(struct gap *gap, uint64_t time_ns, uint64_t stack, uint32_t tasks, uint32_t all)
{
	log_await(&gap->log, (struct gpt_await){.time_ns = time_ns,
						.end_ns = time_ns + MS,
						.stack_id = stack,
						.pid = PID,
						.tid = TID,
						.tasks = tasks,
						.all = all});
}

/* The detail of the row on a line. */
static uint32_t detail_on(const struct gap *gap, const char *line, enum why_cause cause)
{
	for (size_t i = 0; i < gap->all.idle.count; i++)
		if (gap->all.idle.rows[i].cause == cause && is_line(&gap->all, gap->all.idle.rows[i].line, line))
			return gap->all.idle.rows[i].detail;
	fail_msg("nothing on %s", line);
	return 0;
}

static void a_wait_is_on_the_line_at_which_the_task_that_goes_on_awaits(void **state)
{
	struct gap gap;

	begin_loop(&gap);
	waits_in_loop(&gap, FROM, LAUNCHED);
	read_at(&gap, 30 * MS, STRANGER, 3, 4);
	read_at(&gap, 30 * MS, AWAITS, 1, 4);
	end_gap(&gap);
	assert_int_equal(detail_on(&gap, LINE_WAITS, WHY_REQUEST), GPT_WAIT_POLL | WHY_AWAIT_ALONE);
	free_gap(&gap, own(&gap, LINE_WAITS, WHY_REQUEST) + begun(&gap));
}

static void asyncios_sleep_is_a_sleep_at_the_line_around_it(void **state)
{
	struct gap gap;

	begin_loop(&gap);
	waits_in_loop(&gap, FROM, LAUNCHED);
	read_at(&gap, 30 * MS, SLEEPS, 1, 1);
	end_gap(&gap);
	SAYS(&gap, report_write_why, "the program sleeps", "train.py:35 train");
	SAYS(&gap, report_write, "slept, in an await");
	free_gap(&gap, own(&gap, LINE_SLEEP, WHY_SLEEP) + begun(&gap));
}

static void of_several_tasks_that_may_go_on_most_count_and_it_is_said(void **state)
{
	struct gap gap;

	begin_loop(&gap);
	waits_in_loop(&gap, FROM, LAUNCHED);
	read_at(&gap, 30 * MS, SLEEPS, 2, 5);
	read_at(&gap, 30 * MS, AWAITS, 3, 5);
	end_gap(&gap);
	assert_int_equal(detail_on(&gap, LINE_WAITS, WHY_REQUEST), GPT_WAIT_POLL | WHY_AWAIT_MOST);
	SAYS(&gap, report_write, "waited for requests, where most of its tasks awaited");
	free_gap(&gap, own(&gap, LINE_WAITS, WHY_REQUEST) + begun(&gap));
}

/* The one that launches began after the wait, or nobody has read what it awaited. */
static void tasks_that_did_not_go_on_are_not_named(void **state)
{
	struct gap gap;

	begin_loop(&gap);
	waits_in_loop(&gap, FROM, LAUNCHED);
	read_at(&gap, 30 * MS, STRANGER, 1, 1);
	end_gap(&gap);
	assert_int_equal(detail_on(&gap, LINE_LAUNCH, WHY_REQUEST), GPT_WAIT_POLL);
	free_gap(&gap, own(&gap, LINE_LAUNCH, WHY_REQUEST) + begun(&gap));
}

static void nor_are_lines_of_asyncio_alone(void **state)
{
	struct gap gap;

	begin_loop(&gap);
	log_function(&gap.log, PID, SLEEP_CODE, "sleep", "/usr/lib/python3.11/asyncio/tasks.py", 600);
	log_stack(&gap.log, PID, LAUNCH, 2,
		  (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 8}, {.code = SLEEP_CODE, .lasti = 2}});
	waits_in_loop(&gap, FROM, LAUNCHED);
	read_at(&gap, 30 * MS, LIBRARY, 1, 1);
	end_gap(&gap);
	free_gap(&gap, own(&gap, LINE_LAUNCH, WHY_REQUEST) + begun(&gap));
}

static void what_was_read_counts_for_the_wait_that_it_lies_in(void **state)
{
	struct gap gap;
	uint64_t read, unread;

	begin_loop(&gap);
	waits_in_loop(&gap, FROM, 40 * MS);
	read_at(&gap, 39500 * US, AWAITS, 1, 1); /* its end lies beyond */
	waits_in_loop(&gap, 40 * MS, 60 * MS);
	read_at(&gap, 50 * MS, AWAITS, 1, 1);
	waits_in_loop(&gap, 60 * MS, LAUNCHED);
	end_gap(&gap);
	read = own(&gap, LINE_WAITS, WHY_REQUEST);
	unread = own(&gap, LINE_LAUNCH, WHY_REQUEST);
	assert_int_equal(read, 20 * MS);
	free_gap(&gap, read + unread + begun(&gap));
}

static void of_a_loop_that_another_thread_waits_for_all_tasks_count(void **state)
{
	struct gap gap;

	begin_loop(&gap);
	log_wait(&gap.log, of(waits(GPT_WAIT_POLL, LOOP, FROM, LAUNCHED), PID, HELPER));
	log_await(&gap.log, (struct gpt_await){.time_ns = 30 * MS,
					       .end_ns = 31 * MS,
					       .stack_id = STRANGER,
					       .pid = PID,
					       .tid = HELPER,
					       .tasks = 1,
					       .all = 1});
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	free_gap(&gap, own(&gap, LINE_STRANGER, WHY_REQUEST) + begun(&gap));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_on_the_line_at_which_the_task_that_goes_on_awaits),
		cmocka_unit_test(asyncios_sleep_is_a_sleep_at_the_line_around_it),
		cmocka_unit_test(of_several_tasks_that_may_go_on_most_count_and_it_is_said),
		cmocka_unit_test(tasks_that_did_not_go_on_are_not_named),
		cmocka_unit_test(nor_are_lines_of_asyncio_alone),
		cmocka_unit_test(what_was_read_counts_for_the_wait_that_it_lies_in),
		cmocka_unit_test(of_a_loop_that_another_thread_waits_for_all_tasks_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
