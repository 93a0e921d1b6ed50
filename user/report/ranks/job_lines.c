/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/job.h"

#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/ranks/rank_cells.h"
#include "report/why/why_words.h"

#define SHORT_ROWS 5u	 /* of a table of a page that has not all */
#define SHOWN_SHARE 0.01 /* of a step: a page leaves out lines that differ by less */

static bool shows_all(const struct report *report, const struct report_job *job)
{
	return report->writer || job->is_whole;
}

static size_t rows_shown(const struct report *report, const struct report_job *job, size_t count)
{
	size_t most = shows_all(report, job) ? report->rows : SHORT_ROWS;

	return count < most ? count : most;
}

/* ---- computation by line and by layer ---------------------------------------------------------------------------- */

/* Whether a page shows it: it differs by more than chance, and by a part of a step. */
static bool is_large(const struct report_job *job, const struct difference *difference)
{
	double whole = job->lines->late == SIZE_MAX ? 0 : job->lines->differences.wall_ns.before;

	for (size_t i = 0; !whole && i < job->ranks->rows.count; i++) {
		const struct rank_work *work = rank_work_of(job->ranks, &job->ranks->rows.items[i]);

		whole = work && work->has_tables ? work->tables.wall.mean : 0;
	}
	return difference_is_seen(difference) && difference_change(difference) >= SHOWN_SHARE * whole;
}

static void add_spread(struct report *report, struct table *table, const void *item)
{
	const struct line_spread *spread = item;
	const struct report_job *job = table->context;
	const struct difference *most = &spread->most;

	table_add_ms_avg(table, "least ms", "least_ns", spread->least_ns);
	table_add_ms_avg(table, "median", "median_ns", most->before);
	table_add_ms_avg(table, "most", "most_ns", most->after);
	table_add_ms_avg(table, "more", "more_ns", most->after - most->before);
	table_add_value(table, "%", "more_percent", UNIT_PERCENT, number_tenths(difference_percent(most)),
			difference_percent(most));
	table_add_value(table, NULL, "noise_ns", UNIT_NS_AVG, (struct number){""}, most->noise);
	table_add_rank(table, "least on", "least_rank", job_rank_at(job, spread->least_rank));
	table_add_rank(table, "most on", "most_rank", job_rank_at(job, spread->most_rank));
}

static void add_line(struct report *report, struct table *table, const void *item)
{
	const struct line_spread *spread = item;

	add_spread(report, table, item);
	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, spread->place);
	table_add_name(table, "function", "function", TEXT_TRUNCATE_MIDDLE, spread->name);
	table_add_word(table, "differs", difference_is_seen(&spread->most) ? "yes" : "no");
}

static void add_layer(struct report *report, struct table *table, const void *item)
{
	const struct line_spread *spread = item;

	add_spread(report, table, item);
	table_add_name(table, "layer", "layer", TEXT_TRUNCATE_START, spread->name);
	table_add_word(table, "differs", difference_is_seen(&spread->most) ? "yes" : "no");
}

static const struct row_table line_table = {
	.id = "merge_lines", .title = "Computation by line, on the ranks with least and most", .add_row = add_line};
static const struct row_table layer_table = {
	.id = "merge_layers", .title = "Computation by layer, on the ranks with least and most", .add_row = add_layer};

static void put_spreads(struct report *report, const struct report_job *job, const struct line_spreads *spreads,
			const struct row_table *table)
{
	size_t count = spreads->list.count, shown;

	for (shown = 0; !shows_all(report, job) && shown < count; shown++)
		if (!is_large(job, &spreads->list.items[shown].most))
			break;
	shown = rows_shown(report, job, shows_all(report, job) ? count : shown);
	if (shown || shows_all(report, job))
		report_rows(
			report, table,
			&(struct row_list){ROWS(spreads->list.items, shown), .context = job, .has_all = true,
					   .none = &(struct line_spread){.least_rank = SIZE_MAX, .most_rank = SIZE_MAX},
					   .remark = job->lines->has_steps ? "per step; more: than the median rank"
									   : "in all; more: than the median rank"});
}

/* ---- the late rank ----------------------------------------------------------------------------------------------- */

enum difference_kind { KIND_COMPUTATION, KIND_IDLE, KIND_WAIT };

struct kind_row {
	enum difference_kind kind;
	const struct difference_row *of;
};

struct kind_rows {
	ARRAY(struct kind_row) list;
};

static void collect_kind(struct kind_rows *all, enum difference_kind kind, const struct difference_rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++)
		array_push(&all->list, ((struct kind_row){kind, &rows->list.items[i]}));
}

DEFINE_ORDER(by_change, struct kind_row,
	     higher_first(difference_change(&a->of->cost), difference_change(&b->of->cost)) ?:
	     lower_first(a->kind, b->kind) ?: lower_first(a->of, b->of))

static const struct per_step_row *either_of(const struct kind_row *row)
{
	return row->of->after ? row->of->after : row->of->before;
}

/* What others waited for in a collective is this rank itself: it is no cause of its lateness. */
static bool is_cause(const struct kind_row *row)
{
	return row->kind != KIND_IDLE || either_of(row)->what != WHY_RANK;
}

static void add_kind(struct table *table, const struct kind_row *row)
{
	static const char *const keys[] = {"computation", "idle", "wait"};
	const struct per_step_row *either = either_of(row);
	AUTO_FREE char *shown = NULL;

	if (row->kind == KIND_IDLE)
		shown = xasprintf("idle: %s", either->api == NONE ? why_short((enum why_cause)either->what)
								  : api_name((uint16_t)either->api));
	else
		shown = row->kind == KIND_WAIT ? xasprintf("CPU waits: %s", api_name((uint16_t)either->api))
					       : xstrdup("computation");
	table_add_named(table, "what", "what", TEXT_TRUNCATE_END, shown, keys[row->kind]);
	table_add_word(table, "cause", row->kind == KIND_IDLE ? why_cause_name((enum why_cause)either->what) : NULL);
	table_add_word(table, "call", either->api != NONE ? api_name((uint16_t)either->api) : NULL);
}

/* "+44.9", "-39.4" */
static struct number signed_ms(double ns)
{
	struct number size = number_tenths(fabs(ns) / 1e6), number;

	snprintf(number.text, sizeof(number.text), "%c%.*s", ns < 0 ? '-' : '+', (int)sizeof(number.text) - 2,
		 size.text);
	return number;
}

static void add_difference(struct table *table, const struct report_job *job, const struct kind_row *row)
{
	const struct difference *cost = &row->of->cost;
	struct number noise = {"?"};

	if (!isnan(cost->noise))
		noise = number_tenths(cost->noise / 1e6);
	table_begin_row(table);
	table_add_ms_avg(table, "median ms", "median_ns", cost->before);
	table_add_ms_avg(table, "this rank", "rank_ns", cost->after);
	table_add_value(table, "change", "change_ns", UNIT_NS_AVG, signed_ms(cost->after - cost->before),
			cost->after - cost->before);
	table_add_value(table, "noise", "noise_ns", UNIT_NS_AVG, noise, cost->noise);
	add_kind(table, row);
	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, either_of(row)->place);
	table_add_name(table, "function", "function", TEXT_TRUNCATE_MIDDLE, either_of(row)->name);
	table_add_word(table, "differs", difference_is_seen(cost) ? "yes" : "no");
	table_add_rank(table, NULL, "rank", job_rank_at(job, job->lines->late));
}

static char no_text[] = "";
static struct per_step_row no_costs = {.place = no_text, .name = no_text};
static const struct difference_row no_difference = {.after = &no_costs};

static void put_difference_rows(struct report *report, const struct report_job *job, const struct kind_rows *rows)
{
	bool all = shows_all(report, job);
	size_t most = rows_shown(report, job, rows->list.count), shown = 0;
	struct table table = {0};
	AUTO_FREE char *name = rank_name(&job->ranks->rows.items[job->lines->late]);
	AUTO_FREE char *title = xasprintf("What %s does unlike the other ranks", name);

	report_title(report, "merge_difference", title,
		     job->lines->has_steps ? "per step, beside the median of the others"
					   : "in all, beside the median of the others");
	for (size_t i = 0; i < rows->list.count && shown < most; i++) {
		const struct kind_row *row = &rows->list.items[i];

		if (!all && (!is_cause(row) || !is_large(job, &row->of->cost)))
			continue;
		add_difference(&table, job, row);
		shown++;
	}
	if (!shown) { /* programs get the columns */
		add_difference(&table, job, &(struct kind_row){.kind = KIND_WAIT, .of = &no_difference});
		table_drop_rows(&table);
	}
	if (shown || report->writer)
		report_table(report, &table);
	else
		table_free(&table);
	if (!shown)
		report_line(report, "  nothing that is recorded, by more than chance and a hundredth of a step");
}

static void put_difference(struct report *report, const struct report_job *job)
{
	struct kind_rows rows = {0};

	if (job->lines->late == SIZE_MAX)
		return;
	collect_kind(&rows, KIND_COMPUTATION, &job->lines->differences.computation);
	/* these are not known of a GPU of several */
	if (!ranks_have_gpus(job->ranks)) {
		collect_kind(&rows, KIND_IDLE, &job->lines->differences.losses);
		collect_kind(&rows, KIND_WAIT, &job->lines->differences.waits);
	}
	array_sort(&rows.list, by_change);
	put_difference_rows(report, job, &rows);
	array_free(&rows.list);
}

void report_job_lines(struct report *report, const struct report_job *job)
{
	if (!job->lines->is_alike && !shows_all(report, job))
		return;
	put_difference(report, job);
	put_spreads(report, job, &job->lines->lines, &line_table);
	if (job->lines->layers.list.count || report->writer)
		put_spreads(report, job, &job->lines->layers, &layer_table);
}
