/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for signals, of which SIGCHLD is one; knows of the trace only the pids of gputrace and of the command. */
#include "cmd/record/first_process.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/msg.h"
#include "base/signal_name.h"
#include "capture/signals.h"
#include "cmd/record/command.h"
#include "cmd/process/exit_code.h"
#include "cmd/process/print.h"

/* In memory that both processes share. NULL: this gputrace is not the child of a first process. */
static atomic_int *command;

/* gputrace has ended before the command, which has become a child of this process. */
static void say_ended(int status)
{
	if (WIFSIGNALED(status))
		msg_error("gputrace was killed by %s: the command goes on untraced, to its end",
			  signal_name((unsigned)WTERMSIG(status)));
	else
		msg_error("gputrace has failed: the command goes on untraced, to its end");
}

/*
 * Whether it is left to this process to wait for the command, which may have ended by now: gputrace has ended before it
 * only if it ran out of memory.
 */
static bool is_command_left(void)
{
	siginfo_t info;
	pid_t pid = atomic_load(command);

	return pid && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
}

/* Takes the status of each child that has ended. `child` becomes 0 when gputrace has ended before the command. */
static void reap_children(pid_t *child)
{
	static int command_status = -1;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == *child && WIFEXITED(status) && !is_command_left())
			exit(WEXITSTATUS(status));
		if (pid == atomic_load(command))
			command_status = status_as_shell(status);
		if (pid != *child)
			continue;
		*child = 0;
		if (!atomic_load(command))
			exit(status_as_shell(status));
		if (command_status < 0)
			say_ended(status);
	}
	if (!*child && command_status >= 0)
		exit(command_status);
}

static void __attribute__((noreturn)) be_first(pid_t child, const sigset_t *waited_for)
{
	prctl(PR_SET_NAME, "gputrace-first");
	/* What reads the command's output waits for its end, not for this process. */
	print_end_and_input();
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(waited_for, &info);

		if (number == SIGCHLD)
			reap_children(&child);
		else if (number > 0)
			signal_pass_on(child ? child : atomic_load(command), number, info.si_code);
	}
}

void first_process_split(void)
{
	sigset_t waited_for, old;
	pid_t child;

	if (getpid() != 1)
		return;
	command = mmap(NULL, sizeof(*command), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigemptyset(&waited_for);
	sigaddset(&waited_for, SIGCHLD);
	for (size_t i = 0; i < PASSED_SIGNALS; i++)
		sigaddset(&waited_for, passed_signals[i]);
	sigprocmask(SIG_BLOCK, &waited_for, &old);
	child = command == MAP_FAILED ? -1 : fork();
	if (child < 0) {
		msg_error("as a container's first process gputrace needs a second one: %s: raise the container's limit "
			  "of processes and memory",
			  strerror(errno));
		exit(EXIT_OWN_FAILURE);
	}
	if (child)
		be_first(child, &waited_for);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void first_process_set_command(pid_t pid)
{
	if (command)
		atomic_store(command, pid);
}
