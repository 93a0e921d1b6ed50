/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/rank_notes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/distance.h"
#include "base/signal_name.h"
#include "report/ranks/rank_cells.h"

#define WENT_ON_LEAST_NS 1000000000u /* ranks of a job that ends do so within this, more or less */
#define ENDED_SHOWN 5u

/* Says why a log has no rank. */
static void put_unknown(struct report *report, const struct ranks *ranks)
{
	static const char *const why[] = {
		[ARRIVALS_NO_OPS] = "a rank is known by its collectives, which --ops records",
		[ARRIVALS_ON_CPU] = "its collectives went over gloo or MPI; those that ran on a GPU (nccl) name a rank",
		[ARRIVALS_NO_COLLECTIVE] = "no collective with GPU times was recorded",
	};

	for (size_t i = 0; i < ranks->logs.count; i++)
		if (!ranks->logs.items[i].arrivals.ranks.list.count)
			report_line(report, "  no rank is known of %s: %s", ranks->logs.items[i].name,
				    why[ranks->logs.items[i].arrivals.lack]);
}

/* Says why ranks that only their environment names are compared with no other. */
static void put_silent(struct report *report, const struct ranks *ranks)
{
	static const char *const why[] = {
		[ARRIVALS_NO_OPS] = "its collectives are recorded with --ops",
		[ARRIVALS_ON_CPU] = "its collectives went over gloo or MPI, which have no GPU times",
		[ARRIVALS_NO_COLLECTIVE] = "no collective of it with GPU times was recorded",
	};
	const struct rank_row *first = NULL;
	uint64_t silent = 0;

	for (size_t i = 0; i < ranks->rows.count; i++)
		if (ranks->rows.items[i].of->by_environment) {
			first = first ?: &ranks->rows.items[i];
			silent++;
		}
	if (first)
		report_line(report,
			    "  known by RANK alone, and compared with none: %s %s, the first is rank %" PRId64 ": %s",
			    number_count(silent).text, silent == 1 ? "rank" : "ranks", first->of->rank,
			    why[ranks->logs.items[first->log].arrivals.lack]);
}

static void put_missing(struct report *report, const struct ranks *ranks)
{
	int64_t next = 0, missing = 0, first = -1;

	for (size_t i = 0; i < ranks->rows.count; i++) {
		int64_t rank = ranks->rows.items[i].of->rank;

		if (rank < 0) /* it may be any of the missing ones; such rows are the last */
			return;
		if (rank < next)
			continue;
		if (rank > next && first < 0)
			first = next;
		missing += rank - next;
		next = rank + 1;
	}
	if (next < ranks->world) {
		first = first < 0 ? next : first;
		missing += ranks->world - next;
	}
	if (missing == 1)
		report_line(report, "  rank %" PRId64 " of %" PRId64 " is in none of the logs", first, ranks->world);
	else if (missing)
		report_line(report,
			    "  %" PRId64 " of %" PRId64 " ranks are in none of the logs, the first of them is %" PRId64,
			    missing, ranks->world, first);
}

/* The most collectives that another rank began after that moment. */
static uint64_t collectives_after(const struct ranks *ranks, size_t row, uint64_t time_ns)
{
	uint64_t most = 0;

	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *other = &ranks->rows.items[i];
		const struct clock_line *clock = rank_log_clock(ranks, other->log);
		uint64_t count = 0;

		for (size_t k = 0; i != row && k < other->of->met.list.count; k++)
			count += clock_line_at(clock, other->of->met.list.items[k].arrived_ns) > time_ns;
		most = later_time(most, count);
	}
	return most;
}

/* Whether most of the other ranks were there a while after that moment. */
static bool most_went_on(const struct ranks *ranks, size_t row, uint64_t time_ns)
{
	size_t went_on = 0;

	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *other = &ranks->rows.items[i];
		uint64_t end_ns = other->of->exit_ns ? other->of->exit_ns : ranks->logs.items[other->log].end_ns;

		went_on += i != row &&
			   clock_line_at(rank_log_clock(ranks, other->log), end_ns) > time_ns + WENT_ON_LEAST_NS;
	}
	return 2 * went_on > ranks->rows.count - 1;
}

static void put_end_of(struct report *report, const struct ranks *ranks, const struct rank_row *row, uint64_t time_ns,
		       uint64_t after)
{
	AUTO_FREE char *name = rank_name(row);
	AUTO_FREE char *then =
		after ? xasprintf("another rank began %s collectives after that", number_count(after).text)
		      : xstrdup("no collective that began after that ended");

	report_line(
		report,
		"  %s ended before others: its process (pid %" PRIu32 ") ended %s after the first log began%s%s; %s",
		name, row->of->pid, number_time(time_ns - ranks->begin_ns).text, row->of->exit_signal ? ", by " : "",
		row->of->exit_signal ? signal_name(row->of->exit_signal) : "", then);
}

/* Ranks whose process ended while others went on, or waited for it. */
static void put_ended(struct report *report, const struct ranks *ranks)
{
	uint64_t ended = 0;

	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *row = &ranks->rows.items[i];
		uint64_t time_ns = clock_line_at(rank_log_clock(ranks, row->log), row->of->exit_ns);
		uint64_t after = row->of->exit_ns ? collectives_after(ranks, i, time_ns) : 0;

		if (!row->of->exit_ns || (!after && !most_went_on(ranks, i, time_ns)))
			continue;
		if (ended++ < ENDED_SHOWN)
			put_end_of(report, ranks, row, time_ns, after);
	}
	if (ended > ENDED_SHOWN)
		report_line(report, "  ... and so did %s more", number_count(ended - ENDED_SHOWN).text);
}

/* Ranks of which nothing says that they belong to the first one's job. */
static void put_apart(struct report *report, const struct ranks *ranks)
{
	const struct rank_row *first = NULL;
	AUTO_FREE char *name = NULL;
	uint64_t apart = 0;

	for (size_t i = 0; i < ranks->rows.count; i++)
		if (ranks->rows.items[i].is_apart) {
			first = first ?: &ranks->rows.items[i];
			apart++;
		}
	if (!first)
		return;
	name = rank_name(first);
	report_line(report,
		    "  %s %s no collective in common with the first one (the first is %s of %s): of another job, or "
		    "only in "
		    "groups of %s own",
		    number_count(apart).text, apart == 1 ? "rank has" : "ranks have", name,
		    ranks->logs.items[first->log].name, apart == 1 ? "its" : "their");
}

/* Files whose clock was set back while they were made. */
static void put_stepped_back(struct report *report, const struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct arriving_rank *of = ranks->rows.items[i].of;

		if (of->after_step_back)
			report_line(
				report,
				"  time steps back by %s in %s: its clock was set; %s collectives after that are not "
				"compared",
				number_time(of->step_back_ns).text, ranks->logs.items[ranks->rows.items[i].log].name,
				number_count(of->after_step_back).text);
	}
}

void report_rank_notes(struct report *report, const struct ranks *ranks)
{
	put_unknown(report, ranks);
	put_silent(report, ranks);
	put_missing(report, ranks);
	put_apart(report, ranks);
	put_ended(report, ranks);
	put_stepped_back(report, ranks);
}
