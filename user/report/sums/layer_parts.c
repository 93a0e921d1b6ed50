/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time of the lines of the tree of layers, by kernel family and by step. */
#include <inttypes.h>
#include <string.h>

#include "analyze/sums/kernel_family.h"
#include "base/order.h"
#include "model/string_pool.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"
#include "report/sums/layers.h"
#include "report/table/kernel_label.h"

/* The line that has a node's own time, as a number in view.shown. */
static uint32_t line_of_node(const struct layer_view *view, uint32_t node)
{
	uint32_t shown = node, line;

	while (shown && !view->line_of[shown])
		shown = layer_tree_parent(&view->layers->tree, shown);
	line = view->line_of[shown];
	if (line && (shown == node || view->shown.items[line - 1].is_last))
		return line - 1;
	return view->smaller_of[shown] - 1;
}

/* A part of a line's time. */
struct layer_part {
	uint32_t line;		     /* a number in view.shown, NONE: several that are too small */
	uint32_t process;	     /* NONE: not known */
	const char *layer;	     /* NULL: as line */
	const struct layer_row *row; /* NULL: likewise, or it is no layer */
	unsigned depth;
};

static struct layer_part part_of_line(const struct layer_view *view, uint32_t line)
{
	const struct shown_layer *shown = &view->shown.items[line];

	return (struct layer_part){line, shown->process, shown->name, shown->row, shown->depth};
}

/* ---- by kernel --------------------------------------------------------------------------------------------------- */

struct kernel_part {
	struct layer_part of;
	const char *family;
	uint64_t ns, count;
};

DEFINE_ORDER(most_time_first, struct kernel_part,
	     most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?: least_first(a->of.line, b->of.line) ?:
	     strcmp(a->family, b->family))

static void add_layer(struct report *report, struct table *table, const struct layer_part *part)
{
	AUTO_FREE char *class = part->row ? layer_class_name(report, part->row) : NULL;

	table_add_name(table, "layer", "layer", TEXT_TRUNCATE_START, part->layer);
	table_add_name(table, "class", "class", TEXT_TRUNCATE_END, class);
	report_add_process(report, table, part->process);
}

static void add_kernel(struct report *report, struct table *table, const void *item)
{
	const struct kernel_part *part = item;
	AUTO_FREE char *label = kernel_label(part->family);

	table_add_ns(table, "%s", "gpu_ns", part->ns);
	table_add_share(table, part->ns);
	table_add_count(table, "count", "count", part->count);
	table_add_named(table, "kernel", "kernel", TEXT_TRUNCATE_THIRD, label, part->family);
	add_layer(report, table, &part->of);
}

static const struct row_table kernels_table = {
	.id = "layer_kernels",
	.title = "GPU time by layer and kernel",
	.remark = "kernels that differ in types and sizes only are one; % of GPU time",
	.add_row = add_kernel,
};

/* Sums by line and family; the families' names are in the pool. */
static void sum_families(const struct layer_view *view, struct string_pool *families, struct tally *sums)
{
	const struct tally *kernels = &view->layers->kernels;

	for (size_t i = 0; i < kernels->count; i++) {
		const struct tally_entry *from = &kernels->entries[i];
		AUTO_FREE char *name = operation_family(view->report->model, from->key.part[1]);
		struct tally_key key = {
			{line_of_node(view, from->key.part[0]), string_intern(families, name, strlen(name))}};
		struct tally_entry *sum = tally_at(sums, key);

		sum->ns += from->ns;
		sum->count += from->count;
	}
}

/* Puts rows of less than the least percentage into one.  Returns the number of rows. */
static size_t join_small(const struct layer_view *view, struct kernel_part *parts, size_t count, char **label)
{
	struct kernel_part rest = {.of = {.line = NONE, .process = NONE}};
	size_t kept = count;

	while (kept && (double)parts[kept - 1].ns * 100000 < (double)view->layers->sum * view->options->min_percent)
		kept--;
	if (kept == count)
		return count;
	for (size_t i = kept; i < count; i++) {
		rest.ns += parts[i].ns;
		rest.count += parts[i].count;
	}
	*label = xasprintf("[%s smaller]", number_count(count - kept).text);
	rest.family = *label;
	parts[kept] = rest;
	return kept + 1;
}

void layers_put_kernels(const struct layer_view *view, struct report *report)
{
	struct string_pool families = {0};
	struct tally sums = {0};
	AUTO_FREE struct kernel_part *parts = NULL;
	AUTO_FREE char *label = NULL;
	size_t count;

	sum_families(view, &families, &sums);
	parts = xcalloc(sums.count, sizeof(*parts));
	for (size_t i = 0; i < sums.count; i++)
		parts[i] = (struct kernel_part){.of = part_of_line(view, sums.entries[i].key.part[0]),
						.family = string_at(&families, sums.entries[i].key.part[1]),
						.ns = sums.entries[i].ns,
						.count = sums.entries[i].count};
	sort_items(parts, sums.count, sizeof(*parts), most_time_first);
	count = join_small(view, parts, sums.count, &label);
	layers_put_rows(report, &kernels_table, &(struct row_list){ROWS(parts, count), .sum = view->layers->sum});
	tally_free(&sums);
	string_pool_close(&families);
	array_free(&families.strings);
	string_blocks_free(families.blocks);
}

/* ---- by step ----------------------------------------------------------------------------------------------------- */

#define STEP_COLUMNS 8u /* on a page; more steps share a column */

struct step_part {
	struct layer_part of;
	uint64_t from, steps; /* 0: of no step */
	uint64_t self_ns, total_ns;
};

DEFINE_ORDER(by_line_and_step, struct step_part,
	     least_first(a->of.line, b->of.line) ?: least_first(!a->steps, !b->steps) ?: least_first(a->from, b->from))

static void add_step(struct report *report, struct table *table, const void *item)
{
	const struct step_part *part = item;

	table_add_ns(table, "total %s", "total_ns", part->total_ns);
	table_add_ns(table, "self %s", "self_ns", part->self_ns);
	table_add_id(table, "step", "step", part->from);
	table_unset_unless(table, part->steps, "");
	table_add_count(table, "steps", "steps", part->steps);
	table_add_id(table, NULL, "depth", part->of.depth);
	add_layer(report, table, &part->of);
}

static const struct row_table steps_table = {
	.id = "layer_steps", .title = "GPU time by layer and step", .add_row = add_step};

/* Sums by line and block.  ns: with what the line's layer called; more: own. */
static void sum_steps(const struct layer_view *view, struct tally *sums)
{
	const struct layers *layers = view->layers;

	for (size_t i = 0; i < layers->steps.count; i++) {
		const struct tally_entry *from = &layers->steps.entries[i];
		uint32_t node = from->key.part[0], block = from->key.part[1], own = line_of_node(view, node);
		struct tally_entry *sum = tally_at(sums, (struct tally_key){{own, block}});

		sum->more += from->ns;
		if (!view->shown.items[own].row)
			sum->ns += from->ns;
		for (; node; node = layer_tree_parent(&layers->tree, node))
			if (view->line_of[node])
				tally_at(sums, (struct tally_key){{view->line_of[node] - 1, block}})->ns += from->ns;
	}
}

static void put_rows_of_steps(const struct layer_view *view, struct report *report, const struct tally *sums)
{
	AUTO_FREE struct step_part *parts = xcalloc(sums->count, sizeof(*parts));

	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *sum = &sums->entries[i];
		struct step_part part = {
			.of = part_of_line(view, sum->key.part[0]), .self_ns = sum->more, .total_ns = sum->ns};

		if (sum->key.part[1] != STEP_BLOCK_NONE) {
			struct step_block block = step_block_at(&report->all->blocks, sum->key.part[1]);

			part.from = block.track->list[block.first].number;
			part.steps = block.steps;
		}
		parts[i] = part;
	}
	sort_items(parts, sums->count, sizeof(*parts), by_line_and_step);
	layers_put_rows(report, &steps_table, &(struct row_list){ROWS(parts, sums->count), .sum = view->layers->sum});
}

/* ---- by step, on a page ------------------------------------------------------------------------------------------ */

/* Each has the average of its steps; after them comes one for what is of no step. */
struct step_columns {
	const struct step_blocks *blocks;
	size_t count;
	char titles[STEP_COLUMNS][48];
	double *cells; /* by line and column; ns */
};

static size_t column_of(const struct step_columns *columns, const struct step_block *block)
{
	return block->number * columns->count / block->track->blocks;
}

static const struct step_blocks_track *longest_track(const struct step_blocks *blocks)
{
	const struct step_blocks_track *longest = blocks->tracks.items;

	for (size_t i = 1; i < blocks->tracks.count; i++)
		if (blocks->tracks.items[i].count > longest->count)
			longest = &blocks->tracks.items[i];
	return longest;
}

static void name_columns(struct step_columns *columns)
{
	const struct step_blocks_track *track = longest_track(columns->blocks);
	size_t first = 0;

	columns->count = track->blocks < STEP_COLUMNS ? track->blocks : STEP_COLUMNS;
	for (size_t i = 0; i < track->blocks; i++) {
		struct step_block block = step_block_at(columns->blocks, (uint32_t)(track->first_block + i));
		struct step_block next = {.track = track, .number = i + 1};
		size_t column = column_of(columns, &block), last = block.first + block.steps - 1;
		uint64_t from = track->list[first].number, to = track->list[last].number;

		if (column_of(columns, &next) == column)
			continue;
		snprintf(columns->titles[column], sizeof(columns->titles[column]),
			 from == to ? "step %" PRIu64 : "%" PRIu64 "-%" PRIu64, from, to);
		first = last + 1;
	}
}

/* Steps of the block's process in its column. */
static size_t steps_of_column(const struct step_columns *columns, const struct step_block *block)
{
	size_t steps = 0;

	for (size_t i = 0; i < block->track->blocks; i++) {
		struct step_block other = step_block_at(columns->blocks, (uint32_t)(block->track->first_block + i));

		if (column_of(columns, &other) == column_of(columns, block))
			steps += other.steps;
	}
	return steps;
}

static void fill_cells(struct step_columns *columns, const struct tally *sums)
{
	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t *part = sums->entries[i].key.part;
		double *cells = columns->cells + part[0] * (columns->count + 1), ns = (double)sums->entries[i].ns;

		if (part[1] == STEP_BLOCK_NONE) {
			cells[columns->count] += ns;
		} else {
			struct step_block block = step_block_at(columns->blocks, part[1]);

			cells[column_of(columns, &block)] += ns / (double)steps_of_column(columns, &block);
		}
	}
}

static double most_of(const struct step_columns *columns, size_t lines)
{
	double most = 0;

	for (size_t i = 0; i < lines * (columns->count + 1); i++)
		most = columns->cells[i] > most ? columns->cells[i] : most;
	return most;
}

static void put_columns_of_steps(const struct layer_view *view, struct report *report, const struct tally *sums)
{
	struct step_columns columns = {.blocks = &report->all->blocks};
	struct table table = {.shows_process = report->all->active > 1};
	size_t lines = view->shown.count;

	name_columns(&columns);
	columns.cells = xcalloc(lines * (columns.count + 1), sizeof(*columns.cells));
	fill_cells(&columns, sums);
	table.unit = time_unit_for((uint64_t)most_of(&columns, lines));
	for (size_t i = 0; i < lines; i++) {
		const struct shown_layer *shown = &view->shown.items[i];

		table_begin_row(&table);
		for (size_t k = 0; k <= columns.count; k++)
			table_add_ns(&table, k < columns.count ? columns.titles[k] : "no step", NULL,
				     (uint64_t)columns.cells[i * (columns.count + 1) + k]);
		layers_add_name(&table, shown);
		report_add_process(report, &table, shown->process);
	}
	report_title(report, steps_table.id, steps_table.title, NULL);
	report_line(report, "  total %s of a step, on average where a column has several", table.unit.name);
	report_table(report, &table);
	free(columns.cells);
}

void layers_put_steps(const struct layer_view *view, struct report *report)
{
	struct tally sums = {0};

	if (!step_blocks_has_steps(&report->all->blocks)) {
		report_title(report, steps_table.id, steps_table.title, NULL);
		report_line(report, "  no steps were found; they are found by --ops, or --step says what they are");
		return;
	}
	sum_steps(view, &sums);
	if (report->writer)
		put_rows_of_steps(view, report, &sums);
	else
		put_columns_of_steps(view, report, &sums);
	tally_free(&sums);
}
