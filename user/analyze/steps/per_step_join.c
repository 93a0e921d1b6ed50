/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins the tables of several runs of one program, and makes the median of several ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/steps/per_step_tables.h"
#include "base/order.h"

/* What a run does not have is zero in each of its steps. */
static const struct estimate nothing = {0};

/* The estimates of one value, one for each run. */
static struct estimate join_estimates(const struct estimate *const *runs, size_t count)
{
	struct estimate joined = {0};
	double between = 0, of_runs = (double)count;

	for (size_t i = 0; i < count; i++) {
		joined.mean += runs[i]->mean / of_runs;
		joined.variance += runs[i]->variance / (of_runs * of_runs);
		joined.weight += runs[i]->weight / (of_runs * of_runs * of_runs * of_runs);
	}
	if (count < 2)
		return joined;
	for (size_t i = 0; i < count; i++)
		between += (runs[i]->mean - joined.mean) * (runs[i]->mean - joined.mean) / (of_runs - 1) / of_runs;
	if (isnan(joined.variance) || between > joined.variance) {
		joined.variance = between;
		joined.weight = between * between / (of_runs - 1);
	}
	return joined;
}

/* A row, and the run that it is of. */
struct row_of_run {
	struct per_step_row row;
	size_t run;
};

DEFINE_ORDER(by_key_and_run, struct row_of_run, strcmp(a->row.key, b->row.key) ?: lower_first(a->run, b->run))

/* Joins rows of one key, at most one of a run.  The name and the place are those of the last run that has the row. */
static struct per_step_row join_row(const struct row_of_run *rows, size_t count, size_t runs)
{
	const struct estimate **costs = xcalloc(2 * runs, sizeof(const struct estimate *)), **counts = costs + runs;
	struct per_step_row joined = rows[count - 1].row;

	for (size_t i = 0; i < 2 * runs; i++)
		costs[i] = &nothing;
	for (size_t i = 0; i < count; i++) {
		costs[rows[i].run] = &rows[i].row.cost;
		counts[rows[i].run] = &rows[i].row.count;
	}
	joined.cost = join_estimates(costs, runs);
	joined.count = join_estimates(counts, runs);
	for (size_t i = 0; i + 1 < count; i++) {
		free(rows[i].row.key);
		free(rows[i].row.place);
		free(rows[i].row.name);
	}
	free(costs);
	return joined;
}

/* offset: where the rows are in the tables. */
static void join_rows(struct per_step_tables *joined, struct per_step_tables *runs, size_t count, size_t offset)
{
	struct per_step_rows *to = (void *)((char *)joined + offset);
	ARRAY(struct row_of_run) all = {0};

	for (size_t i = 0; i < count; i++) {
		struct per_step_rows *from = (void *)((char *)&runs[i] + offset);

		for (size_t k = 0; k < from->list.count; k++)
			array_push(&all, ((struct row_of_run){from->list.items[k], i}));
		array_free(&from->list);
	}
	array_sort(&all, by_key_and_run);
	for (size_t i = 0, end; i < all.count; i = end) {
		for (end = i + 1; end < all.count && !strcmp(all.items[end].row.key, all.items[i].row.key); end++)
			;
		array_push(&to->list, join_row(&all.items[i], end - i, count));
	}
	array_free(&all);
}

static void join_values(struct per_step_tables *joined, const struct per_step_tables *runs, size_t count)
{
	static const size_t offsets[] = {
		offsetof(struct per_step_tables, wall),	       offsetof(struct per_step_tables, gpu_ns),
		offsetof(struct per_step_tables, launches),    offsetof(struct per_step_tables, other_calls),
		offsetof(struct per_step_tables, idle_ns),     offsetof(struct per_step_tables, wait_ns),
		offsetof(struct per_step_tables, growth),      offsetof(struct per_step_tables, peak),
		offsetof(struct per_step_tables, median_wall), offsetof(struct per_step_tables, median_gpu_ns),
	};
	const struct estimate **of_runs = xcalloc(count, sizeof(*of_runs));

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		for (size_t k = 0; k < count; k++)
			of_runs[k] = (const void *)((const char *)&runs[k] + offsets[i]);
		*(struct estimate *)(void *)((char *)joined + offsets[i]) = join_estimates(of_runs, count);
	}
	free(of_runs);
}

void per_step_tables_join(struct per_step_tables *joined, struct per_step_tables *runs, size_t count)
{
	static const size_t offsets[] = {
		offsetof(struct per_step_tables, lines),  offsetof(struct per_step_tables, kernels),
		offsetof(struct per_step_tables, ops),	  offsetof(struct per_step_tables, stacks),
		offsetof(struct per_step_tables, losses), offsetof(struct per_step_tables, waits),
		offsetof(struct per_step_tables, memory), offsetof(struct per_step_tables, peaks),
		offsetof(struct per_step_tables, layers), offsetof(struct per_step_tables, layer_kernels),
	};

	*joined = (struct per_step_tables){.has_steps = true,
					   .has_gpu = true,
					   .has_ops = true,
					   .has_memory = true,
					   .has_layers = true,
					   .of_other_tool = true};
	for (size_t i = 0; i < count; i++) {
		joined->has_steps &= runs[i].has_steps;
		joined->has_gpu &= runs[i].has_gpu;
		joined->has_ops &= runs[i].has_ops;
		joined->has_memory &= runs[i].has_memory;
		joined->has_layers &= runs[i].has_layers;
		joined->of_other_tool &= runs[i].of_other_tool;
		joined->steps += runs[i].steps;
		joined->wall_ns += runs[i].wall_ns;
		joined->outside_ns += runs[i].outside_ns;
	}
	join_values(joined, runs, count);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		join_rows(joined, runs, count, offsets[i]);
}

/* ---- the median of ranks ----------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_mean, struct estimate *const, lower_first((*a)->mean, (*b)->mean))

/* Sorts the list. */
static struct estimate median_of(const struct estimate **of_runs, size_t count)
{
	qsort(of_runs, count, sizeof(*of_runs), by_mean);
	return *of_runs[(count - 1) / 2];
}

/* A row of a rank. */
struct row_of_rank {
	const struct per_step_row *row;
	size_t rank;
};

DEFINE_ORDER(by_key_and_rank, struct row_of_rank, strcmp(a->row->key, b->row->key) ?: lower_first(a->rank, b->rank))

/* rows: of one key; a rank that has none has zero. */
static void add_median(struct per_step_rows *to, const struct row_of_rank *rows, size_t count, size_t ranks,
		       const struct estimate **costs, const struct estimate **counts)
{
	const struct per_step_row *first = rows->row;

	for (size_t i = 0; i < ranks; i++) {
		costs[i] = i < count ? &rows[i].row->cost : &nothing;
		counts[i] = i < count ? &rows[i].row->count : &nothing;
	}
	array_push(&to->list, ((struct per_step_row){.key = xstrdup(first->key),
						     .place = xstrdup(first->place),
						     .name = xstrdup(first->name),
						     .what = first->what,
						     .api = first->api,
						     .cost = median_of(costs, ranks),
						     .count = median_of(counts, ranks)}));
}

static void make_medians(struct per_step_rows *to, const struct per_step_tables *const *runs, size_t count,
			 size_t offset)
{
	const struct estimate **scratch = xcalloc(2 * count, sizeof(const struct estimate *));
	ARRAY(struct row_of_rank) all = {0};

	for (size_t i = 0; i < count; i++) {
		const struct per_step_rows *from = (const void *)((const char *)runs[i] + offset);

		for (size_t k = 0; k < from->list.count; k++)
			array_push(&all, ((struct row_of_rank){&from->list.items[k], i}));
	}
	array_sort(&all, by_key_and_rank);
	for (size_t i = 0, end; i < all.count; i = end) {
		for (end = i + 1; end < all.count && !strcmp(all.items[end].row->key, all.items[i].row->key); end++)
			;
		add_median(to, &all.items[i], end - i, count, scratch, scratch + count);
	}
	array_free(&all);
	free(scratch);
}

void per_step_tables_median(struct per_step_tables *median, const struct per_step_tables *const *runs, size_t count)
{
	*median = (struct per_step_tables){.has_steps = true, .has_gpu = true};
	for (size_t i = 0; i < count; i++) {
		median->has_steps &= runs[i]->has_steps;
		median->has_gpu &= runs[i]->has_gpu;
	}
	make_medians(&median->computation, runs, count, offsetof(struct per_step_tables, computation));
	make_medians(&median->losses, runs, count, offsetof(struct per_step_tables, losses));
	make_medians(&median->waits, runs, count, offsetof(struct per_step_tables, waits));
}
