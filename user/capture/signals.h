/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SIGINT, SIGTERM and SIGHUP as something to poll while a trace runs. */
#ifndef GPUTRACE_SIGNALS_H
#define GPUTRACE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Blocks the three signals (not a SIGHUP that is ignored) and returns a file descriptor for them, or -errno; *old is
 * the mask before. */
int stop_signals_open(sigset_t *old);

struct stop_signals {
	unsigned count;	    /* taken now */
	bool from_terminal; /* Ctrl-C: every process of the foreground group got it, the traced command too */
};

/* Takes what is pending; never waits. */
struct stop_signals stop_signals_take(int fd);

/* Unblocks them again: what is still pending is delivered now. */
void stop_signals_close(int fd, const sigset_t *old);

#endif
