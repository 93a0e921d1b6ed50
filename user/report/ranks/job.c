/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/ranks/rank_cells.h"

static int64_t rank_at(const struct report_job *job, size_t row)
{
	return job->ranks->rows.items[row].of->rank;
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
		table_add_ms(&table, step->fastest_ns);
		table_add_ms(&table, step->median_ns);
		table_add_ms(&table, step->slowest_ns);
		table_add_ms(&table, step->slowest_ns - step->fastest_ns);
		table_add_rank(&table, rank_at(job, step->fastest));
		table_add_rank(&table, rank_at(job, step->slowest));
		if (step->late == SIZE_MAX)
			table_add_unknown(&table, "-");
		else
			table_add_rank(&table, rank_at(job, step->late));
		table_add_ms(&table, step->late_ns);
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

		table_add_rank(&table, rank->of->rank);
		table_add_count(&table, row->seen);
		table_add_count(&table, row->compared);
		table_add_ms_avg(&table, row->compared ? (double)row->wall_ns / (double)row->compared : NAN);
		table_add_count(&table, row->fastest);
		table_add_count(&table, row->slowest);
		table_add_count(&table, row->late);
		table_add_ms(&table, row->late_ns);
		table_add(&table, job->ranks->logs.items[rank->log].host);
		table_add_id(&table, rank->of->pid);
		table_add(&table, job->ranks->logs.items[rank->log].name);
	}
	report_table(report, &table);
}

DEFINE_ORDER(by_ns, uint64_t, least_first(*a, *b))

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

/* The step in which ranks are furthest apart; there is one. */
static const struct step_spread *find_widest(const struct rank_steps *steps)
{
	const struct step_spread *widest = steps->list.items;

	for (size_t i = 1; i < steps->list.count; i++) {
		const struct step_spread *step = &steps->list.items[i];

		if (step->slowest_ns - step->fastest_ns > widest->slowest_ns - widest->fastest_ns)
			widest = step;
	}
	return widest;
}

/* "; latest was rank 3 in 14": late by most time in most steps; "": none was.  The caller frees it. */
static char *latest_text(const struct report_job *job)
{
	const struct rank_steps_row *rows = job->steps->rows;
	size_t latest = 0;
	char *name, *text;

	for (size_t i = 1; i < job->ranks->rows.count; i++)
		if (rows[i].late > rows[latest].late)
			latest = i;
	if (!rows[latest].late)
		return xstrdup("");
	name = rank_name(&job->ranks->rows.items[latest]);
	text = xasprintf("; latest was %s in %s", name, number_count(rows[latest].late).text);
	free(name);
	return text;
}

void report_job_steps_line(struct report *report, const struct report_job *job)
{
	const struct step_spread *widest;
	uint64_t took_ns, apart_ns;
	char *latest;

	if (job->steps->list.count) {
		find_medians(job->steps, &took_ns, &apart_ns);
		widest = find_widest(job->steps);
		latest = latest_text(job);
		report_line(report,
			    "Steps: %s, %s in the median; from the fastest rank to the slowest %s in the median, %s at "
			    "most (step %" PRId64 ")%s",
			    number_count(job->steps->list.count).text, number_time(took_ns).text,
			    number_time(apart_ns).text, number_time(widest->slowest_ns - widest->fastest_ns).text,
			    widest->number, latest);
		free(latest);
	}
	put_other_numbers(report, job);
}

void report_job_steps(struct report *report, const struct report_job *job)
{
	if (!report->writer && !job->is_whole)
		return;
	put_steps(report, job);
	put_ranks_of_steps(report, job);
}
