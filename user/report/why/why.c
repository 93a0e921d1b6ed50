/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/why/why.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "report/page/parts.h"
#include "report/why/why_tables.h"
#include "report/why/why_words.h"

#define LOSSES_SHOWN 3u
#define LINES_SHOWN 3u
#define INDENT 12u /* start of the text after "   where" */

static void put_field(struct report *report, const char *name, char *text)
{
	fprintf(report->out, "   %-*s", (int)INDENT - 3, name);
	report_wrap(report, text, INDENT, INDENT);
	free(text);
}

/*
 * One place as a reader sees it: all rows of the loss with the same text (collections by generation, kinds of waits).
 */
struct place {
	char *where;
	uint64_t ns;
};

DEFINE_ORDER(by_text, struct place, strcmp(a->where, b->where))

DEFINE_ORDER(by_time, struct place, most_first(a->ns, b->ns) ?: by_text(a, b))

/* "train.py:42 forward, in Net.blocks.0", "train.py:42 forward, 1.2 ms of it in Net.blocks.0" */
static char *place_text(const struct report *report, const struct why_loss *loss, const struct why_line *line)
{
	char *where = why_where(report->all, loss, line), *text;
	AUTO_FREE char *layer = why_layer(report->all, line);

	if (!layer)
		return where;
	if (line->layer_ns < line->ns)
		text = xasprintf("%s, %s of it in %s", where, number_time(line->layer_ns).text, layer);
	else
		text = xasprintf("%s, in %s", where, layer);
	free(where);
	return text;
}

/* Returns the places, most time first; the caller frees them and their texts. */
static struct place *places_of(const struct report *report, const struct why_loss *loss, size_t *count)
{
	struct place *places = xcalloc(loss->line_count + 1, sizeof(*places));
	size_t kept = 0;

	for (size_t i = 0; i < loss->line_count; i++)
		places[i] = (struct place){place_text(report, loss, &loss->lines[i]), loss->lines[i].ns};
	qsort(places, loss->line_count, sizeof(*places), by_text);
	for (size_t i = 0; i < loss->line_count; i++) {
		if (!kept || strcmp(places[kept - 1].where, places[i].where)) {
			places[kept++] = places[i];
			continue;
		}
		places[kept - 1].ns += places[i].ns;
		free(places[i].where);
	}
	qsort(places, kept, sizeof(*places), by_time);
	*count = kept;
	return places;
}

static void put_lines(struct report *report, const struct why_loss *loss)
{
	size_t count;
	AUTO_FREE struct place *places = places_of(report, loss, &count);

	for (size_t i = 0; i < count && i < LINES_SHOWN; i++)
		put_field(report, i ? "" : "where",
			  count == 1 ? xstrdup(places[i].where)
				     : xasprintf("%s: %s", places[i].where, number_time(places[i].ns).text));
	if (count > LINES_SHOWN)
		put_field(report, "", xasprintf("... and %s more", number_count(count - LINES_SHOWN).text));
	for (size_t i = 0; i < count; i++)
		free(places[i].where);
}

static void put_loss(struct report *report, const struct why_loss *loss, size_t number)
{
	const struct why *why = &report->all->why;
	AUTO_FREE char *title = xasprintf("%zu. %s, %s %%: %s", number, number_time(loss->ns).text,
					  number_percent((double)loss->ns, (double)why->looked_ns).text,
					  why_title(report->all, loss->cause));

	report_title(report, "loss", title, NULL);
	if (why->step_count)
		put_field(report, "per step", xstrdup(number_time(loss->ns / why->step_count).text));
	put_lines(report, loss);
	put_field(report, "seen", why_evidence(report->all, loss));
	put_field(report, "try", why_advice(report->all, loss));
}

/* ---- all time that was lost, each nanosecond once ---------------------------------------------------------------- */

static void add_part(struct table *table, uint64_t ns, const char *what)
{
	table_begin_row(table);
	table_add_ns(table, "%s", "ns", ns);
	table_add_share(table, ns);
	table_add_name(table, "", "what", TEXT_TRUNCATE_END, what);
}

static void put_account(struct report *report, size_t shown)
{
	const struct why *why = &report->all->why;
	struct table table = {.unit = time_unit_for(why->lost_ns), .whole = (double)why->looked_ns};
	uint64_t above_ns = 0, smaller_ns = 0;
	AUTO_FREE char *all = xasprintf("in all: %s idle, %s of copies alone%s%s%s", number_time(why->idle_ns).text,
					number_time(why->copy_alone_ns).text, why->blocked_ns ? ", " : "",
					why->blocked_ns ? number_time(why->blocked_ns).text : "",
					why->blocked_ns ? " kept back by others" : "");

	for (size_t i = 0; i < why->count; i++)
		*(i < shown ? &above_ns : &smaller_ns) += why->losses[i].ns;
	report_title(report, "why_lost", "What was lost, each moment once", "% of the time looked at");
	if (shown)
		add_part(&table, above_ns, shown == 1 ? "the loss above" : "the losses above");
	add_part(&table, smaller_ns, "smaller losses");
	add_part(&table, why->sums[WHY_GPU].ns, "launched, and not begun by the GPU");
	if (why->sums[WHY_UNSEEN].ns)
		add_part(&table, why->sums[WHY_UNSEEN].ns, "not known: the launch was not recorded");
	add_part(&table, why->sums[WHY_SHORT].ns, "gaps under 5 us");
	add_part(&table, why->lost_ns, all);
	report_table(report, &table);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void put_cautions(struct report *report)
{
	char *caution;

	for (unsigned i = 0; (caution = why_caution(report->all, i)); i++) {
		if (!i)
			fputc('\n', report->out);
		report_text(report, 2, "%s", caution);
		free(caution);
	}
}

/* Says how much came before, if there are steps or if it was mostly importing. */
static void put_before(struct report *report)
{
	const struct why *why = &report->all->why;
	bool imports = why->idle->imports_before_ns > why->before_ns / 2;

	if (!why->step_count && !imports)
		return;
	report_line(report, "(%s before that%s: not counted.)", number_time(why->before_ns).text,
		    imports ? ", most of it importing" : "");
}

static void put_summary(struct report *report)
{
	AUTO_FREE char *text = why_busy(report->all);

	fputc('\n', report->out);
	report_text(report, 2, "%s", text);
	put_before(report);
}

static void put_nothing(struct report *report)
{
	AUTO_FREE char *text = why_nothing(report->all);

	fputc('\n', report->out);
	report_text(report, 2, "%s", text);
}

static void put_growth(struct report *report)
{
	AUTO_FREE char *held = report_torch_growing_held(report->all, UINT_MAX);

	if (!report->all->torch_memory.growing_count)
		return;
	report_title(report, "why_memory", "Memory of PyTorch grows", "bytes held more after each step");
	report_torch_growth(report);
	report_text(
		report, 2,
		held ? "Take out of it what is no longer needed: loss.item() and .detach() keep a number without its "
		       "autograd graph."
		     : "What keeps these tensors? A list that is appended to, a loss that is summed up with its "
		       "graph: loss.item() and .detach() keep the number alone.");
}

/* GPUs that were busy, but slow; or why that is not known. */
static void put_clocks(struct report *report)
{
	const struct gpu_counter_sums *sums = &report->all->gpu_counters;
	const char *not_known = report_no_counters(report->model);
	bool titled = false;

	for (size_t i = 0; i < sums->devices.count; i++) {
		AUTO_FREE char *text = report_low_clock(report->all, i);

		if (text && !titled)
			report_title(report, "why_clocks", "Clocks were low", "the GPU was slower in what it did");
		titled |= text != NULL;
		if (text)
			report_text(report, 2, "%s", text);
	}
	if (not_known) {
		report_title(report, "why_clocks_unknown",
			     sums->devices.count ? "Clocks are not known to the end" : "Clocks are not known", NULL);
		report_text(report, 2, "%s", not_known);
	}
}

static void put_why(struct report *report)
{
	size_t shown = why_worth(report->all);
	char *unknown = why_unknown(report->all);

	report_processes(report);
	if (unknown) {
		fputc('\n', report->out);
		report_text(report, 2, "That cannot be said. %s", unknown);
		put_growth(report);
		free(unknown);
		return;
	}
	if (shown > LOSSES_SHOWN)
		shown = LOSSES_SHOWN;
	put_summary(report);
	if (!shown)
		put_nothing(report);
	for (size_t i = 0; i < shown; i++)
		put_loss(report, &report->all->why.losses[i], i + 1);
	put_account(report, shown);
	put_clocks(report);
	put_growth(report);
	put_cautions(report);
}

/* Programs also get the sum, and how complete it is, as tables of their own. */
static void put_all_tables(struct report *report)
{
	report_processes(report);
	why_put_tables(report);
	if (report->all->why.looked_ns)
		put_account(report, why_worth(report->all));
	report_gpu_counters(report);
	report_torch_growth_table(report);
	report_losses(report);
	report_receipt(report);
}

int report_write_why_of(FILE *out, struct analyses *all, const struct report_options *options)
{
	struct report report;

	report_page(&report, out, all, options);
	report_begin(&report);
	if (report.writer)
		put_all_tables(&report);
	else
		put_why(&report);
	return report_end(&report);
}

int report_write_why(FILE *out, struct trace *trace, const struct report_options *options)
{
	struct analyses all;
	int error = analyze_with(
		&all, trace,
		ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_THREADS, ANALYZE_UTILIZATION, ANALYZE_TORCH_MEMORY,
			 ANALYZE_TORCH_HELD, ANALYZE_GPU_COUNTERS),
		&(struct analyze_options){.attribution = &options->attribution, .comm_names = options->comm_kernels});

	if (!error)
		error = report_write_why_of(out, &all, options);
	analyses_free(&all);
	return error;
}
