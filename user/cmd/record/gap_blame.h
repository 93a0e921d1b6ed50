/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --trigger gap: whether a line is to blame for a gap that a flight recorder has just seen.  `gputrace report`'s own
 * account of idle time says so, of a log in memory of the last seconds, in a child.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/flight.h"
#include "capture/trigger.h"
#include "cmd/process/own_child.h"

#define BLAME_WAITING 16u

struct gap_blame {
	struct trigger_event waiting[BLAME_WAITING]; /* the first of them is looked at now, or next */
	unsigned count;
	uint64_t begun_ns, next_ns; /* of the latest look; no other one before */
	struct own_child child;
	/* ASKED to LOGGED, or to FREE, by the thread that takes the log; all else by the first thread. */
	_Atomic enum { BLAME_FREE, BLAME_ASKED, BLAME_LOGGED } state;
	uint64_t left_out; /* gaps for which there was no time, or that began before the recording */
};

/* run_options.gap_seen, gap_looks, gap_blamed; context: struct recording. */
void gap_blame_see(void *context, const struct trigger_event *event);
bool gap_blame_looks(void *context, uint64_t *since_ns);
bool gap_blame_take(void *context, struct trigger_event *event);

/* flight_options.look. */
void gap_blame_log(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		   struct gpt_end *end);

void gap_blame_end(struct gap_blame *blame);
