/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Merges the rows of two traces by key; then Welch's interval for each. */
#include "analyze/steps/differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

struct difference difference_of(const struct estimate *before, const struct estimate *after)
{
	double variance = before->variance + after->variance, weight = before->weight + after->weight;

	return (struct difference){
		.before = before->mean, .after = after->mean, .noise = estimate_noise(variance, weight)};
}

/* Of the few values of a step; of many rows one in 20 would differ by chance. */
static struct difference compare_step(const struct estimate *before, const struct estimate *after)
{
	struct difference made = difference_of(before, after);

	made.noise = estimate_noise_95(before->variance + after->variance, before->weight + after->weight);
	return made;
}

bool difference_is_seen(const struct difference *difference)
{
	double change = difference_change(difference);

	if (change <= DIFFERENCE_LEAST * fmax(fabs(difference->before), fabs(difference->after)))
		return false;
	return isnan(difference->noise) ? change > 0 : change > difference->noise;
}

double difference_percent(const struct difference *difference)
{
	if (difference->before > 0)
		return 100 * (difference->after - difference->before) / difference->before;
	return difference->after > 0 ? INFINITY : 0;
}

double difference_least_percent(const struct difference *difference)
{
	struct difference least = *difference;

	least.after -= difference->noise;
	return isnan(difference->noise) ? NAN : difference_percent(&least);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* What a trace does not have is zero in each of its steps. */
static const struct estimate nothing = {0};

static void add_row(struct difference_rows *rows, const struct per_step_row *before, const struct per_step_row *after)
{
	struct difference_row row = {.before = before, .after = after};

	row.cost = difference_of(before ? &before->cost : &nothing, after ? &after->cost : &nothing);
	row.count = difference_of(before ? &before->count : &nothing, after ? &after->count : &nothing);
	array_push(&rows->list, row);
}

static const struct difference *sorted_by(const struct difference_row *row, bool by_launches)
{
	return by_launches ? &row->count : &row->cost;
}

static int by_change(const void *left, const void *right, void *context)
{
	const bool *by_launches = context;
	const struct difference_row *a = left, *b = right;
	const struct difference *in_a = sorted_by(a, *by_launches), *in_b = sorted_by(b, *by_launches);

	return most_first(difference_is_seen(in_a), difference_is_seen(in_b)) ?:
	       higher_first(difference_change(in_a), difference_change(in_b)) ?:
	       strcmp((a->before ? a->before : a->after)->key, (b->before ? b->before : b->after)->key);
}

static void make_rows(struct difference_rows *rows, const struct per_step_rows *before,
		      const struct per_step_rows *after, bool by_launches)
{
	size_t i = 0, k = 0;

	while (i < before->list.count || k < after->list.count) {
		const struct per_step_row *a = i < before->list.count ? &before->list.items[i] : NULL;
		const struct per_step_row *b = k < after->list.count ? &after->list.items[k] : NULL;
		int order = !a ? 1 : !b ? -1 : strcmp(a->key, b->key);

		add_row(rows, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
		i += order <= 0;
		k += order >= 0;
	}
	if (rows->list.count)
		qsort_r(rows->list.items, rows->list.count, sizeof(*rows->list.items), by_change, &by_launches);
	while (rows->changed < rows->list.count &&
	       difference_is_seen(sorted_by(&rows->list.items[rows->changed], by_launches)))
		rows->changed++;
}

void differences_make(struct differences *all, const struct per_step_tables *before,
		      const struct per_step_tables *after)
{
	bool by_launches = !before->has_gpu || !after->has_gpu;

	*all = (struct differences){.before = before, .after = after, .by_launches = by_launches};
	all->wall_ns = compare_step(&before->wall, &after->wall);
	all->gpu_ns = compare_step(&before->gpu_ns, &after->gpu_ns);
	all->median_wall_ns = compare_step(&before->median_wall, &after->median_wall);
	all->median_gpu_ns = compare_step(&before->median_gpu_ns, &after->median_gpu_ns);
	all->launches = compare_step(&before->launches, &after->launches);
	make_rows(&all->lines, &before->lines, &after->lines, by_launches);
	if (before->has_layers && after->has_layers)
		make_rows(&all->layers, &before->layers, &after->layers, by_launches);
	if (before->has_layers && after->has_layers)
		make_rows(&all->layer_kernels, &before->layer_kernels, &after->layer_kernels, by_launches);
	make_rows(&all->computation, &before->computation, &after->computation, false);
	make_rows(&all->kernels, &before->kernels, &after->kernels, by_launches);
	make_rows(&all->ops, &before->ops, &after->ops, by_launches);
	make_rows(&all->stacks, &before->stacks, &after->stacks, by_launches);
	all->other_calls = compare_step(&before->other_calls, &after->other_calls);
	all->idle_ns = compare_step(&before->idle_ns, &after->idle_ns);
	all->wait_ns = compare_step(&before->wait_ns, &after->wait_ns);
	make_rows(&all->waits, &before->waits, &after->waits, false);
	if (!by_launches)
		make_rows(&all->losses, &before->losses, &after->losses, false);
	all->has_memory = before->has_memory && after->has_memory;
	all->of_other_tools = before->of_other_tool && after->of_other_tool;
	if (!all->has_memory)
		return;
	all->growth = compare_step(&before->growth, &after->growth);
	all->peak = compare_step(&before->peak, &after->peak);
	make_rows(&all->memory, &before->memory, &after->memory, false);
	make_rows(&all->peaks, &before->peaks, &after->peaks, false);
}

void differences_free(struct differences *all)
{
	array_free(&all->lines.list);
	array_free(&all->layers.list);
	array_free(&all->layer_kernels.list);
	array_free(&all->computation.list);
	array_free(&all->kernels.list);
	array_free(&all->ops.list);
	array_free(&all->stacks.list);
	array_free(&all->losses.list);
	array_free(&all->waits.list);
	array_free(&all->memory.list);
	array_free(&all->peaks.list);
}
