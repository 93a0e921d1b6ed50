/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of steps, sums by block, and what a mean per step is worth. */
#include "analyze/per_step.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/callers.h"
#include "analyze/operation_pack.h"

#define NO_BLOCK UINT32_MAX

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void add_track(struct per_step *all, const struct step_track *track, uint32_t process)
{
	size_t first = step_track_first_whole(track);
	struct per_step_track made = {.list = track->list.items + first, .count = track->list.count - first};

	if (!made.count)
		return;
	array_push(&all->tracks, made);
	all->of_process[process] = (uint32_t)all->tracks.count;
	all->steps += made.count;
	for (size_t i = 0; i < made.count; i++)
		all->wall_ns += made.list[i].end_ns - made.list[i].start_ns;
}

static void divide(struct per_step *all)
{
	size_t most = all->tracks.count ? PER_STEP_BLOCKS / all->tracks.count : 0;

	if (most < PER_STEP_BLOCKS_LEAST)
		most = PER_STEP_BLOCKS_LEAST;
	for (size_t i = 0; i < all->tracks.count; i++) {
		struct per_step_track *track = &all->tracks.items[i];

		track->blocks = track->count < most ? track->count : most;
		track->first_block = all->blocks;
		all->blocks += (uint32_t)track->blocks;
	}
	if (!all->tracks.count)
		all->blocks = 1;
}

static void add_op(void *context, const struct op_node *node);

void per_step_init(struct per_step *all, const struct steps *steps, const struct model *first)
{
	*all = (struct per_step){.model = first};
	op_tree_init(&all->tree, first, add_op, all);
	if (steps && steps->tracks.count)
		all->of_process = xcalloc(first->process_count, sizeof(*all->of_process));
	for (uint32_t i = 0; all->of_process && i < first->process_count; i++) {
		const struct step_track *track = steps_of_process(steps, first, i);

		if (track)
			add_track(all, track, i);
	}
	divide(all);
}

void per_step_free(struct per_step *all)
{
	op_tree_free(&all->tree);
	gpu_tally_free(&all->gpu);
	tally_free(&all->calls);
	tally_free(&all->ops);
	array_free(&all->tracks);
	free(all->of_process);
}

void per_step_begin_part(struct per_step *all, const struct model *part)
{
	all->model = part;
	op_tree_begin_part(&all->tree, part);
}

static size_t steps_of_block(const struct per_step_track *track, size_t block)
{
	/* step i is in block i * blocks / count */
	size_t begin = (block * track->count + track->blocks - 1) / track->blocks;
	size_t end = ((block + 1) * track->count + track->blocks - 1) / track->blocks;

	return end - begin;
}

/* The block of the step that it is in; NO_BLOCK: it is in none. */
static uint32_t block_at(struct per_step *all, uint32_t process, uint64_t time_ns)
{
	struct per_step_track *track;
	const struct step *step;

	if (!per_step_has_steps(all))
		return 0;
	if (!all->of_process[process])
		return NO_BLOCK;
	track = &all->tracks.items[all->of_process[process] - 1];
	step = &track->list[track->latest];
	if (time_ns < step->start_ns || time_ns >= step->end_ns) {
		size_t at = step_at(track->list, track->count, time_ns);

		if (at == SIZE_MAX || time_ns >= track->list[at].end_ns)
			return NO_BLOCK;
		track->latest = at;
	}
	return (uint32_t)(track->first_block + track->latest * track->blocks / track->count);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static uint32_t place_of(const struct per_step *all, uint32_t stack, uint32_t caller)
{
	return stack_has_frames(all->model, stack) ? stack : caller;
}

void per_step_add_gpu(struct per_step *all, const struct gpu_event *event)
{
	uint64_t ns = gpu_ns(event->op), at_ns = event->launch ? event->launch->start_ns : event->op->start_ns;
	uint32_t block = block_at(all, event->op->process, at_ns);
	struct tally_entry *sum;

	if (block == NO_BLOCK) {
		all->outside_ns += ns;
		return;
	}
	sum = gpu_tally_at(
		&all->gpu, event->op,
		(struct tally_key){{place_of(all, event->stack, event->caller), operation_pack(event->op), block}});
	sum->ns += ns;
	sum->count++;
}

void per_step_add_call(struct per_step *all, const struct call_event *event)
{
	uint32_t block;

	op_tree_add_call(&all->tree, event);
	if (!call_is_work(event->call))
		return;
	block = block_at(all, event->process, event->call->start_ns);
	if (block != NO_BLOCK)
		tally_at(&all->calls, (struct tally_key){{place_of(all, event->stack, event->caller), NONE, block}})
			->count++;
}

static void add_op(void *context, const struct op_node *node)
{
	struct per_step *all = context;
	uint32_t block = block_at(all, all->model->threads[node->thread].process, node->start_ns);
	struct tally_entry *sum;

	if (block == NO_BLOCK || node->name >= OP_NAME_STEPS)
		return;
	sum = tally_at(&all->ops, (struct tally_key){{node->name, node->annotated, block}});
	sum->ns += node->gpu_self_ns;
	sum->more += op_node_self_ns(node);
	sum->count++;
}

void per_step_finish(struct per_step *all, const struct window *window)
{
	op_tree_finish(&all->tree);
	gpu_tally_all(&all->gpu);
	if (!per_step_has_steps(all))
		all->wall_ns = window->end_ns - window->start_ns;
}

/* ---- estimates --------------------------------------------------------------------------------------------------- */

/* Adds what a process has to the mean: its steps are `share` of all. */
static void add_estimate(struct estimate *to, const struct per_step_track *track, const double *by_block, double share)
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

struct estimate per_step_estimate(const struct per_step *all, const double *by_block)
{
	struct estimate found = {0};

	if (!per_step_has_steps(all))
		return (struct estimate){.mean = by_block[0], .variance = NAN};
	for (size_t i = 0; i < all->tracks.count; i++) {
		const struct per_step_track *track = &all->tracks.items[i];

		add_estimate(&found, track, by_block + track->first_block, (double)track->count / (double)all->steps);
	}
	return found;
}

struct estimate per_step_wall(const struct per_step *all)
{
	double *by_block = xcalloc(all->blocks, sizeof(*by_block));
	struct estimate found;

	if (!per_step_has_steps(all))
		by_block[0] = (double)all->wall_ns;
	for (size_t t = 0; t < all->tracks.count; t++) {
		const struct per_step_track *track = &all->tracks.items[t];

		for (size_t i = 0; i < track->count; i++)
			by_block[track->first_block + i * track->blocks / track->count] +=
				(double)(track->list[i].end_ns - track->list[i].start_ns);
	}
	found = per_step_estimate(all, by_block);
	free(by_block);
	return found;
}
