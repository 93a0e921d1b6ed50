/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Samples of the wall clock against the monotonic one; see clock.h. */
#include "agent/process/clock.h"

/* Reads are 20 to 60 ns apart; the best of twenty is within 50 ns even if an interrupt hits some of them. */
#define TRIES 20
/* Two samples of one offset differ by no more than their errors and the clocks' own rounding. */
#define ROUNDING_NS 100

/* The narrowest of `tries` samples. */
static struct clock_pair clock_measure(unsigned tries)
{
	struct clock_pair best = {.error_ns = UINT64_MAX};
	uint64_t before, after;
	uint64_t wall;

	while (tries--) {
		before = clock_now_ns();
		wall = clock_wall_ns();
		after = clock_now_ns();
		if ((after - before + 1) / 2 >= best.error_ns)
			continue;
		best.error_ns = (after - before + 1) / 2;
		best.mono_ns = before + (after - before) / 2;
		best.wall_offset_ns = (int64_t)(wall - best.mono_ns);
	}
	return best;
}

/* True when they cannot be two samples of the same offset. */
static bool clock_pair_differs(const struct clock_pair *a, const struct clock_pair *b)
{
	int64_t difference = a->wall_offset_ns - b->wall_offset_ns;
	uint64_t size = difference < 0 ? -(uint64_t)difference : (uint64_t)difference;

	return size > a->error_ns + b->error_ns + ROUNDING_NS;
}

static void emit_pair(const struct clock_pair *pair, uint64_t mono_ns, struct batch *batch)
{
	struct gpt_agent_clock *record = batch_add(batch, GPT_AGENT_CLOCK, sizeof(*record));

	record->mono_ns = mono_ns;
	record->wall_offset_ns = pair->wall_offset_ns;
	record->error_ns = pair->error_ns;
}

void clock_send(struct clock_watch *watch, struct batch *batch)
{
	watch->last = clock_measure(TRIES);
	watch->last_right_ns = watch->last.mono_ns;
	emit_pair(&watch->last, watch->last.mono_ns, batch);
}

void clock_look(struct clock_watch *watch, struct batch *batch)
{
	struct clock_pair now = clock_measure(2);

	if (!clock_pair_differs(&now, &watch->last)) {
		watch->last_right_ns = now.mono_ns;
		return;
	}
	emit_pair(&watch->last, watch->last_right_ns, batch);
	clock_send(watch, batch);
}
