/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/ranks/rank_cells.h"

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void add_step(struct report *report, struct table *table, const void *item)
{
	const struct step_spread *step = item;
	const struct report_job *job = table->context;
	bool is_any_late = step->late != SIZE_MAX;

	table_add_signed(table, "step", "step", UNIT_NUMBER, step->number);
	table_add_count(table, "ranks", "ranks", step->ranks);
	table_add_ms(table, "fastest ms", "fastest_ns", step->fastest_ns);
	table_add_ms(table, "median ms", "median_ns", step->median_ns);
	table_add_ms(table, "slowest ms", "slowest_ns", step->slowest_ns);
	table_add_ms(table, "apart ms", "apart_ns", step->slowest_ns - step->fastest_ns);
	table_add_rank(table, "fastest", "fastest_rank", job_rank_at(job, step->fastest));
	table_add_rank(table, "slowest", "slowest_rank", job_rank_at(job, step->slowest));
	table_add_rank(table, "late most", "late_rank", job_rank_at(job, step->late));
	table_unset_unless(table, is_any_late, "-");
	table_add_ms(table, "late ms", "late_ns", step->late_ns);
}

static const struct row_table step_table = {
	.id = "merge_steps",
	.title = "Steps on all ranks",
	.remark = "wall time; late: to collectives launched in the step",
	.add_row = add_step,
};

static void add_rank_of_steps(struct report *report, struct table *table, const void *item)
{
	const struct rank_row *rank = item;
	const struct report_job *job = table->context;
	const struct rank_steps_row none = {0}, *rows = job->steps->rows;
	const struct rank_steps_row *row = job->ranks->rows.count ? &rows[rank - job->ranks->rows.items] : &none;
	const struct rank_log *log = &job->ranks->logs.items[rank->log];

	table_add_rank_gpu(table, ranks_have_gpus(job->ranks), rank->of->rank, rank->of->device);
	table_add_count(table, "steps", "steps", row->seen);
	table_add_count(table, "compared", "compared", row->compared);
	table_add_ms_avg(table, "avg ms", "wall_avg_ns",
			 row->compared ? (double)row->wall_ns / (double)row->compared : NAN);
	table_add_count(table, "fastest in", "fastest", row->fastest);
	table_add_count(table, "slowest in", "slowest", row->slowest);
	table_add_count(table, "late most in", "late_most", row->late);
	table_add_ms(table, "late ms", "late_ns", row->late_ns);
	table_add_name(table, "host", "host", TEXT_TRUNCATE_END, log->host);
	table_add_id(table, NULL, "pid", rank->of->pid);
	table_add_word(table, "log", log->name);
}

static const struct row_table rank_table = {
	.id = "merge_step_ranks",
	.title = "Ranks in these steps",
	.remark = "in how many each was the fastest, the slowest, the one that was late by most",
	.add_row = add_rank_of_steps,
};

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
	AUTO_FREE char *of_fewest = NULL, *of_most = NULL;

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
	const struct row_list ranks = list_of_ranks(job->ranks, job);

	if (!report->writer && !job->is_whole)
		return;
	report_rows(report, &step_table,
		    &(struct row_list){
			    ROWS_OF(&job->steps->list),
			    .none = &(struct step_spread){.fastest = SIZE_MAX, .slowest = SIZE_MAX, .late = SIZE_MAX},
			    .context = job});
	report_rows(report, &rank_table, &ranks);
}
