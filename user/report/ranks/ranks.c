/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/ranks.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "report/page/parts.h"
#include "report/ranks/job.h"
#include "report/ranks/rank_cells.h"
#include "report/ranks/rank_notes.h"
#include "report/ranks/rank_verdict.h"
#include "report/ranks/split.h"

#define WIDTH_DEFAULT 100u
#define ROWS_DEFAULT 10u
#define ERROR_LARGE_NS 1000000u /* with a larger error, clocks cannot show lateness of milliseconds */

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static struct number drift_of(const struct rank_clock *clock)
{
	struct number number = {"-"};

	if (clock->kind == RANK_CLOCK_FITTED && clock->fit.has_drift)
		snprintf(number.text, sizeof(number.text), "%+.3f", clock->fit.line.drift * 1e6);
	return number;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static void add_clock(struct report *report, struct table *table, const void *item)
{
	const struct rank_log *of = item;
	const struct ranks *ranks = table->context;
	const struct rank_clock *clock = &ranks->clocks.items[of->clock];
	size_t log = (size_t)(of - ranks->logs.items);
	bool is_first = clock->kind == RANK_CLOCK_FIRST, is_fitted = clock->kind == RANK_CLOCK_FITTED;
	double offset = (double)clock->fit.line.offset_ns;
	struct number ahead = {"-"};

	if (!is_first)
		snprintf(ahead.text, sizeof(ahead.text), "%+.3f", offset / 1e6);
	table_add_name(table, "host", "host", TEXT_TRUNCATE_END, of->host);
	table_add_name(table, "clock by", "aligned_by", TEXT_TRUNCATE_END, rank_clock_word(ranks, log));
	table_add_value(table, "ahead ms", "offset_ns", UNIT_NS_AVG, ahead, is_first ? 0 : offset);
	table_add_value(table, "drift us/s", "drift_ppm", UNIT_NUMBER, drift_of(clock), clock->fit.line.drift * 1e6);
	table_unset_unless(table, is_fitted && clock->fit.has_drift, "-");
	table_add_integer(table, "error us", "error_ns", UNIT_NS, number_tenths((double)clock->fit.error_ns / 1e3),
			  clock->fit.error_ns);
	table_add_integer(table, "95 %", "error_most_ns", UNIT_NS,
			  number_tenths((double)clock->fit.error_most_ns / 1e3), clock->fit.error_most_ns);
	table_add_count(table, "used", "collectives_used", clock->fit.used);
	table_add_count(table, "of", "collectives_in_common", clock->fit.pairs);
	table_unset_last(table, 4, is_fitted, "-");
	table_add_name(table, "log", "log", TEXT_TRUNCATE_START, of->name);
	/* after the first of all */
	table_add_data(table, "began_after_ns", UNIT_NS, rank_log_begun(ranks, log) - ranks->begin_ns);
	table_add_word(table, "cut_short", of->is_cut ? "yes" : "no");
}

static const struct row_table clock_table = {
	.id = "merge_logs",
	.title = "Logs and their clocks",
	.remark = "beside that of the first log",
	.add_row = add_clock,
};

/* When a log ends, on the clock of the first. */
static uint64_t log_ended(const struct ranks *ranks, size_t log)
{
	return clock_line_at(rank_log_clock(ranks, log), ranks->logs.items[log].end_ns);
}

static void put_log_notes(struct report *report, const struct ranks *ranks)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < ranks->logs.count; i++)
		last_ns = later_time(last_ns, log_ended(ranks, i));
	for (size_t i = 0; i < ranks->logs.count; i++) {
		const struct rank_log *log = &ranks->logs.items[i];

		if (log->is_cut)
			report_line(
				report,
				"  %s is cut short: it ends %s before the last log; its gputrace was killed or still "
				"records, or the file is not whole",
				log->name, number_time(last_ns - log_ended(ranks, i)).text);
		if (log->clock_steps)
			report_line(
				report,
				"  the wall clock was set while %s was recorded (%s times): its GPU times are good to "
				"%s",
				log->name, number_count(log->clock_steps).text, number_time(log->clock_error_ns).text);
	}
}

static void put_clock_notes(struct report *report, const struct ranks *ranks)
{
	array_each (clock, &ranks->clocks) {
		const char *name = ranks->logs.items[clock->log].name;

		if (clock->kind == RANK_CLOCK_WALL)
			report_line(report,
				    "  %s is not aligned: it stands where its wall clock says, which may be off", name);
		if (clock->wall_ahead_ns)
			report_line(report,
				    "  by the collectives the wall clock of %s is %.1f minutes %s that of the first "
				    "log: one "
				    "is set wrong, or they are of different jobs",
				    name, fabs(clock->wall_ahead_ns) / 60e9,
				    clock->wall_ahead_ns > 0 ? "ahead of" : "behind");
		if (clock->kind == RANK_CLOCK_FITTED && clock->fit.error_ns > ERROR_LARGE_NS)
			report_line(report,
				    "  the collectives of %s do not end together: its clock is known to %s at best",
				    name, number_time(clock->fit.error_ns).text);
		if (clock->kind == RANK_CLOCK_FITTED && !clock->fit.has_drift)
			report_line(report,
				    "  too few collectives, or too close ones, to say how much faster the clock of %s "
				    "runs",
				    name);
	}
}

/* A file of another tool begins with its first event. */
static void put_span(struct report *report, const struct ranks *ranks)
{
	struct ranks_span span = ranks_span(ranks);
	AUTO_FREE char *by = NULL;

	for (size_t i = 0; i < ranks->logs.count; i++)
		if (ranks->logs.items[i].of_other_tool || ranks->logs.count < 2)
			return;
	if (span.by == RANKS_SAME_BOOT)
		by = xstrdup("by the one clock that they have (same boot)");
	else if (span.by == RANKS_BY_COLLECTIVES)
		by = xasprintf("by their collectives, good to %s", number_time(span.error_ns).text);
	else if (span.error_ns == UINT64_MAX)
		by = xstrdup("by their wall clocks, whose error is not known");
	else
		by = xasprintf("by their wall clocks, whose error is at most %s", number_time(span.error_ns).text);
	report_line(report, "  the recordings began %s apart and ended %s apart, %s", number_time(span.begun_ns).text,
		    number_time(span.ended_ns).text, by);
}

static void put_clocks(struct report *report, const struct ranks *ranks)
{
	report_rows(report, &clock_table, &(struct row_list){ROWS_OF(&ranks->logs), .context = ranks, .has_all = true});
	put_span(report, ranks);
	put_log_notes(report, ranks);
	put_clock_notes(report, ranks);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void add_onset(struct table *table, const struct ranks *ranks, const struct rank_onset *onset)
{
	const struct number no_text = {""};

	table_add_data(table, "later_after_ns", UNIT_NS, onset->from_ns - ranks->compared_from_ns);
	table_add_value(table, NULL, "later_by_ns", UNIT_NS_AVG, no_text, onset->more_ns);
	table_add_value(table, NULL, "later_error_ns", UNIT_NS_AVG, no_text, onset->error_ns);
	table_add_data(table, "compared_before", UNIT_COUNT, onset->before);
	table_add_data(table, "late_before", UNIT_COUNT, onset->late_before);
	table_unset_last(table, 5, onset->is_known, "");
}

static void add_rank(struct report *report, struct table *table, const void *item)
{
	const struct rank_row *row = item;
	const struct ranks *ranks = table->context;
	const struct rank_log *log = &ranks->logs.items[row->log];
	uint64_t exit_ns = row->of->exit_ns;

	table_add_rank_gpu(table, ranks_have_gpus(ranks), row->of->rank, row->of->device);
	table_add_count(table, "compared", "compared", row->compared);
	table_add_count(table, "late", "late", row->late);
	table_add_ms(table, "ms in all", "late_ns", row->late_ns);
	table_add_ms(table, "at most", "late_most_ns", row->most_ns);
	table_add_ms(table, "waited ms", "waited_ns", row->waited_ns);
	table_add_name(table, "host", "host", TEXT_TRUNCATE_END, log->host);
	table_add_name(table, "process", "process", TEXT_TRUNCATE_MIDDLE, row->of->process_name);
	table_add_id(table, "pid", "pid", row->of->pid);
	table_add_word(table, "log", log->name);
	table_add_data(table, "not_compared", UNIT_COUNT,
		       row->of->repeated + row->of->left_out + row->of->unnumbered + row->of->after_step_back);
	table_add_data(table, "ended_after_ns", UNIT_NS,
		       clock_line_at(rank_log_clock(ranks, row->log), exit_ns) - ranks->begin_ns);
	table_unset_unless(table, exit_ns, "");
	add_onset(table, ranks, &row->onset);
}

static const struct row_table rank_table = {
	.id = "merge_ranks",
	.title = "Ranks",
	.remark = "late: last to a collective, after the median rank; waited: for the last",
	.add_row = add_rank,
};

static void put_ranks(struct report *report, const struct ranks *ranks)
{
	const struct row_list rows = list_of_ranks(ranks, ranks);
	uint64_t left_out = 0, unnumbered = 0, by_step = 0;

	report_rows(report, &rank_table, &rows);
	array_each (row, &ranks->rows) {
		left_out += row->of->repeated + row->of->left_out;
		unnumbered += row->of->unnumbered;
		by_step += row->of->by_step;
	}
	report_rank_notes(report, ranks);
	if (left_out)
		report_line(report, "  %s collectives are not compared: they share a number, or are too many",
			    number_count(left_out).text);
	if (by_step)
		report_line(report,
			    "  %s collectives have no sequence number: compared by their order in steps of "
			    "torch.profiler that have the same ones on each rank",
			    number_count(by_step).text);
	if (unnumbered)
		report_line(report, "  %s collectives are not compared: they have no sequence number",
			    number_count(unnumbered).text);
}

/* ---- what their GPUs did ----------------------------------------------------------------------------------------- */

static void add_breakdown(struct report *report, struct table *table, const void *item)
{
	const struct rank_row *row = item;
	const struct ranks *ranks = table->context;
	const struct rank_log *log = &ranks->logs.items[row->log];
	uint32_t gpus;
	struct breakdown_sums sums = rank_breakdown(ranks, row, &gpus);
	uint64_t span_ns = log->timed_ns * gpus;

	table_add_rank_gpu(table, ranks_have_gpus(ranks), row->of->rank, row->of->device);
	report_add_breakdown(table, &sums, span_ns);
	table_add_ms(table, "computation ms", "computation_ns", sums.computation_ns);
	table_add_ms(table, "exposed ms", "exposed_communication_ns", sums.exposed_communication_ns);
	table_add_name(table, "host", "host", TEXT_TRUNCATE_END, log->host);
	table_add_data(table, "exposed_copies_ns", UNIT_NS, sums.exposed_copies_ns);
	table_add_data(table, "idle_ns", UNIT_NS, breakdown_idle_ns(&sums, span_ns));
	table_add_data(table, "span_ns", UNIT_NS, span_ns);
	table_add_data(table, "communication_ns", UNIT_NS, sums.communication_ns);
	table_add_data(table, "gpus", UNIT_COUNT, gpus);
	table_add_id(table, NULL, "pid", row->of->pid);
	table_add_word(table, "log", log->name);
}

static const struct row_table breakdown_table = {
	.id = "merge_breakdown",
	.title = "What the ranks' GPUs did",
	.remark = "% of each log; exposed: beside no computation; overlap: of communication, beside computation",
	.add_row = add_breakdown,
};

/* ---- late ranks -------------------------------------------------------------------------------------------------- */

static void add_late(struct report *report, struct table *table, const void *item)
{
	const struct late_row *row = item;
	const struct ranks *ranks = table->context;
	const struct rank_row *rank = row->rank == SIZE_MAX ? NULL : &ranks->rows.items[row->rank];
	bool has_pause = row->paused_ns && row->pause_from != NONE;
	size_t log = rank ? rank->log : 0;

	table_add_rank_gpu(table, ranks_have_gpus(ranks), rank ? rank->of->rank : -1, rank ? rank->of->device : NONE);
	table_add_count(table, "late", "count", row->count);
	table_add_ms(table, "ms in all", "late_ns", row->ns);
	table_add_name(table, "collective", "collective", TEXT_TRUNCATE_MIDDLE, rank_text(ranks, log, row->name));
	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, rank_text(ranks, log, row->line));
	table_add_ms(table, "pause ms", "pause_ns", row->paused_ns);
	table_unset_unless(table, has_pause, "-");
	table_add_name(table, "after", "pause_from", TEXT_TRUNCATE_PLACE,
		       has_pause ? rank_text(ranks, log, row->pause_from) : "");
	table_add_word(table, "pause_to", has_pause ? rank_text(ranks, log, row->pause_to) : "");
	table_unset_last(table, 2, has_pause, "");
	table_add_data(table, "late_most_ns", UNIT_NS, row->most_ns);
}

static const struct row_table late_table = {.add_row = add_late};

static void put_late(struct report *report, const struct ranks *ranks)
{
	const struct late_row none = {.rank = SIZE_MAX, .name = NONE, .line = NONE};
	size_t shown = report_shown(report, ranks->late.count);

	report_title(report, "merge_late", "Who was late, and where",
		     "pause: before the worst of them, the longest without a CUDA call");
	report_rows(report, &late_table,
		    &(struct row_list){ROWS_OF(&ranks->late), .none = report->writer ? &none : NULL, .context = ranks});
	if (!ranks->compared)
		report_line(report, "  no collective has GPU times on two ranks or more: it cannot be said");
	else if (!ranks->late.count)
		report_line(report, "  no one, by more than the clocks can show");
	if (ranks->late.count > shown)
		report_line(report, "  ... and %s more place%s", number_count(ranks->late.count - shown).text,
			    ranks->late.count - shown == 1 ? "" : "s");
}

static void put_job(struct report *report, void *context)
{
	const struct report_job *job = context;
	const struct row_list rows = list_of_ranks(job->ranks, job->ranks);

	report_rank_verdict(report, job);
	put_clocks(report, job->ranks);
	put_ranks(report, job->ranks);
	report_rows(report, &breakdown_table, &rows);
	put_late(report, job->ranks);
	report_job_lines(report, job);
	report_job_steps(report, job);
	report_collective_split(report, job->ranks, job->split, job->is_whole);
}

int report_write_ranks(FILE *out, const struct report_job *job, const struct report_options *options)
{
	struct report_job shown = *job;
	struct report report = {.out = out,
				.options = options,
				.width = options->width ? options->width : WIDTH_DEFAULT,
				.truncates = options->truncates,
				.rows = options->table	? UINT_MAX
					: options->rows ? options->rows
							: ROWS_DEFAULT,
				.color = options->color,
				.table_of = "merge FILES"};

	shown.is_whole |= options->table != NULL;
	return report_write_page(&report, put_job, &shown);
}
