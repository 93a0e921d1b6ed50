/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command of `gputrace -- COMMAND`: held until it is released, described when it fails, given the agent. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/signals.h"
#include "cmd/record/command.h"
#include "own_folder.h"
#include "process_state.h"

static void a_command_runs_only_when_it_is_released(void **state)
{
	char *path = in_folder("made");
	char *argv[] = {(char *)(uintptr_t) "touch", path, NULL};
	sigset_t signals;
	struct command command;

	sigemptyset(&signals);
	assert_int_equal(command_check("touch", NULL), 0);
	assert_int_equal(command_start(&(struct command_options){.argv = argv, .signals = &signals}, &command), 0);
	while (blocked_in(command.pid) != SYS_read)
		pause_a_little();
	assert_int_equal(count_files(), 0);
	assert_false(command_has_ended(&command));
	assert_int_equal(command_release(&command), 0);
	while (!command_has_ended(&command))
		pause_a_little();
	assert_int_equal(count_files(), 1);
	assert_null(command_failure(&command, NULL, 0));
	command_close(&command);
	free(path);
}

static void a_command_that_is_not_released_goes_away_without_running(void **state)
{
	char *path = in_folder("made");
	char *argv[] = {(char *)(uintptr_t) "touch", path, NULL};
	sigset_t signals;
	struct command command;

	sigemptyset(&signals);
	assert_int_equal(command_start(&(struct command_options){.argv = argv, .signals = &signals}, &command), 0);
	command_close(&command);
	assert_int_equal(count_files(), 0);
	free(path);
}

static const char *run_shell(const char *script, const char *agent)
{
	static char text[128];
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};
	struct command_options options = {.argv = argv, .agent_path = agent};
	struct command command;
	sigset_t signals;
	const char *failure;

	sigemptyset(&signals);
	options.signals = &signals;
	assert_int_equal(command_start(&options, &command), 0);
	assert_int_equal(command_release(&command), 0);
	while (!command_has_ended(&command))
		pause_a_little();
	failure = command_failure(&command, text, sizeof(text));
	command_close(&command);
	return failure ? failure : "";
}

static void a_failed_command_is_described(void **state)
{
	assert_string_equal(run_shell("exit 7", NULL), "exited with status 7");
	assert_string_equal(run_shell("kill -9 $$", NULL), "was killed by SIGKILL (Killed)");
	assert_string_equal(run_shell("kill -SYS $$", NULL), "was killed by SIGSYS (Bad system call)");
	assert_string_equal(run_shell("exit 159", NULL), "exited with status 159, as a shell does after SIGSYS");
	assert_string_equal(run_shell("exit 255", NULL), "exited with status 255");
	assert_string_equal(run_shell("true", NULL), "");
}

static void a_command_that_cannot_be_executed_says_why(void **state)
{
	char *script = in_folder("script");
	char *argv[] = {script, NULL};
	int fd = open(script, O_WRONLY | O_CREAT, 0755);
	struct command command;
	sigset_t signals;

	assert_int_equal(write(fd, "#!/no/such/interpreter\n", 23), 23);
	close(fd);
	sigemptyset(&signals);
	assert_int_equal(command_start(&(struct command_options){.argv = argv, .signals = &signals}, &command), 0);
	assert_int_equal(command_release(&command), -ENOENT);
	command_close(&command);
	assert_int_equal(command_check("no-such-command-anywhere", NULL), -ENOENT);
	assert_int_equal(command_check("touch", "/nowhere"), -ENOENT);
	assert_int_equal(command_check("touch", "/nowhere:/usr/bin:/bin"), 0);
	assert_int_equal(command_check(folder, NULL), -EISDIR);
	free(script);
}

static void the_agent_is_put_in_front_of_the_users_own_injection_library(void **state)
{
	const char *script = "test \"$CUDA_INJECTION64_PATH,$GPUTRACE_CHAINED_INJECTION\" = \"$WANTED\"";

	unsetenv("CUDA_INJECTION64_PATH");
	setenv("WANTED", "/agent.so,", 1);
	assert_string_equal(run_shell(script, "/agent.so"), "");
	setenv("WANTED", ",", 1);
	assert_string_equal(run_shell(script, NULL), "");
	setenv("CUDA_INJECTION64_PATH", "/theirs.so", 1);
	setenv("WANTED", "/agent.so,/theirs.so", 1);
	assert_string_equal(run_shell(script, "/agent.so"), "");
	setenv("WANTED", "/theirs.so,", 1);
	assert_string_equal(run_shell(script, NULL), "");
	unsetenv("CUDA_INJECTION64_PATH");
}

/* Last, as the claim lasts.  Each step ends this program if it is not ignored. */
static void a_signal_that_asks_for_a_file_ends_nothing_and_is_a_commands_own(void **state)
{
	sigset_t old;
	int fd;

	signals_claim_write();
	raise(SIGUSR1);
	fd = stop_signals_open(false, &old);
	assert_true(fd >= 0);
	raise(SIGUSR1);
	assert_true(stop_signals_take(fd, 0).write);
	raise(SIGUSR1);
	stop_signals_close(fd, &old);
	raise(SIGUSR1);
	assert_string_equal(run_shell("kill -USR1 $$", NULL), "was killed by SIGUSR1 (User defined signal 1)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		file_test(a_command_runs_only_when_it_is_released),
		file_test(a_command_that_is_not_released_goes_away_without_running),
		file_test(a_failed_command_is_described),
		file_test(a_command_that_cannot_be_executed_says_why),
		file_test(the_agent_is_put_in_front_of_the_users_own_injection_library),
		file_test(a_signal_that_asks_for_a_file_ends_nothing_and_is_a_commands_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
