/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process that measures the way into a probe: its answer, its end, and none of both. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/load/calibrate.h"

enum kind { ANSWERS, ENDS, HANGS };

static struct calibration start(enum kind kind)
{
	static const struct entry_costs costs = {.probe = 700, .agent = 500};
	struct calibration calibration;
	int answer[2];

	assert_int_equal(pipe(answer), 0);
	calibration = (struct calibration){.child = fork(), .answer = answer[0]};
	assert_true(calibration.child >= 0);
	if (!calibration.child) {
		if (kind == ANSWERS && write(answer[1], &costs, sizeof(costs)) != sizeof(costs))
			_exit(1);
		while (kind == HANGS)
			pause();
		_exit(0);
	}
	close(answer[1]);
	return calibration;
}

static void what_was_measured_is_taken(void **state)
{
	struct calibration calibration = start(ANSWERS);
	struct entry_costs costs;

	(void)state;
	while (!calibrate_is_over(&calibration))
		usleep(1000);
	for (unsigned i = 0; i < 2; i++) { /* it stays known */
		costs = calibrate_finish(&calibration);
		assert_true(costs.probe == 700 && costs.agent == 500);
		assert_int_equal(calibration.child, 0);
		assert_true(calibrate_is_over(&calibration));
	}
}

static void one_that_ends_without_an_answer_has_measured_nothing(void **state)
{
	struct calibration calibration = start(ENDS);
	pid_t child = calibration.child;

	(void)state;
	assert_true(calibrate_finish(&calibration).probe == 0);
	assert_int_equal(waitpid(child, NULL, WNOHANG), -1); /* it was waited for */
}

static void one_that_hangs_has_measured_nothing_and_is_not_killed(void **state)
{
	struct calibration calibration = start(HANGS);
	pid_t child = calibration.child;

	(void)state;
	assert_false(calibrate_is_over(&calibration));
	alarm(60); /* ends a test that hangs with it */
	assert_true(calibrate_finish(&calibration).probe == 0);
	alarm(0);
	assert_int_equal(calibration.child, 0);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0); /* it runs */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_measured_is_taken),
		cmocka_unit_test(one_that_ends_without_an_answer_has_measured_nothing),
		cmocka_unit_test(one_that_hangs_has_measured_nothing_and_is_not_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
