/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/start.h"

/* A clock that is slewed moves by 10 us in 20 ms at most (adjtimex(2)): more between two checks is a step. */
#define STEP_LEAST_NS 1000000

/* Both clocks are read at the same time: a moment before CLOCK_MONOTONIC began is 1, the earliest one. */
static uint64_t monotonic_of(int64_t wall_ns, int64_t wall_offset_ns)
{
	int64_t ns;

	return __builtin_sub_overflow(wall_ns, wall_offset_ns, &ns) || ns < 1 ? 1 : (uint64_t)ns;
}

int64_t start_next_multiple(int64_t wall_ns, uint64_t period_ns)
{
	return (int64_t)(((uint64_t)wall_ns / period_ns + 1) * period_ns);
}

static bool is_on_wall_clock(const struct start_request *request)
{
	return request->kind == START_AT_TIME || request->kind == START_AT_MULTIPLE;
}

static void set_start_times(struct start *start)
{
	if (start->request.kind == START_AFTER)
		start->at_ns = start->request.mono_ns;
	else if (is_on_wall_clock(&start->request))
		start->at_ns = monotonic_of(start->request.wall_ns, start->wall_offset_ns);
}

void start_prepare(struct start *start, const struct start_request *request, uint64_t now_ns, int64_t wall_offset_ns)
{
	*start = (struct start){.request = *request, .checked_ns = now_ns, .wall_offset_ns = wall_offset_ns};
	set_start_times(start);
}

static void place_at_next(struct start *start, uint64_t now_ns)
{
	start->request.wall_ns = start_next_multiple((int64_t)now_ns + start->wall_offset_ns, start->request.period_ns);
	set_start_times(start);
}

/* Finds the moment again, as the wall clock may have been set. */
static void follow_clock(struct start *start, uint64_t now_ns, int64_t wall_offset_ns)
{
	int64_t by_ns = wall_offset_ns - start->wall_offset_ns;
	bool stepped = by_ns >= STEP_LEAST_NS || by_ns <= -STEP_LEAST_NS;

	start->wall_offset_ns = wall_offset_ns;
	if (!is_on_wall_clock(&start->request))
		return;
	start->stepped_ns += stepped ? by_ns : 0;
	set_start_times(start);
	if (stepped && start->request.kind == START_AT_MULTIPLE)
		place_at_next(start, now_ns);
}

uint64_t start_check(struct start *start, bool is_ready, uint64_t now_ns, int64_t wall_offset_ns)
{
	uint64_t begin_ns = now_ns, earliest_ns;

	follow_clock(start, now_ns, wall_offset_ns);
	if (is_ready && !start->ready_ns)
		start->ready_ns = now_ns;
	earliest_ns = start->ready_ns > start->checked_ns ? start->ready_ns : start->checked_ns;
	if (start_has_moment(&start->request)) {
		if (start->request.kind == START_AT_MULTIPLE && start->at_ns <= now_ns && earliest_ns > start->at_ns) {
			start->skipped++;
			place_at_next(start, now_ns);
		}
		begin_ns = start->at_ns > earliest_ns ? start->at_ns : earliest_ns;
	}
	if (!start->ready_ns || begin_ns > now_ns) {
		start->checked_ns = now_ns;
		return 0;
	}
	if (start_has_moment(&start->request))
		start->late_ns = begin_ns - start->at_ns;
	return begin_ns;
}

int64_t start_moment_wall(const struct start *start)
{
	return is_on_wall_clock(&start->request) ? start->request.wall_ns
						 : (int64_t)start->at_ns + start->wall_offset_ns;
}
