/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/why/why_words.h"

#define SHORT_ROWS 5u	 /* of a table of a page that has not all */
#define SHOWN_SHARE 0.01 /* of a step: a page leaves out lines that differ by less */

static const struct number no_text = {""};

static void add_rank(struct table *table, const struct ranks *ranks, size_t row)
{
	if (row == SIZE_MAX || ranks->rows.items[row].of->rank < 0)
		table_add_unknown(table, row == SIZE_MAX ? "-" : "?");
	else
		table_add_id(table, (uint64_t)ranks->rows.items[row].of->rank);
}

static void add_ms(struct table *table, uint64_t ns)
{
	table_add_integer(table, number_tenths((double)ns / 1e6), ns);
}

static void add_ms_avg(struct table *table, double ns)
{
	table_add_value(table, number_tenths(ns / 1e6), ns);
}

static bool shows_all(const struct report *report, const struct report_job *job)
{
	return report->writer || job->is_whole;
}

static size_t rows_shown(const struct report *report, const struct report_job *job, size_t count)
{
	size_t most = shows_all(report, job) ? report->rows : SHORT_ROWS;

	return count < most ? count : most;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void put_steps(struct report *report, const struct report_job *job)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("step", "step", UNIT_NUMBER),
		COLUMN_NUMBER("ranks", "ranks", UNIT_COUNT),
		COLUMN_NUMBER("fastest ms", "fastest_ns", UNIT_NS),
		COLUMN_NUMBER("median ms", "median_ns", UNIT_NS),
		COLUMN_NUMBER("slowest ms", "slowest_ns", UNIT_NS),
		COLUMN_NUMBER("apart ms", "apart_ns", UNIT_NS),
		COLUMN_NUMBER("fastest", "fastest_rank", UNIT_ID),
		COLUMN_NUMBER("slowest", "slowest_rank", UNIT_ID),
		COLUMN_NUMBER("late most", "late_rank", UNIT_ID),
		COLUMN_NUMBER("late ms", "late_ns", UNIT_NS),
		COLUMN_END,
	};
	size_t shown = report_shown(report, job->steps->list.count);
	struct table table;

	report_title(report, "merge_steps", "Steps on all ranks",
		     "wall time; late: to collectives launched in the step");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct step_spread *step = &job->steps->list.items[i];

		table_add_signed(&table, step->number);
		table_add_count(&table, step->ranks);
		add_ms(&table, step->fastest_ns);
		add_ms(&table, step->median_ns);
		add_ms(&table, step->slowest_ns);
		add_ms(&table, step->slowest_ns - step->fastest_ns);
		add_rank(&table, job->ranks, step->fastest);
		add_rank(&table, job->ranks, step->slowest);
		add_rank(&table, job->ranks, step->late);
		add_ms(&table, step->late_ns);
	}
	report_table(report, &table);
}

static void put_ranks_of_steps(struct report *report, const struct report_job *job)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		COLUMN_NUMBER("steps", "steps", UNIT_COUNT),
		COLUMN_NUMBER("compared", "compared", UNIT_COUNT),
		COLUMN_NUMBER("avg ms", "wall_avg_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("fastest in", "fastest", UNIT_COUNT),
		COLUMN_NUMBER("slowest in", "slowest", UNIT_COUNT),
		COLUMN_NUMBER("late most in", "late_most", UNIT_COUNT),
		COLUMN_NUMBER("late ms", "late_ns", UNIT_NS),
		COLUMN_NAME("host", "host", TEXT_TRUNCATE_END),
		COLUMN_DATA("pid", UNIT_ID),
		COLUMN_DATA("log", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "merge_step_ranks", "Ranks in these steps",
		     "in how many each was the fastest, the slowest, "
		     "the one that was late by most");
	table_begin(&table, columns);
	for (size_t i = 0; i < job->ranks->rows.count; i++) {
		const struct rank_steps_row *row = &job->steps->rows[i];
		const struct rank_row *rank = &job->ranks->rows.items[i];

		add_rank(&table, job->ranks, i);
		table_add_count(&table, row->seen);
		table_add_count(&table, row->compared);
		if (row->compared)
			add_ms_avg(&table, (double)row->wall_ns / (double)row->compared);
		else
			table_add_unknown(&table, "-");
		table_add_count(&table, row->fastest);
		table_add_count(&table, row->slowest);
		table_add_count(&table, row->late);
		add_ms(&table, row->late_ns);
		table_add(&table, job->ranks->logs.items[rank->log].host);
		table_add_id(&table, rank->of->pid);
		table_add(&table, job->ranks->logs.items[rank->log].name);
	}
	report_table(report, &table);
}

static int by_ns(const void *left, const void *right)
{
	return least_first(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* Lower medians of what steps took, and of how far ranks were apart in them. */
static void find_medians(const struct rank_steps *steps, uint64_t *took_ns, uint64_t *apart_ns)
{
	size_t count = steps->list.count;
	uint64_t *took = xcalloc(2 * count, sizeof(*took)), *apart = took + count;

	for (size_t i = 0; i < count; i++) {
		took[i] = steps->list.items[i].median_ns;
		apart[i] = steps->list.items[i].slowest_ns - steps->list.items[i].fastest_ns;
	}
	qsort(took, count, sizeof(*took), by_ns);
	qsort(apart, count, sizeof(*apart), by_ns);
	*took_ns = took[(count - 1) / 2];
	*apart_ns = apart[(count - 1) / 2];
	free(took);
}

/* Of the compared ranks those with fewest and most steps; false: none is compared. */
static bool find_extremes(const struct report_job *job, size_t *fewest, size_t *most)
{
	bool found = false;

	for (size_t i = 0; i < job->ranks->rows.count; i++) {
		const struct rank_steps_row *rows = job->steps->rows;

		if (!rows[i].is_compared)
			continue;
		if (!found)
			*fewest = *most = i;
		found = true;
		*fewest = rows[i].seen < rows[*fewest].seen ? i : *fewest;
		*most = rows[i].seen > rows[*most].seen ? i : *most;
	}
	return found;
}

static void put_other_numbers(struct report *report, const struct report_job *job)
{
	const struct rank_steps_row *rows = job->steps->rows;
	size_t fewest = 0, most = 0, unmatched = 0;
	char *of_fewest, *of_most;

	for (size_t i = 0; i < job->ranks->rows.count; i++)
		unmatched += rows[i].seen && !rows[i].is_compared;
	if (unmatched)
		report_line(report,
			    "  steps of %s ranks are not compared: they launched no collective that others have",
			    number_count(unmatched).text);
	if (!find_extremes(job, &fewest, &most) || rows[fewest].seen == rows[most].seen)
		return;
	of_fewest = rank_name(&job->ranks->rows.items[fewest]);
	of_most = rank_name(&job->ranks->rows.items[most]);
	report_line(report, "  the ranks have other numbers of steps: %s has %s, %s has %s", of_fewest,
		    number_count(rows[fewest].seen).text, of_most, number_count(rows[most].seen).text);
	free(of_fewest);
	free(of_most);
}

void report_job_steps_line(struct report *report, const struct report_job *job)
{
	const struct step_spread *widest = NULL;
	uint64_t took_ns, apart_ns;
	size_t late = SIZE_MAX;
	char *name;

	if (job->steps->list.count) {
		find_medians(job->steps, &took_ns, &apart_ns);
		for (size_t i = 0; i < job->steps->list.count; i++) {
			const struct step_spread *step = &job->steps->list.items[i];

			if (!widest || step->slowest_ns - step->fastest_ns > widest->slowest_ns - widest->fastest_ns)
				widest = step;
		}
		for (size_t i = 0; i < job->ranks->rows.count; i++)
			if (job->steps->rows[i].late &&
			    (late == SIZE_MAX || job->steps->rows[i].late > job->steps->rows[late].late))
				late = i;
		name = late == SIZE_MAX ? NULL : rank_name(&job->ranks->rows.items[late]);
		report_line(report,
			    "Steps: %s, %s in the median; from the fastest rank to the slowest %s in the median, %s at "
			    "most (step %" PRId64 ")%s%s%s%s",
			    number_count(job->steps->list.count).text, number_time(took_ns).text,
			    number_time(apart_ns).text, number_time(widest->slowest_ns - widest->fastest_ns).text,
			    widest->number, name ? "; latest was " : "", name ? name : "", name ? " in " : "",
			    name ? number_count(job->steps->rows[late].late).text : "");
		free(name);
	}
	put_other_numbers(report, job);
}

/* ---- computation by line ----------------------------------------------------------------------------------------- */

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

static void add_line_spread(struct table *table, const struct report_job *job, const struct line_spread *line)
{
	const struct difference *most = &line->most;

	add_ms_avg(table, line->least_ns);
	add_ms_avg(table, most->before);
	add_ms_avg(table, most->after);
	add_ms_avg(table, most->after - most->before);
	if (isinf(difference_percent(most)))
		table_add_unknown(table, "-");
	else
		table_add_value(table, number_tenths(difference_percent(most)), difference_percent(most));
	table_add_value(table, no_text, most->noise);
	add_rank(table, job->ranks, line->least_rank);
	add_rank(table, job->ranks, line->most_rank);
	table_add(table, line->place);
	table_add(table, line->name);
	table_add(table, difference_is_seen(most) ? "yes" : "no");
}

static void put_lines(struct report *report, const struct report_job *job)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("least ms", "least_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("median", "median_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("most", "most_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("more", "more_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("%", "more_percent", UNIT_PERCENT),
		COLUMN_DATA("noise_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("least on", "least_rank", UNIT_ID),
		COLUMN_NUMBER("most on", "most_rank", UNIT_ID),
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("differs", UNIT_TEXT),
		COLUMN_END,
	};
	size_t count = job->lines->lines.count, shown;
	struct table table;

	for (shown = 0; !shows_all(report, job) && shown < count; shown++)
		if (!is_large(job, &job->lines->lines.items[shown].most))
			break;
	shown = rows_shown(report, job, shows_all(report, job) ? count : shown);
	if (!shown && !shows_all(report, job))
		return;
	report_title(report, "merge_lines", "Computation by line, on the ranks with least and most",
		     job->lines->has_steps ? "per step; more: than the median rank"
					   : "in all; more: than the median rank");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_line_spread(&table, job, &job->lines->lines.items[i]);
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

static int by_change(const void *left, const void *right)
{
	const struct kind_row *a = left, *b = right;
	double of_a = difference_change(&a->of->cost), of_b = difference_change(&b->of->cost);

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) : (a->of > b->of) - (a->of < b->of);
}

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
	if (row->kind == KIND_IDLE)
		table_add(table, why_cause_name((enum why_cause)either->what));
	else
		table_add_unknown(table, "");
	if (either->api == NONE)
		table_add_unknown(table, "");
	else
		table_add(table, api_name((uint16_t)either->api));
	free(shown);
}

static void add_difference(struct table *table, const struct report_job *job, const struct kind_row *row)
{
	const struct difference *cost = &row->of->cost;

	add_ms_avg(table, cost->before);
	add_ms_avg(table, cost->after);
	add_ms_avg(table, cost->after - cost->before);
	table_add_value(table, isnan(cost->noise) ? (struct number){"?"} : number_tenths(cost->noise / 1e6),
			cost->noise);
	add_kind(table, row);
	table_add(table, either_of(row)->place);
	table_add(table, either_of(row)->name);
	table_add(table, difference_is_seen(cost) ? "yes" : "no");
	add_rank(table, job->ranks, job->lines->late);
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
	if (rows.list.count)
		qsort(rows.list.items, rows.list.count, sizeof(*rows.list.items), by_change);
	put_difference_rows(report, job, &rows);
	array_free(&rows.list);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* "0-3, 8": who was seen in it; numbers that are not known are a "?". */
static char *members_of(const struct collective_split *split, const struct split_communicator *communicator)
{
	char *text = xstrdup("");
	int64_t from = -1, to = -1;
	bool has_unknown = false;

	/* split.ranks, and so the members, are in the order of their numbers, unknown ones last */
	for (size_t i = 0; i <= communicator->ranks.list.count; i++) {
		bool is_end = i == communicator->ranks.list.count;
		int64_t rank = is_end ? -1 : split->ranks.items[communicator->ranks.list.items[i]].rank;

		has_unknown |= !is_end && rank < 0;
		if (rank >= 0 && from >= 0 && rank == to + 1) {
			to = rank;
			continue;
		}
		if (from >= 0)
			text = xjoin(text, ",",
				     to > from ? xasprintf("%" PRId64 "-%" PRId64, from, to)
					       : xasprintf("%" PRId64, from));
		from = to = rank;
	}
	return has_unknown ? xjoin(text, ",", xstrdup("?")) : text;
}

static void add_communicator(struct table *table, const struct collective_split *split,
			     const struct split_communicator *row)
{
	const struct kept_communicator *kept =
		row->of == NONE ? NULL : &split->logs[row->log].communicators.items[row->of];
	char *members = members_of(split, row);

	table_add(table, members);
	if (kept && kept->ranks > 0)
		table_add_count(table, (uint64_t)kept->ranks);
	else
		table_add_unknown(table, "-");
	table_add_count(table, row->most);
	if (row->of_unknown_bytes == row->sum.count)
		table_add_unknown(table, "-");
	else
		table_add_bytes(table, row->bytes);
	table_add_rate(table, (double)row->rated_bytes, row->rated_bytes ? row->rated_ns : 0);
	add_ms(table, row->sum.ns);
	add_ms(table, row->sum.waiting_ns);
	add_ms(table, row->sum.transfer_ns);
	add_ms(table, row->sum.unknown_ns);
	if (row->sum.dispatched)
		add_ms(table, row->sum.dispatch_ns);
	else
		table_add_unknown(table, "-");
	if (kept)
		table_add(table, split->logs[row->log].texts.list.items[kept->name]);
	else
		table_add_unknown(table, "(not known)");
	table_add_integer(table, no_text, row->sum.count);
	table_add_integer(table, no_text, row->of_unknown_bytes);
	free(members);
}

static void put_communicators(struct report *report, const struct report_job *job)
{
	static const struct column columns[] = {
		COLUMN_NAME("ranks", "ranks", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("of", "size", UNIT_COUNT),
		COLUMN_NUMBER("collectives", "collectives", UNIT_COUNT),
		COLUMN_NUMBER("bytes", "bytes", UNIT_BYTES),
		COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S),
		COLUMN_NUMBER("ms", "ns", UNIT_NS),
		COLUMN_NUMBER("waiting", "waiting_ns", UNIT_NS),
		COLUMN_NUMBER("transfer", "transfer_ns", UNIT_NS),
		COLUMN_NUMBER("unknown", "unknown_ns", UNIT_NS),
		COLUMN_NUMBER("dispatch", "dispatch_ns", UNIT_NS),
		COLUMN_NAME("communicator", "communicator", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("kernels", UNIT_COUNT),
		COLUMN_DATA("kernels_of_unknown_bytes", UNIT_COUNT),
		COLUMN_END,
	};
	size_t shown = rows_shown(report, job, job->split->communicators.count);
	struct table table;

	if (!shows_all(report, job) && job->split->communicators.count < 2)
		return;
	report_title(report, "merge_communicators", "Communicators",
		     "all ranks together; GB/s: of their bytes, while they transferred");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_communicator(&table, job->split, &job->split->communicators.items[i]);
	report_table(report, &table);
	if (job->split->communicators.count > shown)
		report_line(report, "  ... and %s more", number_count(job->split->communicators.count - shown).text);
}

void report_job_tables(struct report *report, const struct report_job *job)
{
	put_difference(report, job);
	put_lines(report, job);
	put_communicators(report, job);
	if (!shows_all(report, job))
		return;
	put_steps(report, job);
	put_ranks_of_steps(report, job);
}
