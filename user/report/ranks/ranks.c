/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/ranks.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "report/page/page.h"
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

static void add_clock(struct table *table, const struct ranks *ranks, size_t log)
{
	const struct rank_log *of = &ranks->logs.items[log];
	const struct rank_clock *clock = &ranks->clocks.items[of->clock];
	bool is_fitted = clock->kind == RANK_CLOCK_FITTED;
	double offset = (double)clock->fit.line.offset_ns;
	struct number number;

	table_add(table, of->host);
	table_add(table, rank_clock_word(ranks, log));
	snprintf(number.text, sizeof(number.text), "%+.3f", offset / 1e6);
	if (clock->kind == RANK_CLOCK_FIRST)
		table_add_value(table, (struct number){"-"}, 0);
	else
		table_add_value(table, number, offset);
	table_add_value(table, drift_of(clock), clock->fit.line.drift * 1e6);
	table_unset_unless(table, is_fitted && clock->fit.has_drift, "-");
	if (is_fitted) {
		table_add_integer(table, number_tenths((double)clock->fit.error_ns / 1e3), clock->fit.error_ns);
		table_add_integer(table, number_tenths((double)clock->fit.error_most_ns / 1e3),
				  clock->fit.error_most_ns);
		table_add_count(table, clock->fit.used);
		table_add_count(table, clock->fit.pairs);
	} else {
		table_add_unknowns(table, 4, "-");
	}
	table_add(table, of->name);
	/* after the first of all */
	table_add_data(table, rank_log_begun(ranks, log) - ranks->begin_ns);
	table_add(table, of->is_cut ? "yes" : "no");
}

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
	char *by;

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
	free(by);
}

static void put_clocks(struct report *report, const struct ranks *ranks)
{
	static const struct column columns[] = {
		COLUMN_NAME("host", "host", TEXT_TRUNCATE_END),
		COLUMN_NAME("clock by", "aligned_by", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("ahead ms", "offset_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("drift us/s", "drift_ppm", UNIT_NUMBER),
		COLUMN_NUMBER("error us", "error_ns", UNIT_NS),
		COLUMN_NUMBER("95 %", "error_most_ns", UNIT_NS),
		COLUMN_NUMBER("used", "collectives_used", UNIT_COUNT),
		COLUMN_NUMBER("of", "collectives_in_common", UNIT_COUNT),
		COLUMN_NAME("log", "log", TEXT_TRUNCATE_START),
		COLUMN_DATA("began_after_ns", UNIT_NS),
		COLUMN_DATA("cut_short", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "merge_logs", "Logs and their clocks", "beside that of the first log");
	table_begin(&table, columns);
	for (size_t i = 0; i < ranks->logs.count; i++)
		add_clock(&table, ranks, i);
	report_table(report, &table);
	put_span(report, ranks);
	put_log_notes(report, ranks);
	put_clock_notes(report, ranks);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void add_onset(struct table *table, const struct ranks *ranks, const struct rank_onset *onset)
{
	const struct number no_text = {""};

	if (!onset->is_known) {
		table_add_unknowns(table, 5, "");
		return;
	}
	table_add_data(table, onset->from_ns - ranks->compared_from_ns);
	table_add_value(table, no_text, onset->more_ns);
	table_add_value(table, no_text, onset->error_ns);
	table_add_data(table, onset->before);
	table_add_data(table, onset->late_before);
}

static void add_row(struct table *table, const struct ranks *ranks, const struct rank_row *row)
{
	const struct rank_log *log = &ranks->logs.items[row->log];

	table_add_rank(table, row->of->rank);
	table_add_count(table, row->compared);
	table_add_count(table, row->late);
	table_add_ms(table, row->late_ns);
	table_add_ms(table, row->most_ns);
	table_add_ms(table, row->waited_ns);
	table_add(table, log->host);
	table_add(table, row->of->process_name);
	table_add_id(table, row->of->pid);
	table_add(table, log->name);
	table_add_data(table, row->of->repeated + row->of->left_out + row->of->unnumbered + row->of->after_step_back);
	if (row->of->exit_ns)
		table_add_data(table,
			       clock_line_at(rank_log_clock(ranks, row->log), row->of->exit_ns) - ranks->begin_ns);
	else
		table_add_unknown(table, "");
	add_onset(table, ranks, &row->onset);
}

static void put_ranks(struct report *report, const struct ranks *ranks)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		COLUMN_NUMBER("compared", "compared", UNIT_COUNT),
		COLUMN_NUMBER("late", "late", UNIT_COUNT),
		COLUMN_NUMBER("ms in all", "late_ns", UNIT_NS),
		COLUMN_NUMBER("at most", "late_most_ns", UNIT_NS),
		COLUMN_NUMBER("waited ms", "waited_ns", UNIT_NS),
		COLUMN_NAME("host", "host", TEXT_TRUNCATE_END),
		COLUMN_NAME("process", "process", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NUMBER("pid", "pid", UNIT_ID),
		COLUMN_DATA("log", UNIT_TEXT),
		COLUMN_DATA("not_compared", UNIT_COUNT),
		COLUMN_DATA("ended_after_ns", UNIT_NS),
		COLUMN_DATA("later_after_ns", UNIT_NS),
		COLUMN_DATA("later_by_ns", UNIT_NS_AVG),
		COLUMN_DATA("later_error_ns", UNIT_NS_AVG),
		COLUMN_DATA("compared_before", UNIT_COUNT),
		COLUMN_DATA("late_before", UNIT_COUNT),
		COLUMN_END,
	};
	uint64_t left_out = 0, unnumbered = 0, by_step = 0;
	struct table table;

	report_title(report, "merge_ranks", "Ranks",
		     "late: last to a collective, after the median rank; waited: for the last");
	table_begin(&table, columns);
	for (size_t i = 0; i < ranks->rows.count; i++) {
		add_row(&table, ranks, &ranks->rows.items[i]);
		left_out += ranks->rows.items[i].of->repeated + ranks->rows.items[i].of->left_out;
		unnumbered += ranks->rows.items[i].of->unnumbered;
		by_step += ranks->rows.items[i].of->by_step;
	}
	report_table(report, &table);
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

static void add_breakdown(struct table *table, const struct ranks *ranks, const struct rank_row *row)
{
	const struct rank_log *log = &ranks->logs.items[row->log];
	uint32_t gpus;
	struct breakdown_sums sums = rank_breakdown(ranks, row, &gpus);
	uint64_t span_ns = log->timed_ns * gpus, idle_ns = breakdown_idle_ns(&sums, span_ns);
	double span = (double)span_ns;

	table_add_rank(table, row->of->rank);
	table_add_percent(table, (double)sums.computation_ns, span);
	table_add_percent(table, (double)sums.exposed_communication_ns, span);
	table_add_percent(table, (double)sums.exposed_copies_ns, span);
	table_add_percent(table, (double)idle_ns, span);
	table_add_percent(table, (double)breakdown_overlap_ns(&sums), (double)sums.communication_ns);
	table_add_ms(table, sums.computation_ns);
	table_add_ms(table, sums.exposed_communication_ns);
	table_add(table, log->host);
	table_add_data(table, sums.exposed_copies_ns);
	table_add_data(table, idle_ns);
	table_add_data(table, span_ns);
	table_add_data(table, sums.communication_ns);
	table_add_data(table, gpus);
	table_add_id(table, row->of->pid);
	table_add(table, log->name);
}

static void put_breakdown(struct report *report, const struct ranks *ranks)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		COLUMN_NUMBER("computation %", "computation_percent", UNIT_PERCENT),
		COLUMN_NUMBER("exposed comm. %", "exposed_communication_percent", UNIT_PERCENT),
		COLUMN_NUMBER("exposed copies %", "exposed_copies_percent", UNIT_PERCENT),
		COLUMN_NUMBER("idle %", "idle_percent", UNIT_PERCENT),
		COLUMN_NUMBER("overlap %", "overlap_percent", UNIT_PERCENT),
		COLUMN_NUMBER("computation ms", "computation_ns", UNIT_NS),
		COLUMN_NUMBER("exposed ms", "exposed_communication_ns", UNIT_NS),
		COLUMN_NAME("host", "host", TEXT_TRUNCATE_END),
		COLUMN_DATA("exposed_copies_ns", UNIT_NS),
		COLUMN_DATA("idle_ns", UNIT_NS),
		COLUMN_DATA("span_ns", UNIT_NS),
		COLUMN_DATA("communication_ns", UNIT_NS),
		COLUMN_DATA("gpus", UNIT_COUNT),
		COLUMN_DATA("pid", UNIT_ID),
		COLUMN_DATA("log", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "merge_breakdown", "What the ranks' GPUs did",
		     "% of each log; exposed: beside no computation; overlap: of communication, beside computation");
	table_begin(&table, columns);
	for (size_t i = 0; i < ranks->rows.count; i++)
		add_breakdown(&table, ranks, &ranks->rows.items[i]);
	report_table(report, &table);
}

/* ---- late ranks -------------------------------------------------------------------------------------------------- */

static void add_late(struct table *table, const struct ranks *ranks, const struct late_row *row)
{
	const struct rank_row *rank = &ranks->rows.items[row->rank];

	table_add_rank(table, rank->of->rank);
	table_add_count(table, row->count);
	table_add_ms(table, row->ns);
	table_add(table, rank_text(ranks, rank->log, row->name));
	table_add(table, rank_text(ranks, rank->log, row->line));
	if (row->paused_ns && row->pause_from != NONE) {
		table_add_ms(table, row->paused_ns);
		table_add(table, rank_text(ranks, rank->log, row->pause_from));
		table_add(table, rank_text(ranks, rank->log, row->pause_to));
	} else {
		table_add_unknown(table, "-");
		table_add_unknowns(table, 2, "");
	}
	table_add_ms(table, row->most_ns);
}

static void put_late(struct report *report, const struct ranks *ranks)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		COLUMN_NUMBER("late", "count", UNIT_COUNT),
		COLUMN_NUMBER("ms in all", "late_ns", UNIT_NS),
		COLUMN_NAME("collective", "collective", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_NUMBER("pause ms", "pause_ns", UNIT_NS),
		COLUMN_NAME("after", "pause_from", TEXT_TRUNCATE_PLACE),
		COLUMN_DATA("pause_to", UNIT_TEXT),
		COLUMN_DATA("late_most_ns", UNIT_NS),
		COLUMN_END,
	};
	size_t shown = report_shown(report, ranks->late.count);
	struct table table;

	report_title(report, "merge_late", "Who was late, and where",
		     "pause: before the worst of them, the longest without a CUDA call");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_late(&table, ranks, &ranks->late.items[i]);
	if (shown || report->writer)
		report_table(report, &table);
	else
		table_free(&table);
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

	report_rank_verdict(report, job);
	put_clocks(report, job->ranks);
	put_ranks(report, job->ranks);
	put_breakdown(report, job->ranks);
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
