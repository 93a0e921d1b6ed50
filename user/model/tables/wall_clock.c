/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The piecewise conversion of wall clock times. */
#include "model/tables/wall_clock.h"

#include <stdlib.h>

#include "base/distance.h"
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

void wall_clock_add_sample(struct wall_clock_track *track, struct clock_sample sample)
{
	array_push(&track->samples, sample);
}

/* A deterministic order: equal times are ordered by the other members. */
static int compare_samples(const void *left, const void *right)
{
	const struct clock_sample *a = left, *b = right;

	if (a->mono_ns != b->mono_ns)
		return a->mono_ns < b->mono_ns ? -1 : 1;
	if (a->offset_ns != b->offset_ns)
		return a->offset_ns < b->offset_ns ? -1 : 1;
	return (a->error_ns > b->error_ns) - (a->error_ns < b->error_ns);
}

/* The difference of hostile numbers, without overflow: half the range is more than any clocks differ. */
static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_step(const struct clock_sample *a, const struct clock_sample *b)
{
	uint64_t noise = add_saturated(add_saturated(a->error_ns, b->error_ns), STEP_NS);

	return distance(a->offset_ns, b->offset_ns) > noise;
}

static void prepare_track(struct wall_clock_track *track)
{
	if (!track->samples.count)
		return;
	qsort(track->samples.items, track->samples.count, sizeof(track->samples.items[0]), compare_samples);
	array_push(&track->segments, 0);
	track->latest.from_ns = 1;
	for (uint32_t i = 1; i < track->samples.count; i++) {
		if (!is_step(&track->samples.items[i - 1], &track->samples.items[i]))
			continue;
		track->steps++;
		if (track->segments.count < SEGMENTS_MAX)
			array_push(&track->segments, i);
	}
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
	const struct wall_clock_track *track;
	size_t sample;
	uint64_t mono_ns;
	uint64_t outside_ns; /* how far it lies outside the interval where its offset was right */
	uint64_t away_ns;    /* from the sample */
	bool too_early;	     /* before not_before_ns */
	uint64_t after_ns;   /* how long after not_before_ns, 0: not known */
};

/* The sample of [first, last] nearest to a time; near: the first guess. */
static size_t nearest_sample(const struct wall_clock_track *track, size_t first, size_t last, uint64_t mono_ns,
			     size_t near)
{
	const struct clock_sample *samples = track->samples.items;
	size_t low = first, high = last;

	if (near >= first && near < last && samples[near].mono_ns <= mono_ns && mono_ns <= samples[near + 1].mono_ns) {
		low = near;
	} else {
		while (low < high) {
			size_t middle = low + (high - low + 1) / 2;

			if (samples[middle].mono_ns <= mono_ns)
				low = middle;
			else
				high = middle - 1;
		}
	}
	if (low < last &&
	    time_distance(samples[low + 1].mono_ns, mono_ns) < time_distance(samples[low].mono_ns, mono_ns))
		low++;
	return low;
}

/* Functions used in every conversion are inlined. */
#define INLINE static inline __attribute__((always_inline))

INLINE void compare_with_call(struct reading *reading, uint64_t not_before_ns)
{
	reading->too_early = not_before_ns > EARLY_SLACK_NS && reading->mono_ns < not_before_ns - EARLY_SLACK_NS;
	if (not_before_ns && reading->mono_ns > not_before_ns)
		reading->after_ns = reading->mono_ns - not_before_ns;
}

static struct reading read_segment(const struct wall_clock_track *track, size_t segment, uint64_t wall_ns,
				   uint64_t not_before_ns)
{
	const struct clock_sample *samples = track->samples.items;
	size_t count = track->segments.count, first = track->segments.items[segment];
	size_t last = (segment + 1 < count ? track->segments.items[segment + 1] : track->samples.count) - 1;
	struct reading reading = {.track = track};

	/* a first guess finds the sample, whose own offset then gives the time */
	reading.mono_ns = wall_ns - (uint64_t)samples[first].offset_ns;
	reading.sample = nearest_sample(track, first, last, reading.mono_ns, track->near);
	reading.mono_ns = wall_ns - (uint64_t)samples[reading.sample].offset_ns;
	reading.away_ns = time_distance(reading.mono_ns, samples[reading.sample].mono_ns);
	if (segment > 0 && reading.mono_ns < samples[first - 1].mono_ns)
		reading.outside_ns = samples[first - 1].mono_ns - reading.mono_ns;
	if (segment + 1 < count && reading.mono_ns > samples[last + 1].mono_ns)
		reading.outside_ns = reading.mono_ns - samples[last + 1].mono_ns;
	compare_with_call(&reading, not_before_ns);
	return reading;
}

INLINE bool is_better(const struct reading *a, const struct reading *b)
{
	if (!b->track)
		return true;
	if (a->outside_ns != b->outside_ns)
		return a->outside_ns < b->outside_ns;
	if (a->too_early != b->too_early)
		return !a->too_early;
	/* The wall time came twice: a GPU more likely began soon than waited for as long as the clock was set back. */
	if (time_distance(a->after_ns, b->after_ns) > EARLY_SLACK_NS)
		return a->after_ns < b->after_ns;
	return a->away_ns < b->away_ns;
}

/* Half the width of the sample, plus its largest difference from neighbours on the same side of a step. */
static uint64_t sample_error(const struct wall_clock_track *track, size_t index)
{
	const struct clock_sample *sample = &track->samples.items[index];
	uint64_t residual = 0;

	for (size_t i = index ? index - 1 : 0; i <= index + 1 && i < track->samples.count; i++) {
		const struct clock_sample *other = &track->samples.items[i];
		uint64_t difference = distance(other->offset_ns, sample->offset_ns);

		if (!is_step(sample, other) && difference > residual)
			residual = difference;
	}
	return add_saturated(sample->error_ns, residual);
}

/* ---- the sample that was used last ------------------------------------------------------------------------------- */

/* The time halfway between two samples. */
static uint64_t middle_of(const struct clock_sample *samples)
{
	return samples[0].mono_ns + (samples[1].mono_ns - samples[0].mono_ns) / 2;
}

/* Nothing is remembered if the clock was set, as the distance alone does not decide then. */
static void remember(struct wall_clock_track *track, size_t index)
{
	const struct clock_sample *sample = &track->samples.items[index];
	struct wall_clock_latest *latest = &track->latest;

	*latest = (struct wall_clock_latest){.from_ns = 1};
	if (track->segments.count > 1)
		return;
	*latest = (struct wall_clock_latest){
		.to_ns = UINT64_MAX, .sample = *sample, .error_ns = sample_error(track, index)};
	if (index)
		latest->from_ns = middle_of(sample - 1) + 1;
	if (index + 1 < track->samples.count) {
		latest->to_ns = middle_of(sample);
		latest->to_ns -= latest->to_ns > 0;
	}
}

/* The sample of a track nearest to a time, if it is the one used last; else NULL. */
INLINE const struct clock_sample *latest_for(const struct wall_clock_track *track, uint64_t wall_ns)
{
	uint64_t mono_ns = wall_ns - (uint64_t)track->samples.items[0].offset_ns;

	return mono_ns >= track->latest.from_ns && mono_ns <= track->latest.to_ns ? &track->latest.sample : NULL;
}

INLINE struct reading read_sample(const struct wall_clock_track *track, const struct clock_sample *sample,
				  uint64_t wall_ns, uint64_t not_before_ns)
{
	struct reading reading = {.track = track, .mono_ns = wall_ns - (uint64_t)sample->offset_ns};

	reading.away_ns = time_distance(reading.mono_ns, sample->mono_ns);
	compare_with_call(&reading, not_before_ns);
	return reading;
}

/* Nearly all times are converted with the samples used last. */
INLINE bool read_by_latest(const struct wall_clock *clock, uint32_t agent, uint64_t wall_ns, uint64_t not_before_ns,
			   const struct wall_clock_latest **latest)
{
	const struct wall_clock_track *collector = &clock->collector, *own = &clock->agents.items[agent];
	const struct clock_sample *of_collector, *of_own;
	struct reading by_collector, by_own;

	if (!collector->segments.count || !own->segments.count)
		return false;
	of_collector = latest_for(collector, wall_ns);
	of_own = latest_for(own, wall_ns);
	if (!of_collector || !of_own)
		return false;
	by_collector = read_sample(collector, of_collector, wall_ns, not_before_ns);
	by_own = read_sample(own, of_own, wall_ns, not_before_ns);
	*latest = is_better(&by_own, &by_collector) ? &own->latest : &collector->latest;
	return true;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void count_error(struct wall_clock *clock, uint64_t error_ns)
{
	if (error_ns > clock->error_ns)
		clock->error_ns = error_ns;
}

int64_t wall_clock_offset(struct wall_clock *clock, uint32_t agent, uint64_t wall_ns, uint64_t not_before_ns)
{
	struct wall_clock_track *tracks[] = {&clock->collector, agent != NONE ? &clock->agents.items[agent] : NULL};
	const struct wall_clock_latest *latest;
	struct reading best = {0};

	if (agent != NONE && read_by_latest(clock, agent, wall_ns, not_before_ns, &latest)) {
		count_error(clock, latest->error_ns);
		return latest->sample.offset_ns;
	}
	for (size_t i = 0; i < 2; i++) {
		struct reading chosen = {0};

		for (size_t k = 0; tracks[i] && k < tracks[i]->segments.count; k++) {
			struct reading reading = read_segment(tracks[i], k, wall_ns, not_before_ns);

			if (is_better(&reading, &chosen))
				chosen = reading;
		}
		if (!chosen.track)
			continue;
		tracks[i]->near = chosen.sample;
		remember(tracks[i], chosen.sample);
		if (is_better(&chosen, &best))
			best = chosen;
	}
	if (!best.track) /* no samples */
		return 0;
	count_error(clock, sample_error(best.track, best.sample));
	return best.track->samples.items[best.sample].offset_ns;
}
