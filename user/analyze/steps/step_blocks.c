/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Assigns steps to blocks, and estimates means per step. */
#include "analyze/steps/step_blocks.h"

#include <math.h>
#include <stdlib.h>

#include "base/order.h"

static uint64_t wall_of(const struct step_blocks_track *track)
{
	uint64_t wall_ns = 0;

	for (size_t i = 0; i < track->count; i++)
		wall_ns += track->list[i].end_ns - track->list[i].start_ns;
	return wall_ns;
}

static void add_track(struct step_blocks *all, const struct step_track *track, uint32_t process)
{
	size_t first = step_track_first_whole(track);
	struct step_blocks_track made = {.list = track->list.items + first, .count = track->list.count - first};

	if (!made.count)
		return;
	array_push(&all->tracks, made);
	all->of_process[process] = (uint32_t)all->tracks.count;
	all->steps += made.count;
	all->wall_ns += wall_of(&made);
}

static void divide_blocks(struct step_blocks *all)
{
	size_t most = all->tracks.count ? STEP_BLOCKS / all->tracks.count : 0;

	if (most < STEP_BLOCKS_LEAST)
		most = STEP_BLOCKS_LEAST;
	array_each (track, &all->tracks) {
		track->blocks = track->count < most ? track->count : most;
		track->first_block = all->count;
		all->count += (uint32_t)track->blocks;
	}
	if (!all->tracks.count)
		all->count = 1;
}

void step_blocks_init(struct step_blocks *all, const struct steps *steps, const struct model *first)
{
	*all = (struct step_blocks){0};
	if (steps && steps->tracks.count)
		all->of_process = xcalloc(first->process_count, sizeof(*all->of_process));
	for (uint32_t i = 0; all->of_process && i < first->process_count; i++) {
		const struct step_track *track = steps_of_process(steps, first, i);

		if (track)
			add_track(all, track, i);
	}
	divide_blocks(all);
}

void step_blocks_free(struct step_blocks *all)
{
	array_free(&all->tracks);
	free(all->of_process);
}

bool step_blocks_view(const struct step_blocks *all, uint32_t process, struct step_blocks *view)
{
	struct step_blocks_track *track;

	*view = *all;
	if (!step_blocks_steps_of(all, process))
		return false;
	track = &all->tracks.items[all->of_process[process] - 1];
	view->tracks.items = track;
	view->tracks.count = 1;
	view->steps = track->count;
	view->wall_ns = wall_of(track);
	return true;
}

/* Step i is in block i * blocks / count. */
static size_t first_of_block(const struct step_blocks_track *track, size_t block)
{
	return (block * track->count + track->blocks - 1) / track->blocks;
}

static size_t steps_of_block(const struct step_blocks_track *track, size_t block)
{
	return first_of_block(track, block + 1) - first_of_block(track, block);
}

struct step_block step_block_at(const struct step_blocks *all, uint32_t block)
{
	const struct step_blocks_track *track = all->tracks.items;
	size_t number;

	while (block >= track->first_block + track->blocks)
		track++;
	number = block - track->first_block;
	return (struct step_block){track, number, first_of_block(track, number), steps_of_block(track, number)};
}

/* between: time between two steps belongs to the step before. */
static uint32_t block_at(struct step_blocks *all, uint32_t process, uint64_t time_ns, bool between)
{
	struct step_blocks_track *track;
	const struct step *step;

	if (!step_blocks_has_steps(all))
		return 0;
	if (!all->of_process[process])
		return STEP_BLOCK_NONE;
	track = &all->tracks.items[all->of_process[process] - 1];
	step = &track->list[track->latest];
	if (time_ns < step->start_ns || time_ns >= step->end_ns) {
		size_t at = step_at(track->list, track->count, time_ns);

		if (at == SIZE_MAX || (time_ns >= track->list[at].end_ns && !(between && at + 1 < track->count)))
			return STEP_BLOCK_NONE;
		track->latest = at;
	}
	return (uint32_t)(track->first_block + track->latest * track->blocks / track->count);
}

uint32_t step_blocks_at(struct step_blocks *all, uint32_t process, uint64_t time_ns)
{
	return block_at(all, process, time_ns, false);
}

uint32_t step_blocks_since(struct step_blocks *all, uint32_t process, uint64_t time_ns)
{
	return block_at(all, process, time_ns, true);
}

/* ---- estimates --------------------------------------------------------------------------------------------------- */

/* Adds the part of one process to the mean: its steps are `share` of all. */
static void add_estimate(struct estimate *to, const struct step_blocks_track *track, const double *by_block,
			 double share)
{
	double mean = 0, squares = 0, variance;

	for (size_t i = 0; i < track->blocks; i++)
		mean += by_block[i] / (double)track->count;
	to->mean += share * mean;
	for (size_t i = 0; i < track->blocks; i++) {
		double steps = (double)steps_of_block(track, i), apart = by_block[i] / steps - mean;

		squares += steps * apart * apart;
	}
	if (track->blocks < 2) {
		to->variance = NAN;
		return;
	}
	variance = share * share * squares / (double)(track->blocks - 1) / (double)track->count;
	to->variance += variance;
	to->weight += variance * variance / (double)(track->blocks - 1);
}

/* Of all processes; add: adds one of them. */
static struct estimate estimate_mean(const struct step_blocks *all, const double *by_block,
				     void (*add)(struct estimate *to, const struct step_blocks_track *track,
						 const double *by_block, double share))
{
	struct estimate found = {0};

	if (!step_blocks_has_steps(all))
		return (struct estimate){.mean = by_block[0], .variance = NAN};
	array_each (track, &all->tracks) {
		add(&found, track, by_block + track->first_block, (double)track->count / (double)all->steps);
	}
	return found;
}

struct estimate step_blocks_estimate(const struct step_blocks *all, const double *by_block)
{
	return estimate_mean(all, by_block, add_estimate);
}

struct estimate step_blocks_estimate_of(const struct step_blocks *all, uint32_t process, const double *by_block)
{
	struct estimate found = {0};
	const struct step_blocks_track *track;

	if (!step_blocks_has_steps(all) || !all->of_process[process])
		return (struct estimate){.mean = NAN, .variance = NAN};
	track = &all->tracks.items[all->of_process[process] - 1];
	add_estimate(&found, track, by_block + track->first_block, 1);
	return found;
}

double *step_blocks_wall(const struct step_blocks *all, uint64_t wall_ns)
{
	double *by_block = xcalloc(all->count, sizeof(*by_block));

	if (!step_blocks_has_steps(all))
		by_block[0] = (double)wall_ns;
	array_each (track, &all->tracks) {
		for (size_t i = 0; i < track->count; i++)
			by_block[track->first_block + i * track->blocks / track->count] +=
				(double)(track->list[i].end_ns - track->list[i].start_ns);
	}
	return by_block;
}

/* ---- medians ----------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_value, double, lower_first(*a, *b))

/* The value that a normal variable exceeds with a probability, by Newton's method; made for 0.01 to 0.05. */
static double normal_above(double probability)
{
	double value = 1.6;

	for (int i = 0; i < 20; i++) {
		double excess = 0.5 * erfc(value / M_SQRT2) - probability;

		value += excess / (exp(-value * value / 2) / sqrt(2 * M_PI));
	}
	return value;
}

/* sorted: at least MEDIAN_LEAST values. */
static double variance_of_median(const double *sorted, size_t count)
{
	double rank = round((double)(count + 1) / 2 - sqrt((double)count)), below = 0;
	size_t first = rank < 1 ? 1 : (size_t)rank;
	double width, term = pow(0.5, (double)count);

	/* the probability that fewer than `first` of the values are below the median */
	for (size_t i = 0; i < first; i++) {
		below += term;
		term *= (double)(count - i) / (double)(i + 1);
	}
	width = (sorted[count - first] - sorted[first - 1]) / (2 * normal_above(below));
	return width * width;
}

static void add_median(struct estimate *to, const struct step_blocks_track *track, const double *by_block, double share)
{
	double *sorted = xcalloc(track->blocks, sizeof(*sorted)), variance = NAN;
	size_t count = track->blocks;

	for (size_t i = 0; i < count; i++)
		sorted[i] = by_block[i] / (double)steps_of_block(track, i);
	qsort(sorted, count, sizeof(*sorted), by_value);
	if (count >= MEDIAN_LEAST)
		variance = share * share * variance_of_median(sorted, count);
	to->mean += share * (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	to->variance += variance;
	to->weight += variance * variance / (double)(count - 1); /* of one block NAN, as its variance is */
	free(sorted);
}

struct estimate step_blocks_median(const struct step_blocks *all, const double *by_block)
{
	return estimate_mean(all, by_block, add_median);
}

/* ---- noise ------------------------------------------------------------------------------------------------------- */

/* Student's t, two-sided: for 1 to 10 degrees of freedom, and how it goes on, with an error below 0.003. */
struct student {
	double few[10], normal, first, second;
};

static double noise_of(double variance, double weight, const struct student *student)
{
	double freedom;

	if (isnan(variance))
		return NAN;
	if (weight <= 0)
		return 0;
	freedom = fmax(variance * variance / weight, 1);
	if (freedom < 11)
		return student->few[(size_t)freedom - 1] * sqrt(variance);
	return (student->normal + student->first / freedom + student->second / (freedom * freedom)) * sqrt(variance);
}

double estimate_noise(double variance, double weight)
{
	static const struct student student = {
		{63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169}, 2.5758, 4.95, 9.8};

	return noise_of(variance, weight, &student);
}

double estimate_noise_95(double variance, double weight)
{
	static const struct student student = {
		{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}, 1.9600, 2.37, 3.0};

	return noise_of(variance, weight, &student);
}
