/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result of an attempt to enter a process. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct inject_result {
	pid_t tid;	     /* the thread that was borrowed, 0: none yet */
	uint64_t stopped_ns; /* how long the thread was stopped */
	uint64_t away_ns;    /* the same plus the call itself */
	pid_t late_stop;     /* a thread that did not stop in time and still has a stop pending, 0: none */
	char why[192];	     /* the reason for a failure */
};
