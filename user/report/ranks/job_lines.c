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

static void add_spread(struct table *table, const struct report_job *job, const struct line_spread *spread,
		       bool has_place)
{
	const struct difference *most = &spread->most;

	table_add_ms_avg(table, spread->least_ns);
	table_add_ms_avg(table, most->before);
	table_add_ms_avg(table, most->after);
	table_add_ms_avg(table, most->after - most->before);
	table_add_value(table, number_tenths(difference_percent(most)), difference_percent(most));
	table_add_value(table, (struct number){""}, most->noise);
	table_add_rank(table, job->ranks->rows.items[spread->least_rank].of->rank);
	table_add_rank(table, job->ranks->rows.items[spread->most_rank].of->rank);
	if (has_place)
		table_add(table, spread->place);
	table_add(table, spread->name);
	table_add(table, difference_is_seen(most) ? "yes" : "no");
}

#define SPREAD_COLUMNS                                                                                                 \
	COLUMN_NUMBER("least ms", "least_ns", UNIT_NS_AVG), COLUMN_NUMBER("median", "median_ns", UNIT_NS_AVG),         \
		COLUMN_NUMBER("most", "most_ns", UNIT_NS_AVG), COLUMN_NUMBER("more", "more_ns", UNIT_NS_AVG),          \
		COLUMN_NUMBER("%", "more_percent", UNIT_PERCENT), COLUMN_DATA("noise_ns", UNIT_NS_AVG),                \
		COLUMN_NUMBER("least on", "least_rank", UNIT_ID), COLUMN_NUMBER("most on", "most_rank", UNIT_ID)

/* has_place: they are of lines. */
static void put_spreads(struct report *report, const struct report_job *job, const struct line_spreads *spreads,
			bool has_place)
{
	static const struct column of_lines[] = {
		SPREAD_COLUMNS,
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("differs", UNIT_TEXT),
		COLUMN_END,
	};
	static const struct column of_layers[] = {
		SPREAD_COLUMNS,
		COLUMN_NAME("layer", "layer", TEXT_TRUNCATE_START),
		COLUMN_DATA("differs", UNIT_TEXT),
		COLUMN_END,
	};
	size_t count = spreads->list.count, shown;
	struct table table;

	for (shown = 0; !shows_all(report, job) && shown < count; shown++)
		if (!is_large(job, &spreads->list.items[shown].most))
			break;
	shown = rows_shown(report, job, shows_all(report, job) ? count : shown);
	if (!shown && !shows_all(report, job))
		return;
	report_title(report, has_place ? "merge_lines" : "merge_layers",
		     has_place ? "Computation by line, on the ranks with least and most"
			       : "Computation by layer, on the ranks with least and most",
		     job->lines->has_steps ? "per step; more: than the median rank"
					   : "in all; more: than the median rank");
	table_begin(&table, has_place ? of_lines : of_layers);
	for (size_t i = 0; i < shown; i++)
		add_spread(&table, job, &spreads->list.items[i], has_place);
	report_table(report, &table);
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
	char *shown;

	if (row->kind == KIND_IDLE)
		shown = xasprintf("idle: %s", either->api == NONE ? why_short((enum why_cause)either->what)
								  : api_name((uint16_t)either->api));
	else
		shown = row->kind == KIND_WAIT ? xasprintf("CPU waits: %s", api_name((uint16_t)either->api))
					       : xstrdup("computation");
	table_add_named(table, shown, keys[row->kind]);
	table_add_text(table, row->kind == KIND_IDLE ? why_cause_name((enum why_cause)either->what) : NULL, "");
	table_add_text(table, either->api != NONE ? api_name((uint16_t)either->api) : NULL, "");
	free(shown);
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
	table_add_ms_avg(table, cost->before);
	table_add_ms_avg(table, cost->after);
	table_add_value(table, signed_ms(cost->after - cost->before), cost->after - cost->before);
	table_add_value(table, noise, cost->noise);
	add_kind(table, row);
	table_add(table, either_of(row)->place);
	table_add(table, either_of(row)->name);
	table_add(table, difference_is_seen(cost) ? "yes" : "no");
	table_add_rank(table, job->ranks->rows.items[job->lines->late].of->rank);
}

static void put_difference_rows(struct report *report, const struct report_job *job, const struct kind_rows *rows)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("median ms", "median_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("this rank", "rank_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("change", "change_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("noise", "noise_ns", UNIT_NS_AVG),
		COLUMN_NAME("what", "what", TEXT_TRUNCATE_END),
		COLUMN_DATA("cause", UNIT_TEXT),
		COLUMN_DATA("call", UNIT_TEXT),
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("differs", UNIT_TEXT),
		COLUMN_DATA("rank", UNIT_ID),
		COLUMN_END,
	};
	bool all = shows_all(report, job);
	size_t most = rows_shown(report, job, rows->list.count), shown = 0;
	struct table table;
	char *name = rank_name(&job->ranks->rows.items[job->lines->late]);
	char *title = xasprintf("What %s does unlike the other ranks", name);

	report_title(report, "merge_difference", title,
		     job->lines->has_steps ? "per step, beside the median of the others"
					   : "in all, beside the median of the others");
	table_begin(&table, columns);
	for (size_t i = 0; i < rows->list.count && shown < most; i++) {
		const struct kind_row *row = &rows->list.items[i];

		if (!all && (!is_cause(row) || !is_large(job, &row->of->cost)))
			continue;
		add_difference(&table, job, row);
		shown++;
	}
	if (shown || report->writer)
		report_table(report, &table);
	else
		table_free(&table);
	if (!shown)
		report_line(report, "  nothing that is recorded, by more than chance and a hundredth of a step");
	free(title);
	free(name);
}

static void put_difference(struct report *report, const struct report_job *job)
{
	struct kind_rows rows = {0};

	if (job->lines->late == SIZE_MAX)
		return;
	collect_kind(&rows, KIND_COMPUTATION, &job->lines->differences.computation);
	collect_kind(&rows, KIND_IDLE, &job->lines->differences.losses);
	collect_kind(&rows, KIND_WAIT, &job->lines->differences.waits);
	array_sort(&rows.list, by_change);
	put_difference_rows(report, job, &rows);
	array_free(&rows.list);
}

void report_job_lines(struct report *report, const struct report_job *job)
{
	if (!job->lines->is_alike && !shows_all(report, job))
		return;
	put_difference(report, job);
	put_spreads(report, job, &job->lines->lines, true);
	if (job->lines->layers.list.count || report->writer)
		put_spreads(report, job, &job->lines->layers, false);
}
