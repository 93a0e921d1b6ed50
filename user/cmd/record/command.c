/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Forks, holds, executes and waits for the command; decides nothing about the trace. */
#include "cmd/record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/cupti_search.h>
#include <gputrace/share.h>

#include "base/array.h"
#include "base/path.h"
#include "base/signal_name.h"
#include "capture/signals.h"
#include "cmd/process/caller.h"
#include "cmd/process/interrupt.h"
#include "cmd/process/privileges.h"
#include "target/process.h"

#define RANGES "NVTX_INJECTION64_PATH"

/* exec is immediate unless a file server is slow; if it takes longer its failure shows in the exit status. */
#define EXEC_WAIT_MS 5000

/* A shell's exit status when a command cannot be executed, is not found, was killed (and the signal). */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define STATUS_KILLED 128

static bool ignores_children;

void command_keep_statuses(void)
{
	ignores_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

static int check_executable(const char *path)
{
	struct stat stat_buffer;

	if (stat(path, &stat_buffer) < 0)
		return -errno;
	if (S_ISDIR(stat_buffer.st_mode))
		return -EISDIR;
	return access(path, X_OK) < 0 ? -EACCES : 0;
}

int command_check(const char *name, const char *path)
{
	int result = -ENOENT;

	if (!path)
		path = getenv("PATH");
	if (strchr(name, '/'))
		return check_executable(name);
	/* As execvp(3) without PATH. */
	for (path = path ? path : "/bin:/usr/bin"; result; path++) {
		size_t length = strcspn(path, ":");
		char *file = xasprintf("%.*s%s%s", (int)length, path, length ? "/" : "", name);
		int err = check_executable(file);

		free(file);
		if (!err || err == -EACCES || err == -EISDIR)
			result = err;
		if (!err || !path[length])
			break;
		path += length;
	}
	return result;
}

static void set_filters(void)
{
	int filters = process_filters(getpid());
	char number[16];

	snprintf(number, sizeof(number), "%d", filters >= 0 ? filters : prctl(PR_GET_SECCOMP));
	setenv(GPUTRACE_FILTERS, number, 1);
}

void command_set_injection(const char *agent_path)
{
	const char *inherited = getenv(COMMAND_INJECTION);

	/* `gputrace env` has named the agent there, and the user's library in COMMAND_CHAINED. */
	if (!inherited || !*inherited)
		unsetenv(COMMAND_CHAINED);
	else if (strcmp(path_base(inherited), GPUTRACE_AGENT_FILE) != 0)
		setenv(COMMAND_CHAINED, inherited, 1);
	setenv(COMMAND_INJECTION, agent_path, 1);
	set_filters();
}

const char *command_other_ranges(const char *agent_path)
{
	const char *inherited = getenv(RANGES);

	return inherited && *inherited && strcmp(inherited, agent_path) != 0 ? inherited : NULL;
}

static void set_agent(const struct command_options *options)
{
	command_set_injection(options->agent_path);
	if (options->share_name)
		setenv(GPUTRACE_SHARE, options->share_name, 1);
	else
		unsetenv(GPUTRACE_SHARE);
	if (options->cupti)
		setenv(GPT_CUPTI_VARIABLE, options->cupti, 1);
	/* NVTX loads one tool per process.  If another tool is set up already, it stays. */
	if (options->ranges && !command_other_ranges(options->agent_path))
		setenv(RANGES, options->agent_path, 1);
}

static int status_not_executed(int error)
{
	return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

static void __attribute__((noreturn)) fail_child(int failed, int error)
{
	(void)!write(failed, &error, sizeof(error));
	_exit(status_not_executed(error));
}

static void __attribute__((noreturn)) run_child(const struct command_options *options, int go, int failed)
{
	char byte;
	ssize_t got;
	int err;

	do
		got = read(go, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(STATUS_NOT_FOUND);
	if (privileges_of_file())
		privileges_drop();
	err = options->caller ? caller_become(options->caller) : 0;
	if (err)
		fail_child(failed, -err);
	/* If this user may not read the agent, it is let in later, as when the environment was cleaned. */
	if (options->agent_path && (!options->caller || !access(options->agent_path, R_OK)))
		set_agent(options);
	if (options->stdout_to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signals_give_back_write();
	if (ignores_children)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, options->signals, NULL);
	execvp(options->argv[0], options->argv);
	fail_child(failed, errno);
}

int command_start(const struct command_options *options, struct command *out)
{
	int go[2] = {-1, -1}, failed[2] = {-1, -1};
	int err = 0;

	*out = (struct command){.go = -1, .failed = -1, .argv = options->argv};
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0) {
		err = -errno;
		goto cleanup;
	}
	fflush(NULL);
	out->pid = fork();
	if (out->pid < 0) {
		err = -errno;
		out->pid = 0;
		goto cleanup;
	}
	if (out->pid == 0) {
		close(go[1]);
		close(failed[0]);
		run_child(options, go[0], failed[1]);
	}
	out->go = go[1];
	out->failed = failed[0];
	go[1] = failed[0] = -1;
cleanup:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return err;
}

int command_release(struct command *command)
{
	struct pollfd poll_failed = {.fd = command->failed, .events = POLLIN};
	int err = 0;

	if (write(command->go, "", 1) != 1)
		return -errno;
	close(command->go);
	command->go = -1;
	if (poll(&poll_failed, 1, EXEC_WAIT_MS) == 1 &&
	    read(command->failed, &err, sizeof(err)) == (ssize_t)sizeof(err))
		command->exec_errno = err;
	return -command->exec_errno;
}

/* Looks first without taking the state: a ptrace stop belongs to attach/inject, which waits for it. */
bool command_has_ended(struct command *command)
{
	siginfo_t info = {};

	if (command->ended || !command->pid || waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
	    !info.si_pid || (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED))
		return command->ended;
	/* Before its pid is free for another process. */
	interrupt_pass_on_end();
	command->ended = waitpid(command->pid, &command->status, WNOHANG) == command->pid;
	return command->ended;
}

bool command_runs(struct command *command)
{
	return command->pid && command->go < 0 && !command->exec_errno && !command_has_ended(command);
}

void command_await(struct command *command)
{
	siginfo_t info;

	while (!command_has_ended(command) &&
	       (!waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT) || errno == EINTR))
		;
}

const char *command_failure(const struct command *command, char *buffer, size_t size)
{
	int status = WEXITSTATUS(command->status);
	const char *name;

	if (!command->ended || command->status == 0)
		return NULL;
	if (WIFSIGNALED(command->status)) {
		snprintf(buffer, size, "was killed by %s (%s)", signal_name((unsigned)WTERMSIG(command->status)),
			 strsignal(WTERMSIG(command->status)));
		return buffer;
	}
	name = status > STATUS_KILLED ? signal_name_of((unsigned)(status - STATUS_KILLED)) : NULL;
	if (name)
		snprintf(buffer, size, "exited with status %d, as a shell does after %s", status, name);
	else
		snprintf(buffer, size, "exited with status %d", status);
	return buffer;
}

int status_as_shell(int waited)
{
	return WIFSIGNALED(waited) ? STATUS_KILLED + WTERMSIG(waited) : WEXITSTATUS(waited);
}

int command_exit_status(const struct command *command)
{
	if (command->exec_errno)
		return status_not_executed(command->exec_errno);
	if (!command->ended)
		return 0;
	return status_as_shell(command->status);
}

void command_close(struct command *command)
{
	bool held = command->go >= 0;

	if (held)
		close(command->go);
	if (command->failed >= 0)
		close(command->failed);
	/* It exits by itself at the end of file.  Waiting leaves no zombie, and no output of it after gputrace's end.
	 */
	if (held && command->pid && !command->ended)
		waitpid(command->pid, &command->status, 0);
	*command = (struct command){.go = -1, .failed = -1};
}
