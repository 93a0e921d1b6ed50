/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_lines.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "base/order.h"

/* The ranks whose tables can be compared. */
struct comparable {
	ARRAY(size_t) ranks; /* ranks.rows */
	ARRAY(const struct per_step_tables *) tables;
	bool has_steps;
};

static const struct per_step_tables *tables_of(const struct ranks *ranks, size_t rank)
{
	const struct rank_work *work = rank_work_of(ranks, &ranks->rows.items[rank]);

	return work && work->has_tables && work->tables.has_gpu ? &work->tables : NULL;
}

/* Sums per step are not compared with those of a whole log. */
static void collect_comparable(const struct ranks *ranks, struct comparable *found)
{
	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct per_step_tables *tables = tables_of(ranks, i);

		found->has_steps |= tables && tables->has_steps;
	}
	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct per_step_tables *tables = tables_of(ranks, i);

		if (!tables || tables->has_steps != found->has_steps)
			continue;
		array_push(&found->ranks, i);
		array_push(&found->tables, tables);
	}
}

/* Whether sums are of the same length of time. */
static bool are_alike(const struct comparable *of)
{
	uint64_t least_ns = UINT64_MAX, most_ns = 0;

	for (size_t i = 0; i < of->tables.count; i++) {
		least_ns = earlier_time(least_ns, of->tables.items[i]->wall_ns);
		most_ns = later_time(most_ns, of->tables.items[i]->wall_ns);
	}
	return of->has_steps || most_ns - least_ns <= most_ns / 100;
}

/* ---- computation by line and by layer ---------------------------------------------------------------------------- */

/* A line or a layer on a rank; without a row it computed nothing. */
struct own_line {
	const struct per_step_row *row;
	struct estimate cost;
	size_t rank;
};

DEFINE_ORDER(by_key, struct own_line, strcmp(a->row->key, b->row->key) ?: least_first(a->rank, b->rank))

DEFINE_ORDER(by_cost, struct own_line, lower_first(a->cost.mean, b->cost.mean) ?: least_first(a->rank, b->rank))

/* list: of one line or layer; scratch: room for all ranks. */
static void add_spread(struct line_spreads *spreads, const struct comparable *of, const struct own_line *list,
		       size_t count, struct own_line *scratch)
{
	const struct own_line *median, *most;
	size_t all = of->ranks.count, next = 0;

	for (size_t i = 0; i < all; i++) {
		scratch[i] = (struct own_line){.rank = of->ranks.items[i]};
		if (next < count && list[next].rank == of->ranks.items[i])
			scratch[i] = list[next++];
	}
	qsort(scratch, all, sizeof(*scratch), by_cost);
	median = &scratch[(all - 1) / 2];
	most = &scratch[all - 1];
	array_push(&spreads->list, ((struct line_spread){.place = list->row->place,
							 .name = list->row->name,
							 .least_ns = scratch->cost.mean,
							 .most = difference_of(&median->cost, &most->cost),
							 .least_rank = scratch->rank,
							 .most_rank = most->rank}));
}

DEFINE_ORDER(by_spread, struct line_spread,
	     higher_first(difference_change(&a->most), difference_change(&b->most)) ?: strcmp(a->place, b->place) ?:
	     strcmp(a->name, b->name))

/* offset: where the rows are in the tables. */
static void make_spreads(struct line_spreads *spreads, const struct comparable *of, size_t offset)
{
	AUTO_FREE struct own_line *scratch = xcalloc(of->ranks.count + 1, sizeof(*scratch));
	ARRAY(struct own_line) all = {0};

	for (size_t i = 0; i < of->ranks.count; i++) {
		const struct per_step_rows *rows = (const void *)((const char *)of->tables.items[i] + offset);

		for (size_t k = 0; k < rows->list.count; k++)
			array_push(&all, ((struct own_line){&rows->list.items[k], rows->list.items[k].cost,
							    of->ranks.items[i]}));
	}
	array_sort(&all, by_key);
	for (size_t i = 0, end; i < all.count; i = end) {
		for (end = i + 1; end < all.count && !strcmp(all.items[end].row->key, all.items[i].row->key); end++)
			;
		add_spread(spreads, of, &all.items[i], end - i, scratch);
	}
	array_sort(&spreads->list, by_spread);
	array_free(&all);
}

/* Of the ranks whose modules were recorded: others did not compute nothing in them. */
static void make_layers(struct rank_lines *lines, const struct comparable *all)
{
	struct comparable of = {.has_steps = all->has_steps};

	for (size_t i = 0; i < all->ranks.count; i++)
		if (all->tables.items[i]->has_layers) {
			array_push(&of.ranks, all->ranks.items[i]);
			array_push(&of.tables, all->tables.items[i]);
		}
	if (of.ranks.count > 1)
		make_spreads(&lines->layers, &of, offsetof(struct per_step_tables, layer_computation));
	array_free(&of.ranks);
	array_free(&of.tables);
}

/* ---- the late rank ----------------------------------------------------------------------------------------------- */

static void compare_late(struct rank_lines *lines, const struct ranks *ranks, const struct comparable *of)
{
	ARRAY(const struct per_step_tables *) others = {0};
	const struct rank_row *row = ranks_latest(ranks);
	size_t late = row ? (size_t)(row - ranks->rows.items) : SIZE_MAX;
	const struct per_step_tables *own = NULL;

	for (size_t i = 0; i < of->ranks.count; i++) {
		if (of->ranks.items[i] == late)
			own = of->tables.items[i];
		else
			array_push(&others, of->tables.items[i]);
	}
	if (own && others.count) {
		lines->late = late;
		per_step_tables_median(&lines->median, others.items, others.count);
		differences_make(&lines->differences, &lines->median, own);
	}
	array_free(&others);
}

void rank_lines_make(struct rank_lines *lines, const struct ranks *ranks)
{
	struct comparable of = {0};

	*lines = (struct rank_lines){.late = SIZE_MAX};
	collect_comparable(ranks, &of);
	lines->ranks = of.ranks.count;
	lines->has_steps = of.has_steps;
	lines->is_alike = of.ranks.count && are_alike(&of);
	if (of.ranks.count > 1)
		make_spreads(&lines->lines, &of, offsetof(struct per_step_tables, computation));
	make_layers(lines, &of);
	compare_late(lines, ranks, &of);
	array_free(&of.ranks);
	array_free(&of.tables);
}

void rank_lines_free(struct rank_lines *lines)
{
	array_free(&lines->lines.list);
	array_free(&lines->layers.list);
	if (lines->late == SIZE_MAX)
		return;
	differences_free(&lines->differences);
	per_step_tables_free(&lines->median);
}
