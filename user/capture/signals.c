/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A signalfd, and kill(2); decides nothing. */
#include "capture/signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

const int passed_signals[PASSED_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

bool signal_ends_trace(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

static bool claims_write;		    /* before there are threads */
static void (*before_claim)(int) = SIG_DFL; /* what SIGUSR1 did */

/* Ignored, as it comes at times at which no file can be made, too.  A signalfd reports it all the same. */
void signals_claim_write(void)
{
	before_claim = signal(SIGUSR1, SIG_IGN);
	claims_write = true;
}

void signals_give_back_write(void)
{
	if (claims_write)
		signal(SIGUSR1, before_claim);
}

static bool asks_for_file(int number)
{
	return number == SIGUSR1 && claims_write;
}

bool signal_is_passed(int number)
{
	return !asks_for_file(number);
}

#define REQUEST_NS 200000000ull

static _Atomic uint64_t last_ns; /* of the latest signal to end; 0: none */

bool signal_is_request(void)
{
	struct timespec now;
	uint64_t now_ns, before_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	before_ns = atomic_exchange(&last_ns, now_ns);
	return !before_ns || now_ns - before_ns > REQUEST_NS;
}

/* Whether the terminal sent it to the process, too. At a hangup only the leader of the session gets SIGHUP. */
static bool has_reached(pid_t process, int number, int code)
{
	return code == SI_KERNEL && getpgid(process) == getpgrp() && !(number == SIGHUP && getsid(0) == getpid());
}

void signal_pass_on(pid_t process, int number, int code)
{
	if (!has_reached(process, number, code))
		(void)kill(process, number); /* fails only for a program with more rights than gputrace */
}

/* nohup(1) ignores SIGHUP: the trace must outlive its terminal. A signalfd reports a blocked signal even if ignored. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

int stop_signals_open(bool with_command, sigset_t *old)
{
	sigset_t mask;
	int fd;

	atomic_store(&last_ns, 0);
	sigemptyset(&mask);
	for (size_t i = 0; i < PASSED_SIGNALS; i++)
		if ((with_command || signal_ends_trace(passed_signals[i]) || asks_for_file(passed_signals[i])) &&
		    !(passed_signals[i] == SIGHUP && is_ignored(SIGHUP)))
			sigaddset(&mask, passed_signals[i]);
	if (sigprocmask(SIG_BLOCK, &mask, old) < 0)
		return -errno;
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		int err = -errno;

		sigprocmask(SIG_SETMASK, old, NULL);
		return err;
	}
	return fd;
}

struct stop_signals stop_signals_take(int fd, pid_t command)
{
	struct stop_signals taken = {0};
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;

		taken.write |= asks_for_file(number);
		if (command && signal_is_passed(number))
			signal_pass_on(command, number, info.ssi_code);
		taken.count += signal_ends_trace(number) && signal_is_request();
		if (number == SIGINT && info.ssi_code == SI_KERNEL)
			taken.from_terminal = true;
	}
	return taken;
}

void stop_signals_close(int fd, const sigset_t *old)
{
	close(fd);
	sigprocmask(SIG_SETMASK, old, NULL);
}
