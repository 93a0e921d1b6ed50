/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Since when threads are where they are, and processes make no progress, from looks at processes with one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump/watch.h"

#define MS 1000000ull
#define TID 12

/* A thread in a system call, with a Python stack. */
static struct dump_thread make_waiting(void)
{
	return (struct dump_thread){.tid = TID,
				    .state = 'S',
				    .run_ns = 100,
				    .switches = 3,
				    .in_call = true,
				    .call = 202,
				    .args = {1, 2, 3},
				    .sp = 4,
				    .pc = 5,
				    .tstate = 6,
				    .stack_hash = 7};
}

static void a_thread_that_is_the_same_in_all_has_not_run(void **state)
{
	struct dump_thread thread = make_waiting();
	struct thread_runs earlier = runs_of(&thread);

	(void)state;
	assert_true(has_not_run_since(&earlier, &thread));
}

static void each_fact_that_differs_says_that_it_may_have_run(void **state)
{
	struct dump_thread same = make_waiting(), others[8];
	struct thread_runs earlier = runs_of(&same);

	(void)state;
	for (size_t i = 0; i < 8; i++)
		others[i] = same;
	others[0].run_ns++;
	others[1].switches++;
	others[2].state = 'D';
	others[3].call++;
	others[4].args[5]++;
	others[5].sp++;
	others[6].pc++;
	others[7].in_call = false;
	for (size_t i = 0; i < 8; i++)
		assert_false(has_not_run_since(&earlier, &others[i]));
}

static void of_a_thread_that_runs_or_whose_run_time_is_not_counted_nothing_is_known(void **state)
{
	struct dump_thread runs = make_waiting(), uncounted = make_waiting();
	struct thread_runs earlier;

	(void)state;
	runs.state = 'R';
	earlier = runs_of(&runs);
	assert_false(has_not_run_since(&earlier, &runs));
	uncounted.run_ns = 0;
	earlier = runs_of(&uncounted);
	assert_false(has_not_run_since(&earlier, &uncounted));
}

/* Takes one look of a watch, which ended at `end_ns`. */
static void take_look(struct watch *watch, struct dump_thread *thread, uint64_t begun_ns, uint64_t end_ns)
{
	struct dump_process process = {
		.pid = getpid(), .threads = thread, .thread_count = 1, .begun_ns = begun_ns, .look_ns = 1};
	struct look look = {.process = &process};
	look_list looks = {.items = &look, .count = 1, .capacity = 1};

	watch_take(watch, &looks, end_ns);
	watch_say_since(watch, &looks);
}

static void a_watch_counts_from_the_end_of_the_first_look_to_the_begin_of_the_latest(void **state)
{
	struct dump_thread thread = make_waiting();
	struct watch watch = {0};

	(void)state;
	take_look(&watch, &thread, 1000 * MS, 1010 * MS);
	assert_int_equal(thread.not_run_ns, 0);
	assert_int_equal(thread.same_frames_ns, 0);
	thread = make_waiting();
	take_look(&watch, &thread, 2000 * MS, 2010 * MS);
	assert_int_equal(thread.not_run_ns, 990 * MS);
	thread = make_waiting();
	thread.not_run_ns = thread.same_frames_ns = 500 * MS;
	take_look(&watch, &thread, 31000 * MS, 31010 * MS);
	assert_int_equal(thread.not_run_ns, 29990 * MS);
	assert_int_equal(thread.same_frames_ns, 29990 * MS);
	watch_free(&watch);
}

static void what_ran_between_two_looks_of_a_watch_has_what_the_last_looks_know(void **state)
{
	struct dump_thread thread = make_waiting();
	struct watch watch = {0};

	(void)state;
	take_look(&watch, &thread, 1000 * MS, 1010 * MS);
	thread = make_waiting();
	thread.run_ns++;
	thread.not_run_ns = 500 * MS;
	take_look(&watch, &thread, 2000 * MS, 2010 * MS);
	assert_int_equal(thread.not_run_ns, 500 * MS);
	assert_int_equal(thread.same_frames_ns, 990 * MS);
	thread = make_waiting();
	thread.run_ns++;
	thread.stack_hash++;
	take_look(&watch, &thread, 3000 * MS, 3010 * MS);
	assert_int_equal(thread.not_run_ns, 990 * MS);
	assert_int_equal(thread.same_frames_ns, 0);
	watch_free(&watch);
}

static void frames_that_were_not_read_whole_are_not_the_same(void **state)
{
	struct dump_thread thread;
	struct watch watch = {0};

	(void)state;
	for (uint64_t i = 1; i < 4; i++) {
		thread = make_waiting();
		thread.torn = i == 2;
		take_look(&watch, &thread, i * 1000 * MS, i * 1000 * MS + 10 * MS);
		assert_int_equal(thread.same_frames_ns, 0);
	}
	watch_free(&watch);
}

/* Both stand still, until the child ends. */
static void the_end_of_a_child_is_progress_of_its_parent(void **state)
{
	struct dump_thread threads[] = {make_waiting(), make_waiting()};
	struct dump_process processes[] = {{.pid = getpid(), .threads = &threads[0], .thread_count = 1},
					   {.parent = getpid(), .threads = &threads[1], .thread_count = 1}};
	struct look looks[] = {{.process = &processes[0]}, {.process = &processes[1]}};
	look_list both = {.items = looks, .count = 2, .capacity = 2},
		  alone = {.items = looks, .count = 1, .capacity = 1};
	struct watch watch = {0};
	pid_t child = fork();

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	processes[1].pid = child;
	watch_take(&watch, &both, 1000 * MS);
	watch_take(&watch, &both, 3000 * MS);
	assert_int_equal(watch_state_of(&watch, &both, getpid(), 1000 * MS, 3000 * MS), WATCH_STILL);
	watch_take(&watch, &alone, 4000 * MS); /* the child was not looked at, but lives */
	assert_int_equal(watch_state_of(&watch, &alone, getpid(), 1000 * MS, 4000 * MS), WATCH_STILL);
	watch_take(&watch, &both, 4500 * MS);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	watch_take(&watch, &alone, 5000 * MS);
	assert_int_equal(watch_state_of(&watch, &alone, getpid(), 1000 * MS, 5000 * MS), WATCH_GETS_ON);
	watch_take(&watch, &alone, 6000 * MS);
	assert_int_equal(watch_state_of(&watch, &alone, getpid(), 1000 * MS, 6000 * MS), WATCH_STILL);
	watch_free(&watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_is_the_same_in_all_has_not_run),
		cmocka_unit_test(each_fact_that_differs_says_that_it_may_have_run),
		cmocka_unit_test(of_a_thread_that_runs_or_whose_run_time_is_not_counted_nothing_is_known),
		cmocka_unit_test(a_watch_counts_from_the_end_of_the_first_look_to_the_begin_of_the_latest),
		cmocka_unit_test(what_ran_between_two_looks_of_a_watch_has_what_the_last_looks_know),
		cmocka_unit_test(the_end_of_a_child_is_progress_of_its_parent),
		cmocka_unit_test(frames_that_were_not_read_whole_are_not_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
