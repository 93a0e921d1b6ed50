/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/rank_verdict.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/ranks/job.h"
#include "report/ranks/rank_cells.h"

#define PAUSE_SHARE 2u	  /* a pause explains lateness from one part in this many of it on */
#define EXPOSED_SHARE 20u /* exposed communication is named from one part in this many of a rank's time */

static void put_latest(struct report *report, const struct ranks *ranks, const struct rank_row *row)
{
	const struct rank_onset *onset = &row->onset;
	AUTO_FREE char *name = rank_name(row);

	report_line(report, "Late most is %s: last to %s of %s collectives (%s %%), by %s in all, %s at most", name,
		    number_count(row->late).text, number_count(row->compared).text,
		    number_percent((double)row->late, (double)row->compared).text, number_time(row->late_ns).text,
		    number_time(row->most_ns).text);
	if (onset->is_known)
		report_line(report,
			    "  more since %s after the first collective: last to %s of %s from then on, to %s of %s "
			    "before; on average later by %s (+- %s)",
			    number_time(onset->from_ns - ranks->compared_from_ns).text,
			    number_count(onset->late_after).text, number_count(onset->after).text,
			    number_count(onset->late_before).text, number_count(onset->before).text,
			    number_time((uint64_t)onset->more_ns).text, number_time((uint64_t)onset->error_ns).text);
}

DEFINE_ORDER(by_ns, uint64_t, least_first(*a, *b))

/* The lower median of what all ranks' GPUs computed. */
static uint64_t median_computation_ns(const struct ranks *ranks)
{
	uint64_t *list = xcalloc(ranks->rows.count, sizeof(*list)), median_ns;
	uint32_t gpus;

	for (size_t i = 0; i < ranks->rows.count; i++)
		list[i] = rank_breakdown(ranks, &ranks->rows.items[i], &gpus).computation_ns;
	qsort(list, ranks->rows.count, sizeof(*list), by_ns);
	median_ns = list[(ranks->rows.count - 1) / 2];
	free(list);
	return median_ns;
}

/* What is known of the time before it was latest: how long its process paused, and what its GPU computed meanwhile. */
static void put_evidence(struct report *report, const struct ranks *ranks, const struct late_row *late)
{
	const struct rank_row *row = &ranks->rows.items[late->rank];
	bool knows_pause = late->pause_from != NONE;
	uint32_t gpus;

	report_line(report, "  most at %s, %s: %s", rank_text(ranks, row->log, late->line),
		    rank_text(ranks, row->log, late->name), number_time(late->ns).text);
	if (knows_pause && late->paused_ns >= late->most_ns / PAUSE_SHARE) {
		report_line(report, "  before the worst of them its process made no CUDA call for %s, after %s",
			    number_time(late->paused_ns).text, rank_text(ranks, row->log, late->pause_from));
		return;
	}
	if (knows_pause)
		report_line(report, "  before the worst of them its process was without a CUDA call for %s at most",
			    number_time(late->paused_ns).text);
	report_line(report, "  in the whole log its GPU computed for %s, the median rank's for %s",
		    number_time(rank_breakdown(ranks, row, &gpus).computation_ns).text,
		    number_time(median_computation_ns(ranks)).text);
}

static void put_exposed(struct report *report, const struct ranks *ranks)
{
	const struct rank_row *most = NULL;
	double most_share = 0;
	uint32_t gpus;
	AUTO_FREE char *name = NULL;

	array_each (row, &ranks->rows) {
		uint64_t ns = rank_breakdown(ranks, row, &gpus).exposed_communication_ns;
		double span = (double)ranks->logs.items[row->log].timed_ns * gpus,
		       share = span > 0 ? (double)ns / span : 0;

		if (share > most_share) {
			most_share = share;
			most = row;
		}
	}
	if (!most || most_share < 1.0 / EXPOSED_SHARE)
		return;
	name = rank_name(most);
	report_line(report, "Exposed communication: at most %s %% of a log, of %s", number_percent(most_share, 1).text,
		    name);
}

/* Where no rank is late, the last table says so, and why that may not be known. */
static void put_late_rank(struct report *report, const struct ranks *ranks, const struct rank_row *latest)
{
	put_latest(report, ranks, latest);
	for (size_t i = 0; i < ranks->late.count; i++)
		if (&ranks->rows.items[ranks->late.items[i].rank] == latest) {
			put_evidence(report, ranks, &ranks->late.items[i]);
			break;
		}
}

void report_rank_verdict(struct report *report, const struct report_job *job)
{
	const struct rank_row *latest = ranks_latest(job->ranks);

	if (report->writer)
		return;
	if (latest)
		put_late_rank(report, job->ranks, latest);
	report_job_steps_line(report, job);
	if (latest)
		put_exposed(report, job->ranks);
}
