/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of readings and the interpolation between them; see tsc.h. */
#include "attach/clients/tsc.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/distance.h"
#include "base/monotonic.h"

/* An interrupt or a preemption sometimes disturbs a pair: this many readings include a quiet one. */
#define TRIES 20

/* At a pair every 250 ms this is 17 minutes; then the older half is thinned, as the clock is steered slowly. */
#define PAIRS_MAX 4096

#define RATE_NS 100000000    /* a noise of 20 ns is 0.2 ppm of it */
#define AHEAD_MAX_NS 1000000 /* after the last pair */
#define AHEAD_ERROR 2000     /* NTP changes a clock's rate by up to 500 ppm (kernel/time/ntp.c, MAXFREQ) */

#if defined(__x86_64__)

/* CPUID 80000007h, EDX bit 8: the counter runs at one rate in every power state (Intel SDM, AMD APM). */
#define INVARIANT_LEAF 0x80000007u
#define INVARIANT_BIT (1u << 8)

uint64_t tsc_now(void)
{
	return __rdtsc();
}

static bool is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(INVARIANT_LEAF, &a, &b, &c, &d) && (d & INVARIANT_BIT);
}

#else

uint64_t tsc_now(void)
{
	return 0;
}

static bool is_invariant(void)
{
	return false;
}

#endif

/*
 * A kernel that has seen the counters of its CPUs disagree removes "tsc" from this list; without the list CPUID
 * decides.
 */
static bool is_given_up(void)
{
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
	char line[256] = "";
	bool gone;

	if (!file)
		return false;
	gone = fgets(line, sizeof(line), file) && !strstr(line, "tsc");
	fclose(file);
	return gone;
}

const char *tsc_unfit(void)
{
	if (!is_invariant())
		return "the time stamp counter of this machine is not invariant";
	return is_given_up() ? "the kernel does not trust this machine's time stamp counter" : NULL;
}

/* Drops every second pair of the older half. */
static void drop_every_second(struct tsc_clock *clock)
{
	size_t kept = 0, half = clock->pairs.count / 2;

	for (size_t i = 0; i < clock->pairs.count; i++)
		if (i >= half || i % 2 == 0)
			clock->pairs.items[kept++] = clock->pairs.items[i];
	clock->pairs.count = kept;
}

void tsc_clock_add(struct tsc_clock *clock, struct tsc_pair pair)
{
	const struct tsc_pair *last = clock->pairs.count ? &clock->pairs.items[clock->pairs.count - 1] : NULL;

	if (last && (pair.ticks <= last->ticks || pair.mono_ns <= last->mono_ns))
		return;
	if (last && clock->pairs.count >= PAIRS_MAX)
		drop_every_second(clock);
	array_push(&clock->pairs, pair);
}

void tsc_clock_sample(struct tsc_clock *clock)
{
	struct tsc_pair best = {.error_ns = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = monotonic_ns(), ticks = tsc_now(), after = monotonic_ns();
		uint64_t half = (after - before + 1) / 2;

		if (half < best.error_ns)
			best = (struct tsc_pair){ticks, before + half, half};
	}
	tsc_clock_add(clock, best);
}

static int64_t on_line(const struct tsc_pair *a, const struct tsc_pair *b, int64_t ticks)
{
	int64_t run = (int64_t)(b->ticks - a->ticks);

	return run ? (int64_t)((__int128)ticks * (int64_t)(b->mono_ns - a->mono_ns) / run) : 0;
}

/* The distance of a pair from the line between its neighbours: the steering of the clock, and noise. */
static uint64_t distance_from_line(const struct tsc_clock *clock, size_t index)
{
	const struct tsc_pair *pair = &clock->pairs.items[index];
	int64_t off;

	if (!index || index + 1 >= clock->pairs.count)
		return 0;
	off = (int64_t)(pair->mono_ns - pair[-1].mono_ns) -
	      on_line(&pair[-1], &pair[1], (int64_t)(pair->ticks - pair[-1].ticks));
	return (uint64_t)(off < 0 ? -off : off);
}

/* Index of the last pair at or before that reading. */
static size_t pair_before(const struct tsc_clock *clock, uint64_t ticks)
{
	size_t low = 0, high = clock->pairs.count - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (clock->pairs.items[middle].ticks <= ticks)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Converts one reading. CUPTI's fit of the GPU's clock may put it a little into the future; it is extrapolated at the
 * rate of the whole run.
 */
static bool convert_one(const struct tsc_clock *clock, uint64_t *time, uint64_t *error_ns)
{
	const struct tsc_pair *pairs = clock->pairs.items, *last = &pairs[clock->pairs.count - 1];
	size_t index = pair_before(clock, *time);
	const struct tsc_pair *pair = &pairs[index];
	uint64_t error, bent;

	if (*time < pairs[0].ticks)
		return false;
	if (pair == last) {
		uint64_t ahead_ns;

		if (*time - last->ticks > (last->ticks - pairs[0].ticks))
			return false;
		ahead_ns = (uint64_t)on_line(&pairs[0], last, (int64_t)(*time - last->ticks));
		if (ahead_ns > AHEAD_MAX_NS)
			return false;
		*time = last->mono_ns + ahead_ns;
		error = last->error_ns + ahead_ns / AHEAD_ERROR;
	} else {
		*time = pair->mono_ns + (uint64_t)on_line(pair, pair + 1, (int64_t)(*time - pair->ticks));
		bent = distance_from_line(clock, index) > distance_from_line(clock, index + 1)
			       ? distance_from_line(clock, index)
			       : distance_from_line(clock, index + 1);
		error = (pair[0].error_ns > pair[1].error_ns ? pair[0].error_ns : pair[1].error_ns) + bent;
	}
	if (error > *error_ns)
		*error_ns = error;
	return true;
}

/* The length by the clock's rate around the start, over enough time that the pairs' noise does not matter. */
static uint64_t length_of(const struct tsc_clock *clock, const uint64_t times[2])
{
	const struct tsc_pair *first = clock->pairs.items, *last = first + clock->pairs.count - 1;
	const struct tsc_pair *a = first + pair_before(clock, times[0]), *b = a < last ? a + 1 : a;

	while (b->mono_ns - a->mono_ns < RATE_NS && (a > first || b < last)) {
		if (a > first)
			a--;
		if (b < last)
			b++;
	}
	return (uint64_t)on_line(a, b, (int64_t)(times[1] - times[0]));
}

bool tsc_clock_convert(const struct tsc_clock *clock, uint64_t times[2], uint64_t *error_ns)
{
	uint64_t both[2] = {times[0], times[1]}, error = *error_ns, length;

	if (clock->pairs.count < 2 || both[1] < both[0] || !convert_one(clock, &both[0], &error) ||
	    !convert_one(clock, &both[1], &error))
		return false;
	if (both[1] < both[0])
		both[1] = both[0];
	/*
	 * A pair between start and end would make the length jump by its noise; within the error the rate is the better
	 * estimate.
	 */
	length = length_of(clock, times);
	if (time_distance(length, both[1] - both[0]) <= error)
		both[1] = both[0] + length;
	times[0] = both[0];
	times[1] = both[1];
	*error_ns = error;
	return true;
}

void tsc_clock_free(struct tsc_clock *clock)
{
	array_free(&clock->pairs);
}
