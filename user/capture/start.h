/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a recording begins: one instant for all processes, after everything is set up.  Knows clocks and what was asked
 * for, nothing of processes or logs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum start_kind {
	START_WHEN_READY,   /* as soon as everything is set up */
	START_WITH_COMMAND, /* at once: the program that is recorded starts after it */
	START_AT_TIME,	    /* at wall_ns */
	START_AT_MULTIPLE,  /* at wall_ns, or at a later whole multiple of period_ns on the wall clock */
	START_AFTER,	    /* at mono_ns */
};

struct start_request {
	enum start_kind kind;
	int64_t wall_ns; /* CLOCK_REALTIME */
	uint64_t period_ns;
	uint64_t mono_ns;   /* CLOCK_MONOTONIC */
	uint64_t set_up_ns; /* when set-up began */
};

struct start {
	struct start_request request;
	uint64_t at_ns;		/* the moment, as far as the clocks say now; 0: no moment was asked for */
	uint64_t ready_ns;	/* since when everything is set up; 0: it is not yet */
	uint64_t checked_ns;	/* at this time the recording had not begun */
	uint64_t late_ns;	/* after the moment asked for */
	uint64_t skipped;	/* multiples at which set-up was not ready */
	int64_t wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, as last read */
	int64_t stepped_ns;	/* by how much the wall clock was set while this waited */
};

/* Whether a moment was asked for. */
static inline bool start_has_moment(const struct start_request *request)
{
	return request->kind >= START_AT_TIME;
}

/* wall_offset_ns: CLOCK_REALTIME - CLOCK_MONOTONIC now. */
void start_prepare(struct start *start, const struct start_request *request, uint64_t now_ns, int64_t wall_offset_ns);

/* The first whole multiple of the period after the time, on the wall clock. */
int64_t start_next_multiple(int64_t wall_ns, uint64_t period_ns);

/*
 * To be called again and again, with the wall clock's offset now: returns the instant at which the recording begins,
 * not after now_ns, or 0: it does not begin yet.  An instant is never before the last call that returned 0.
 */
uint64_t start_check(struct start *start, bool is_ready, uint64_t now_ns, int64_t wall_offset_ns);

/* The moment asked for as CLOCK_REALTIME, as far as the clocks say now. */
int64_t start_moment_wall(const struct start *start);
