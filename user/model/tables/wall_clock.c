/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The piecewise conversion of wall clock times. */
#include "model/tables/wall_clock.h"

#include <stdlib.h>

#include "base/distance.h"
#include "base/order.h"
#include "model/model.h"

/* Samples that differ by more than both their errors plus this are on different sides of a step. */
#define STEP_NS 1000
/* A wall clock that is set more often is hostile; each segment costs time in every conversion. */
#define SEGMENTS_MAX 64
/* A GPU operation may seem to start this much before its call by clock error alone. */
#define EARLY_SLACK_NS 1000000

void wall_clock_free(struct wall_clock *clock)
{
	array_free(&clock->collector.samples);
	array_free(&clock->collector.segments);
	for (size_t i = 0; i < clock->agents.count; i++) {
		array_free(&clock->agents.items[i].samples);
		array_free(&clock->agents.items[i].segments);
	}
	array_free(&clock->agents);
}

uint32_t wall_clock_add_agent(struct wall_clock *clock)
{
	struct wall_clock_track track = {0};

	array_push(&clock->agents, track);
	return (uint32_t)clock->agents.count - 1;
}

void wall_clock_add_sample(struct wall_clock_track *track, const struct gpt_clock *sample)
{
	array_push(&track->samples, *sample);
}

/* A deterministic order: equal times are ordered by the other members. */
DEFINE_ORDER(compare_samples, struct gpt_clock,
	     lower_first(a->mono_ns, b->mono_ns) ?: lower_first(a->wall_offset_ns, b->wall_offset_ns) ?:
	     lower_first(a->error_ns, b->error_ns))

/* The difference of hostile numbers, without overflow: half the range is more than any clocks differ. */
static uint64_t distance_between(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_step(const struct wall_clock_segment *segment, const struct gpt_clock *sample)
{
	uint64_t noise = add_saturated(add_saturated(segment->error_ns, sample->error_ns), STEP_NS);

	return distance_between(segment->offset_ns, sample->wall_offset_ns) > noise;
}

static struct wall_clock_segment segment_of(const struct gpt_clock *sample)
{
	return (struct wall_clock_segment){.first_ns = sample->mono_ns,
					   .last_ns = sample->mono_ns,
					   .offset_ns = sample->wall_offset_ns,
					   .error_ns = sample->error_ns};
}

/* Leaves of the segment's offsets those that the sample allows; all of them if it allows none. */
static void narrow_offsets(struct wall_clock_segment *segment, const struct gpt_clock *sample)
{
	__extension__ __int128 low = (__int128)segment->offset_ns - segment->error_ns;
	__extension__ __int128 high = (__int128)segment->offset_ns + segment->error_ns;
	__extension__ __int128 least = (__int128)sample->wall_offset_ns - sample->error_ns;
	__extension__ __int128 most = (__int128)sample->wall_offset_ns + sample->error_ns;

	segment->last_ns = sample->mono_ns;
	if (least > high || most < low) {
		uint64_t gap_ns = (uint64_t)(least > high ? least - high : low - most);

		segment->gap_ns = later_time(segment->gap_ns, gap_ns);
		return;
	}
	if (least > low)
		low = least;
	if (most < high)
		high = most;
	segment->offset_ns = (int64_t)(low + (high - low) / 2);
	segment->error_ns = (uint64_t)((high - low + 1) / 2);
}

static void add_segment(struct wall_clock_track *track, const struct wall_clock_segment *segment)
{
	if (track->segments.count < SEGMENTS_MAX)
		array_push(&track->segments, *segment);
}

static void prepare_track(struct wall_clock_track *track)
{
	struct wall_clock_segment segment;

	if (!track->samples.count)
		return;
	array_sort(&track->samples, compare_samples);
	segment = segment_of(&track->samples.items[0]);
	for (uint32_t i = 1; i < track->samples.count; i++) {
		const struct gpt_clock *sample = &track->samples.items[i];

		if (!is_step(&segment, sample)) {
			narrow_offsets(&segment, sample);
			continue;
		}
		track->steps++;
		add_segment(track, &segment);
		segment = segment_of(sample);
	}
	add_segment(track, &segment);
}

void wall_clock_prepare(struct wall_clock *clock)
{
	prepare_track(&clock->collector);
	for (size_t i = 0; i < clock->agents.count; i++)
		prepare_track(&clock->agents.items[i]);
}

uint64_t wall_clock_steps(const struct wall_clock *clock)
{
	uint64_t steps = clock->collector.steps;

	for (size_t i = 0; i < clock->agents.count; i++)
		if (clock->agents.items[i].steps > steps)
			steps = clock->agents.items[i].steps;
	return steps;
}

/* One interpretation of a wall time. */
struct reading {
	const struct wall_clock_segment *segment;
	uint64_t outside_ns; /* how far it lies outside the interval where the segment's offset was right */
	uint64_t away_ns;    /* from the nearest sample of the segment, if it is not between two of them */
	bool too_early;	     /* before not_before_ns */
	uint64_t after_ns;   /* how long after not_before_ns, 0: not known */
};

static struct reading read_segment(const struct wall_clock_track *track, size_t index, uint64_t wall_ns,
				   uint64_t not_before_ns)
{
	const struct wall_clock_segment *segment = &track->segments.items[index];
	uint64_t mono_ns = wall_ns - (uint64_t)segment->offset_ns;
	struct reading reading = {.segment = segment};

	if (index > 0 && mono_ns < segment[-1].last_ns)
		reading.outside_ns = segment[-1].last_ns - mono_ns;
	if (index + 1 < track->segments.count && mono_ns > segment[1].first_ns)
		reading.outside_ns = mono_ns - segment[1].first_ns;
	if (mono_ns < segment->first_ns)
		reading.away_ns = segment->first_ns - mono_ns;
	if (mono_ns > segment->last_ns)
		reading.away_ns = mono_ns - segment->last_ns;
	reading.too_early = not_before_ns > EARLY_SLACK_NS && mono_ns < not_before_ns - EARLY_SLACK_NS;
	if (not_before_ns && mono_ns > not_before_ns)
		reading.after_ns = mono_ns - not_before_ns;
	return reading;
}

static bool is_better(const struct reading *a, const struct reading *b)
{
	if (a->outside_ns != b->outside_ns)
		return a->outside_ns < b->outside_ns;
	if (a->too_early != b->too_early)
		return !a->too_early;
	/* The wall time came twice: a GPU more likely began soon than waited for as long as the clock was set back. */
	if (time_distance(a->after_ns, b->after_ns) > EARLY_SLACK_NS)
		return a->after_ns < b->after_ns;
	return a->away_ns < b->away_ns;
}

int64_t wall_clock_offset(struct wall_clock *clock, uint32_t agent, uint64_t wall_ns, uint64_t not_before_ns)
{
	const struct wall_clock_track *track = agent != NONE ? &clock->agents.items[agent] : &clock->collector;
	struct reading best = {.segment = track->segments.items};

	if (!best.segment) /* no samples */
		return 0;
	if (track->segments.count > 1)
		best = read_segment(track, 0, wall_ns, not_before_ns);
	for (size_t i = 1; i < track->segments.count; i++) {
		struct reading reading = read_segment(track, i, wall_ns, not_before_ns);

		if (is_better(&reading, &best))
			best = reading;
	}
	clock->error_ns = later_time(clock->error_ns, add_saturated(best.segment->error_ns, best.segment->gap_ns));
	return best.segment->offset_ns;
}
