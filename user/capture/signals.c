/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A signalfd; decides nothing. */
#include "capture/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* nohup(1) ignores SIGHUP: the trace must outlive its terminal. A signalfd reports a blocked signal even if ignored. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

int stop_signals_open(sigset_t *old)
{
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(&mask, SIGHUP);
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

struct stop_signals stop_signals_take(int fd)
{
	struct stop_signals taken = {0};
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		taken.count++;
		if (info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL)
			taken.from_terminal = true;
	}
	return taken;
}

void stop_signals_close(int fd, const sigset_t *old)
{
	close(fd);
	sigprocmask(SIG_SETMASK, old, NULL);
}
