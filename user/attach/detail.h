/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much detail is recorded (gputrace/details.h).  The level falls while the ring buffer stays full, while a thread
 * pays more than --cost-limit, and while gputrace's memory is near --memory-limit.  It rises again by itself, one step
 * at a time, once nothing of that is so; after a rise that was too early the next one comes later.  Launches and GPU
 * records are always recorded.  Each change is a record of the log (GPT_DETAIL_CHANGE).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "attach/thread_costs.h"

struct attach;

struct detail {
	uint32_t level;
	uint32_t in_use;		/* 1 << enum gpt_detail_kind: what this trace records */
	uint64_t changed_ns;		/* when the level changed last, 0: never */
	uint64_t calm_ns;		/* since when nothing speaks against a rise */
	uint64_t wait_ns;		/* how long that must last */
	bool rose;			/* by the last change */
	uint64_t emitted_ns;		/* time of the last record */
	uint32_t why;			/* enum gpt_detail_why of what lowered it last */
	uint64_t ring_fill, ring_bytes; /* the most since the last tick, of the ring's size */
	bool ring_is_reported;		/* the drain has looked at it since the last tick */
	bool ring_was_high;		/* when it was reported before that */
	struct thread_costs costs;	/* with --cost-limit */
	struct thread_cost cost;	/* of the last whole second, if cost_is_known */
	bool cost_is_known;
};

/* Once it is known what is recorded. */
void detail_start(struct attach *attach);

void detail_tick(struct attach *attach, uint64_t now_ns);

/* The recording ends: the last measurement of the cost. */
void detail_stop(struct attach *attach);

void detail_close(struct detail *detail);
