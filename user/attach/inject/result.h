/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an attempt to enter a process has come to. */
#ifndef GPUTRACE_ATTACH_INJECT_RESULT_H
#define GPUTRACE_ATTACH_INJECT_RESULT_H

#include <stdint.h>
#include <sys/types.h>

struct inject_result {
	pid_t tid;	     /* the thread that was borrowed, 0: none yet */
	uint64_t stopped_ns; /* how long it was kept from running */
	uint64_t away_ns;    /* the same and the call itself */
	pid_t late_stop;     /* a thread that did not stop in time and is still asked to, 0: none */
	char why[192];	     /* when it failed */
};

#endif
