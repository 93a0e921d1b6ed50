/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A flag, a descriptor to wait for, and the signal handler that sets both. */
#include "cmd/process/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/signals.h"

/* All lock-free, as a handler needs it. */
_Static_assert(SIGWINCH < 32 && SIGTERM < 32, "passed signals fit a word of bits");
static atomic_int own;
static atomic_int *interrupted = &own;
static atomic_int command; /* 0: signals are passed on to no process */
static atomic_int owner;   /* the process whose child the command is: it decides, and a fork of it does nothing */
static atomic_bool signalled;
static atomic_uint ignored; /* bit N: the caller has gputrace ignore signal N */
static struct cancel cancel = {.flag = &own, .fd = -1};

static bool has_not_ended(pid_t child)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	pid_t child = atomic_load(&command);
	int error = errno;
	uint64_t one = 1;
	bool is_alive;

	if (child && atomic_load(&owner) != getpid())
		return;
	is_alive = child && has_not_ended(child);
	if (is_alive)
		signal_pass_on(child, number, info->si_code);
	if (atomic_load(&ignored) >> number & 1)
		goto out;
	if (!is_alive && number == SIGQUIT) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (!signal_ends_trace(number) || !signal_is_request() || (is_alive && !atomic_exchange(&signalled, true)))
		goto out;
	if (!is_alive)
		signal(number, SIG_DFL);
	atomic_store(interrupted, 1);
	(void)!write(cancel.fd, &one, sizeof(one));
out:
	errno = error;
}

/* A signal may reach only one of gputrace's processes: those that it starts later share the flag, and the fd. */
static void share_flag(void)
{
	atomic_int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared != MAP_FAILED)
		cancel.flag = interrupted = shared;
}

/* What nohup(1) or a shell's background job ignores stays ignored; passes: but a command may handle it all the same. */
static void handle_signal(int number, bool passes)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
	bool is_ignored = !sigaction(number, NULL, &old) && old.sa_handler == SIG_IGN;

	if (is_ignored && (!passes || number == SIGHUP))
		return;
	if (is_ignored)
		atomic_fetch_or(&ignored, 1u << number);
	sigaction(number, &action, NULL);
}

void interrupt_watch(void)
{
	if (cancel.fd >= 0)
		return;
	share_flag();
	/* Never read, so it stays readable. */
	cancel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < PASSED_SIGNALS; i++)
		if (signal_ends_trace(passed_signals[i]))
			handle_signal(passed_signals[i], false);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void interrupt_pass_on(pid_t child, bool was_signalled)
{
	atomic_store(&signalled, was_signalled);
	atomic_store(&owner, getpid());
	atomic_store(&command, child);
	for (size_t i = 0; i < PASSED_SIGNALS; i++)
		if (signal_is_passed(passed_signals[i]))
			handle_signal(passed_signals[i], true);
}

void interrupt_pass_on_end(void)
{
	atomic_store(&command, 0);
}

const struct cancel *interrupt(void)
{
	return &cancel;
}

bool is_interrupted(void)
{
	return is_cancelled(&cancel);
}
