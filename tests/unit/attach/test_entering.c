/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries into processes, each on a thread of its own: none waits for another, and each answer goes to the caller that
 * still wants it.  The code that enters is a stand-in in this file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/entering.h"
#include "attach/inject/stop.h"

/* ---- stand-in: what an entry into the process of that number does --------------------------------------------- */

#define SLOW 1000	 /* does not answer before `release` */
#define STRAY 2000	 /* answers, and keeps its thread until `release_strays` */
#define CANNOT_WRITE 300 /* -EPERM */
#define DRIVER 400	 /* its driver loads the agent */

static atomic_bool release, release_strays, hurried;
static atomic_uint inside, waiting, ended, observed;

static void pause_a_little(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	nanosleep(&pause, NULL);
}

int inject_agent(pid_t pid, uint64_t start_ticks, int agent_fd, const char *cupti, struct inject_result *result)
{
	memset(result, 0, sizeof(*result));
	if (fcntl(agent_fd, F_GETFD) < 0)
		return -EBADF;
	inside++;
	while (pid / SLOW == 1 && !release && !hurried)
		pause_a_little();
	inside--;
	result->tid = pid + 1;
	result->late_stop = pid / STRAY == 1 ? pid : 0;
	snprintf(result->why, sizeof(result->why), "%s", cupti ? cupti : "");
	return pid == CANNOT_WRITE ? -EPERM : 0;
}

int inject_observer(pid_t pid, uint64_t start_ticks, int agent_fd, struct inject_result *result)
{
	memset(result, 0, sizeof(*result));
	observed++;
	return pid == CANNOT_WRITE ? -EPERM : 0;
}

bool inject_driver_brings(pid_t pid)
{
	return pid == DRIVER;
}

void inject_wait_late_stop(pid_t pid, const struct inject_result *result)
{
	waiting++;
	while (result->late_stop && !release_strays)
		pause_a_little();
	waiting--;
	ended++;
}

void stop_hurry(void)
{
	hurried = true;
}

/* ---- */

static int file;
static const struct entering_request plain, unless_driver = {.unless_driver = true};

static int begin_test(void **state)
{
	release = release_strays = hurried = false;
	inside = waiting = ended = observed = 0;
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return file < 0;
}

static int end_test(void **state)
{
	close(file);
	return 0;
}

static struct entering *enter_process(pid_t pid)
{
	struct entering *entering = NULL;

	assert_int_equal(entering_begin(pid, file, &plain, &entering), 0);
	return entering;
}

static int answer_of(struct entering *entering, struct inject_result *result)
{
	int error;

	while (!entering_ended(&entering, &error, result))
		pause_a_little();
	assert_null(entering);
	return error;
}

static void wait_until_ended(unsigned count)
{
	while (ended < count)
		pause_a_little();
	/* the last one has left the list, too: a second one for its process would be refused until then */
	for (;;) {
		struct entering *entering;
		struct inject_result result;
		int error = entering_begin(1, file, &plain, &entering);

		if (!error) {
			answer_of(entering, &result);
			return;
		}
		pause_a_little();
	}
}

static void the_answer_is_that_of_its_own_process(void **state)
{
	struct entering *one = enter_process(10), *other = enter_process(CANNOT_WRITE);
	struct inject_result result;

	assert_int_equal(answer_of(other, &result), -EPERM);
	assert_int_equal(answer_of(one, &result), 0);
	assert_int_equal(result.tid, 11);
	wait_until_ended(2);
}

static void no_one_is_entered_whose_driver_brings_the_agent(void **state)
{
	struct entering *entering;
	struct inject_result result;

	assert_int_equal(answer_of(enter_process(DRIVER), &result), 0); /* the request does not ask about the driver */
	assert_int_equal(entering_begin(DRIVER + 1, file, &unless_driver, &entering), 0);
	assert_int_equal(answer_of(entering, &result), 0);
	wait_until_ended(2);
	assert_int_equal(entering_begin(DRIVER, file, &unless_driver, &entering), 0);
	assert_int_equal(answer_of(entering, &result), -EALREADY);
	assert_int_equal(result.tid, 0);
}

static int answer_to(pid_t pid, const struct entering_request *request)
{
	struct entering *entering;
	struct inject_result result;
	int error;

	/* an earlier one for this process has answered, but may still be in the list */
	while ((error = entering_begin(pid, file, request, &entering)) == -EAGAIN)
		pause_a_little();
	assert_int_equal(error, 0);
	return answer_of(entering, &result);
}

static void who_wants_ops_is_entered_although_the_driver_brings_the_agent(void **state)
{
	const struct entering_request known = {.driver = true, .ops = true}, ops = {.unless_driver = true, .ops = true};

	assert_int_equal(answer_to(DRIVER, &ops), -EALREADY);
	assert_int_equal(observed, 1);
	assert_int_equal(answer_to(DRIVER, &known), -EALREADY);
	assert_int_equal(observed, 2);
	assert_int_equal(answer_to(10, &known), -ENODATA); /* its environment was cleaned */
	assert_int_equal(observed, 2);
	assert_int_equal(answer_to(10, &ops), 0);
	assert_int_equal(observed, 2);
	wait_until_ended(4);
}

static void one_that_waits_keeps_no_other_waiting(void **state)
{
	struct entering *slow = enter_process(SLOW + 1);
	struct inject_result result;
	int error;

	assert_int_equal(answer_of(enter_process(10), &result), 0);
	assert_false(entering_ended(&slow, &error, &result));
	release = true;
	assert_int_equal(answer_of(slow, &result), 0);
	wait_until_ended(2);
}

static void the_answer_comes_before_a_stray_has_stopped_and_no_second_try_does(void **state)
{
	struct entering *again = NULL;
	struct inject_result result;

	assert_int_equal(answer_of(enter_process(STRAY + 1), &result), 0);
	assert_int_equal(entering_begin(STRAY + 1, file, &plain, &again), -EAGAIN);
	assert_null(again);
	release_strays = true;
	wait_until_ended(1);
	while (entering_begin(STRAY + 1, file, &plain, &again))
		pause_a_little();
	answer_of(again, &result);
	wait_until_ended(3);
}

static void one_that_is_forgotten_ends_by_itself(void **state)
{
	struct entering *slow = enter_process(SLOW + 1), *none = NULL;

	entering_forget(&slow);
	assert_null(slow);
	entering_forget(&none);
	release = true;
	wait_until_ended(1);
}

static void the_file_may_be_closed_meanwhile(void **state)
{
	struct entering *slow = enter_process(SLOW + 1);
	struct inject_result result;

	close(file);
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	release = true;
	assert_int_equal(answer_of(slow, &result), 0);
	wait_until_ended(1);
}

static void there_are_so_many_at_once_and_no_more(void **state)
{
	struct entering *all[ENTERINGS_MAX], *more = NULL;
	struct inject_result result;

	for (int i = 0; i < ENTERINGS_MAX; i++)
		all[i] = enter_process(SLOW + i);
	assert_int_equal(entering_begin(10, file, &plain, &more), -EAGAIN);
	release = true;
	for (int i = 0; i < ENTERINGS_MAX; i++)
		answer_of(all[i], &result);
	wait_until_ended(ENTERINGS_MAX);
}

static void the_end_waits_for_those_in_a_process_and_not_for_strays(void **state)
{
	struct entering *slow = enter_process(SLOW + 1), *stray = enter_process(STRAY + 1);
	struct inject_result result;

	while (!inside || !waiting)
		pause_a_little();
	enterings_finish();
	assert_int_equal(inside, 0);
	assert_int_equal(waiting, 1);
	answer_of(slow, &result);
	entering_forget(&stray);
	release_strays = true;
	wait_until_ended(2);
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		behaviour(the_answer_is_that_of_its_own_process),
		behaviour(no_one_is_entered_whose_driver_brings_the_agent),
		behaviour(who_wants_ops_is_entered_although_the_driver_brings_the_agent),
		behaviour(one_that_waits_keeps_no_other_waiting),
		behaviour(the_answer_comes_before_a_stray_has_stopped_and_no_second_try_does),
		behaviour(one_that_is_forgotten_ends_by_itself),
		behaviour(the_file_may_be_closed_meanwhile),
		behaviour(there_are_so_many_at_once_and_no_more),
		behaviour(the_end_waits_for_those_in_a_process_and_not_for_strays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
