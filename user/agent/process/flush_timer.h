/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * When CUPTI is asked for the records it holds: ten times a second, and as soon as the program pauses after calls, so
 * that a program that is killed then loses nothing. A program that calls all the time does not pay for that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FLUSH_NS 100000000u	/* a process that dies loses at most this */
#define FLUSH_PAUSE_NS 2000000u /* without a call: longer than most work between two launches */

struct flush_timer {
	uint64_t next_ns;
	uint64_t returned_ns; /* of the latest call; 0: none since the last flush */
};

/* A call that makes work for the GPU, or waits for it, has returned. */
void flush_timer_note(struct flush_timer *timer, uint64_t returned_ns);

/* True: a flush is due; the caller does it. */
bool flush_timer_take(struct flush_timer *timer, uint64_t now_ns);
