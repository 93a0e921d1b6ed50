/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/why/periods.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/why/why_findings.h"
#include "base/order.h"
#include "report/page/row_table.h"
#include "report/why/why_words.h"

#define SECOND_NS 1000000000ull

/* A change that is named: from one part in this many of a step's median, or of the time. */
#define CHANGE_SHARE 10u

void periods_free(struct periods *periods)
{
	for (size_t i = 0; i < periods->list.count; i++)
		free(periods->list.items[i].loss);
	array_free(&periods->list);
	free(periods->whole.loss);
}

/* ---- one period -------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_length, uint64_t, least_first(*a, *b))

/* A step belongs to the period in which it begins, whole. */
static void look_at_steps(struct period *period, const struct steps *steps)
{
	ARRAY(uint64_t) lengths = {0};

	for (size_t t = 0; steps && t < steps->tracks.count; t++) {
		const struct step_track *track = &steps->tracks.items[t];

		for (size_t i = step_track_first_whole(track); i < track->list.count; i++) {
			const struct step *step = &track->list.items[i];

			if (step->start_ns >= period->from_ns && step->start_ns < period->to_ns)
				array_push(&lengths, step->end_ns - step->start_ns);
		}
	}
	period->steps = lengths.count;
	if (lengths.count) {
		array_sort(&lengths, by_length);
		period->median_ns = lengths.items[median_of_order(lengths.count)];
		period->p99_ns = lengths.items[p99_of_order(lengths.count)];
	}
	array_free(&lengths);
}

static void look_at_losses(struct period *period, const struct analyses *all)
{
	struct why_findings findings;
	const struct why_finding *most;

	period->looked_ns = all->why.looked_ns;
	period->lost_ns = all->why.lost_ns;
	why_findings_make(&findings, &all->why, all->why.looked_ns / WHY_LEAST_SHARE);
	if (findings.all.count) {
		most = &findings.all.items[0];
		period->loss_ns = most->ns;
		period->cause = why_cause_name(most->loss->cause);
		period->cause_ns = most->of_cause[most->loss->cause];
		period->loss =
			xjoin(why_causes_text(most), ": ", why_place(all, most->loss, most->line, LINE_WITH_FUNCTION));
	}
	why_findings_free(&findings);
}

static void look_at(struct period *period, const struct analyses *all, const struct steps *steps)
{
	period->from_ns = all->model->start_ns;
	period->to_ns = all->model->end_ns;
	period->timed_ns = window_timed_ns(&all->window);
	for (size_t i = 0; i < all->utilization.rows.count; i++) {
		period->busy_ns += all->utilization.rows.items[i].busy_ns;
		period->launches += all->utilization.rows.items[i].launches;
	}
	look_at_steps(period, steps);
	look_at_losses(period, all);
}

/* Lost time is that of all the time: steps that a period cuts would be in none. */
static int analyze_period(struct analyses *all, struct trace *trace, const struct report_options *options)
{
	const struct steps *steps = trace->steps;
	int error;

	trace->steps = NULL;
	error = analyze_with(
		all, trace, ANALYSES(ANALYZE_UTILIZATION, ANALYZE_UNTIMED, ANALYZE_IDLE, ANALYZE_WHY),
		&(struct analyze_options){.attribution = &options->attribution, .comm_names = options->comm_kernels});
	trace->steps = steps;
	return error;
}

int period_look(struct period *period, struct trace *slice, const struct steps *steps,
		const struct report_options *options)
{
	struct analyses all;
	int error = analyze_period(&all, slice, options);

	if (!error)
		look_at(period, &all, steps);
	analyses_free(&all);
	return error;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* "1:30:00", as --from takes it; fractions of a second only where there are some. */
static char *clock_text(uint64_t ns)
{
	uint64_t seconds = ns / SECOND_NS, thousandths = ns % SECOND_NS / 1000000;
	char *text = xasprintf("%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60, seconds % 60);

	return thousandths ? xjoin(text, ".", xasprintf("%03" PRIu64, thousandths)) : text;
}

static void add_row(struct table *table, const struct periods *periods, const struct period *period)
{
	bool is_whole = period == &periods->whole, has_steps = periods->whole.steps;
	AUTO_FREE char *from = is_whole ? xstrdup("all") : clock_text(period->from_ns - periods->start_ns);
	double looked = (double)period->looked_ns;

	table_add_name(table, "from", "from", TEXT_WHOLE, from);
	table_add_percent(table, "busy %", "busy_percent", (double)period->busy_ns,
			  (double)period->timed_ns * periods->gpus);
	table_add_percent(table, "lost %", "lost_percent", (double)period->lost_ns, looked);
	table_add_count(table, "launches", "launches", period->launches);
	table_add_count(table, has_steps ? "steps" : NULL, "steps", period->steps);
	table_add_time(table, has_steps ? "median" : NULL, "step_median_ns", period->median_ns);
	table_unset_unless(table, period->steps, "");
	table_add_time(table, has_steps ? "p99" : NULL, "step_p99_ns", period->p99_ns);
	table_unset_unless(table, period->steps >= STEP_P99_MIN, "");
	table_add_percent(table, "largest %", "loss_percent", (double)period->loss_ns, looked);
	table_add_name(table, "largest loss", "loss", TEXT_TRUNCATE_PLACE, period->loss);
	table_unset_unless(table, period->loss, "");
	table_add_word(table, "cause", period->cause);
	table_add_data(table, "loss_ns", UNIT_NS, period->loss_ns);
	table_add_data(table, "from_ns", UNIT_NS, period->from_ns - periods->start_ns);
	table_add_data(table, "to_ns", UNIT_NS, period->to_ns - periods->start_ns);
	table_add_data(table, "busy_ns", UNIT_NS, period->busy_ns);
	table_add_data(table, "lost_ns", UNIT_NS, period->lost_ns);
	table_add_data(table, "looked_ns", UNIT_NS, period->looked_ns);
	table_add_data(table, "cause_ns", UNIT_NS, period->cause_ns);
}

static double busy_share(const struct periods *periods, const struct period *period)
{
	return period->timed_ns && periods->gpus ? (double)period->busy_ns / ((double)period->timed_ns * periods->gpus)
						 : 0;
}

/* How many times as long as the shorter one the longer median is; 1 where a period has no steps. */
static double ratio_of_steps(const struct period *a, const struct period *b)
{
	if (!a->median_ns || !b->median_ns)
		return 1;
	return a->median_ns < b->median_ns ? (double)b->median_ns / (double)a->median_ns
					   : (double)a->median_ns / (double)b->median_ns;
}

/* How much the step's median changed from one period to the next, else how busy GPUs were. */
static double change_between(const struct periods *periods, size_t before, bool by_steps)
{
	const struct period *a = &periods->list.items[before], *b = a + 1;
	double busier = busy_share(periods, b) - busy_share(periods, a);

	if (by_steps)
		return ratio_of_steps(a, b) - 1;
	return busier < 0 ? -busier : busier;
}

/* Without a last period of less than half the length, which is no measure of the others. */
static size_t count_comparable(const struct periods *periods)
{
	const struct period *items = periods->list.items;
	size_t count = periods->list.count;

	return count > 1 && items[count - 1].to_ns - items[count - 1].from_ns < (items[0].to_ns - items[0].from_ns) / 2
		       ? count - 1
		       : count;
}

/* The first period may have the program's start, so the largest change is only named. */
static void put_change(struct report *report, const struct periods *periods, bool by_steps)
{
	size_t most = 0, count = count_comparable(periods);
	const struct period *a, *b;
	AUTO_FREE char *when = NULL;

	for (size_t i = 1; i + 1 < count; i++)
		if (change_between(periods, i, by_steps) > change_between(periods, most, by_steps))
			most = i;
	if (count < 2 || change_between(periods, most, by_steps) < 1.0 / CHANGE_SHARE)
		return;
	a = &periods->list.items[most];
	b = a + 1;
	when = clock_text(b->from_ns - periods->start_ns);
	if (by_steps)
		report_line(report, "  Largest change of steps: at %s, median %s before, then %s", when,
			    number_time(a->median_ns).text, number_time(b->median_ns).text);
	else
		report_line(report, "  Largest change of busy time: at %s, %s %% before, then %s %%", when,
			    number_percent(busy_share(periods, a), 1).text,
			    number_percent(busy_share(periods, b), 1).text);
}

static void put_table(struct report *report, const struct periods *periods)
{
	struct table table = {0};

	report_title(report, "periods", "By time",
		     "busy: of all GPUs; lost: as gputrace why counts it; steps: that begin then");
	for (size_t i = 0; i <= periods->list.count; i++) {
		table_begin_row(&table);
		add_row(&table, periods, i < periods->list.count ? &periods->list.items[i] : &periods->whole);
	}
	report_table(report, &table);
	put_change(report, periods, false);
	put_change(report, periods, true);
}

int report_write_periods(FILE *out, struct trace *whole, struct periods *periods, const struct report_options *options)
{
	struct analyses all;
	struct report report;
	int error = analyze_period(&all, whole, options);

	report_page(&report, out, &all, options);
	if (!error) {
		periods->gpus = (uint32_t)all.utilization.rows.count;
		look_at(&periods->whole, &all, whole->steps);
		report_begin_list(&report, "periods");
		report.rows = UINT_MAX;
		put_table(&report, periods);
		report_list_complete(&report);
		error = report_end(&report);
	}
	analyses_free(&all);
	return error;
}
