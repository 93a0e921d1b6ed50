/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/differences/differences.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/differences/difference_cells.h"
#include "report/differences/difference_rows.h"
#include "report/page/page.h"

#define WIDTH_DEFAULT 100u
#define ROWS_DEFAULT 10u

static bool has_steps(const struct differences *all)
{
	return all->before->has_steps && all->after->has_steps;
}

static void add_difference(struct table *table, const char *name, const struct difference *difference,
			   enum measure measure)
{
	const struct differences *all = table->context;
	struct time_unit unit = difference_unit(measure, difference_most(difference));
	AUTO_FREE char *title = *unit.name ? xasprintf("%s, %s", name, unit.name) : xstrdup(name);

	table_begin_row(table);
	table_add_named(table, has_steps(all) ? "a step" : "all of it", "what", TEXT_TRUNCATE_END, title, name);
	difference_add_shown(table, "before", difference, unit);
	difference_add_data(table, DIFFERENCE_KEYS("_ns"), UNIT_NS_AVG, measure == MEASURE_TIME ? difference : NULL);
	difference_add_data(table, DIFFERENCE_KEYS(""), UNIT_COUNT_AVG, measure == MEASURE_COUNT ? difference : NULL);
	difference_add_data(table, DIFFERENCE_KEYS("_bytes"), UNIT_BYTES_AVG,
			    measure == MEASURE_BYTES ? difference : NULL);
	difference_add_judgement(table, difference);
}

/* Whether growth is large enough for `gputrace why` to name it: all steps together added a hundredth of the peak. */
static bool memory_grows(const struct differences *all)
{
	double least = difference_most(&all->peak) / TORCH_MEMORY_GROWTH_LEAST;

	return all->growth.before * (double)all->before->steps >= least ||
	       all->growth.after * (double)all->after->steps >= least;
}

/* ", wall time +9.9 % (95 % interval +6.4 to +13.5 %)"; "" where no interval is known, or nothing changed.  The caller
 * frees it. */
static char *interval_text(const char *what, const struct difference *difference)
{
	double percent = difference_percent(difference), least = difference_least_percent(difference);
	AUTO_FREE char *change = NULL;

	if (!isfinite(percent) || !isfinite(least) || (percent == 0 && least == 0))
		return xstrdup("");
	change = fabs(percent) < 0.05 ? xstrdup("unchanged") : xasprintf("%+.1f %%", percent);
	return xasprintf(", %s %s (95 %% interval %+.1f to %+.1f %%)", what, change, least, 2 * percent - least);
}

/* What --fail-above judges. */
static void put_intervals(struct report *report, const struct differences *all)
{
	AUTO_FREE char *text = interval_text("wall time", &all->median_wall_ns);

	if (!all->by_launches)
		text = xjoin(text, "", interval_text("GPU time", &all->median_gpu_ns));
	if (*text)
		report_line(report, "  median step: %s", text + strlen(", "));
}

static void put_step(struct report *report, const struct differences *all)
{
	bool steps = has_steps(all);
	struct table table = {.context = all};

	if (report->writer)
		report_title(report, "diff_step", steps ? "A step" : "All of it", NULL);
	add_difference(&table, "wall time", &all->wall_ns, MEASURE_TIME);
	if (steps)
		add_difference(&table, "median wall time", &all->median_wall_ns, MEASURE_TIME);
	if (!all->by_launches) {
		add_difference(&table, "GPU time", &all->gpu_ns, MEASURE_TIME);
		if (steps)
			add_difference(&table, "median GPU time", &all->median_gpu_ns, MEASURE_TIME);
		if (report->writer || difference_most(&all->idle_ns) > 0)
			add_difference(&table, "GPU idle", &all->idle_ns, MEASURE_TIME);
	}
	if (report->writer || difference_most(&all->wait_ns) > 0)
		add_difference(&table, "waits for the GPU", &all->wait_ns, MEASURE_TIME);
	add_difference(&table, "launches", &all->launches, MEASURE_COUNT);
	if (report->writer || difference_most(&all->other_calls) > 0)
		add_difference(&table, "copies and fills", &all->other_calls, MEASURE_COUNT);
	if (all->has_memory && steps && (report->writer || memory_grows(all)))
		add_difference(&table, "GPU memory grows by", &all->growth, MEASURE_BYTES);
	if (all->has_memory)
		add_difference(&table, "GPU memory at most", &all->peak, MEASURE_BYTES);
	report_table(report, &table);
	if (steps)
		put_intervals(report, all);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void put_trace(struct report *report, const char *which, const char *name, const struct per_step_tables *tables)
{
	AUTO_FREE char *steps = tables->has_steps ? xasprintf("%s step%s", number_count(tables->steps).text,
							      tables->steps == 1 ? "" : "s")
						  : xstrdup("no steps were found in it");

	report_line(report, "%s %s, %s, %s%s", which, name, number_time(tables->wall_ns).text, steps,
		    tables->has_gpu ? "" : ", no GPU times");
	if (tables->outside_ns)
		report_line(report, "         %s of GPU time are of no step", number_time(tables->outside_ns).text);
}

static void put_side(struct report *report, const char *which, const struct differences_side *side)
{
	for (size_t i = 0; i < side->count; i++)
		put_trace(report, i ? "       " : which, side->names[i], &side->tables[i]);
}

/* The same as a row for programs. */
static void add_trace(struct table *table, const char *which, const char *name, const struct per_step_tables *tables)
{
	table_begin_row(table);
	table_add_name(table, "trace", "trace", TEXT_TRUNCATE_END, which);
	table_add_name(table, "file", "file", TEXT_TRUNCATE_MIDDLE, name);
	table_add_time(table, "took", "wall_ns", tables->wall_ns);
	table_add_count(table, "steps", "steps", tables->steps);
	table_unset_unless(table, tables->has_steps, "not found");
	table_add_time(table, "GPU time of no step", "outside_gpu_ns", tables->outside_ns);
	table_unset_unless(table, tables->has_steps, "");
	table_add_name(table, "GPU times", "has_gpu_times", TEXT_TRUNCATE_END, tables->has_gpu ? "yes" : "no");
}

static void put_table_of_traces(struct report *report, const struct differences_options *options)
{
	struct table table = {0};

	report_title(report, "diff_traces", "Traces compared", NULL);
	for (size_t i = 0; i < options->before.count; i++)
		add_trace(&table, "before", options->before.names[i], &options->before.tables[i]);
	for (size_t i = 0; i < options->after.count; i++)
		add_trace(&table, "after", options->after.names[i], &options->after.tables[i]);
	report_table(report, &table);
}

static void put_traces(struct report *report, const struct differences *all, const struct differences_options *options)
{
	if (report->writer) {
		put_table_of_traces(report, options);
	} else {
		put_side(report, "before:", &options->before);
		put_side(report, "after: ", &options->after);
	}
	if (all->before->has_steps != all->after->has_steps)
		report_line(report, "  only one of them has steps: what is compared is not the same");
	else if (!all->before->has_steps)
		report_line(report,
			    "  whole traces are compared, and noise is not known: steps are found %s, or --step says "
			    "what they are",
			    all->of_other_tools ? "in torch.profiler's ProfilerStep (its step()) and optimizers' ops"
						: "by --ops");
	if (all->before->has_memory != all->after->has_memory)
		report_line(report, "  memory of PyTorch is not compared: it was recorded%s in one of them only",
			    all->of_other_tools ? "" : " (--memory)");
	if (!report->writer)
		fputc('\n', report->out);
}

static void put_layers(struct report *report, const struct differences *all)
{
	difference_put_rows(report, all, "diff_layers",
			    all->by_launches ? "CUDA calls by layer of the model" : "GPU time by layer of the model",
			    &all->layers, "layer");
}

static void put_layer_kernels(struct report *report, const struct differences *all)
{
	difference_put_rows(report, all, "diff_layer_kernels",
			    all->by_launches ? "Kernels by layer of the model" : "GPU time by layer and kernel",
			    &all->layer_kernels, "kernel");
}

/* All that changed in layers. */
static void put_only_layers(struct report *report, const struct differences *all,
			    const struct differences_options *options)
{
	report->rows = report->writer ? report->rows : INT_MAX;
	put_traces(report, all, options);
	put_step(report, all);
	put_layers(report, all);
	put_layer_kernels(report, all);
	if (!all->before->has_layers || !all->after->has_layers)
		report_line(report, "  no call of a torch.nn.Module is on a stack with GPU work in %s",
			    !all->before->has_layers && !all->after->has_layers ? "either"
			    : all->before->has_layers				? "the one after"
										: "the one before");
}

static void put_all(struct report *report, const struct differences *all, const struct differences_options *options)
{
	bool by_launches = all->by_launches;

	put_traces(report, all, options);
	put_step(report, all);
	difference_put_rows(report, all, "diff_lines", by_launches ? "CUDA calls by line" : "GPU time by line",
			    &all->lines, "function");
	put_layers(report, all);
	if (report->writer)
		put_layer_kernels(report, all);
	if (!by_launches)
		difference_put_rows(report, all, "diff_kernels", "GPU time by kernel", &all->kernels, "kernel");
	if (all->before->has_ops && all->after->has_ops)
		difference_put_rows(report, all, "diff_ops", by_launches ? "Ops" : "GPU time by op", &all->ops, "op");
	difference_put_costs(report, all);
}

int report_write_differences(FILE *out, const struct differences *all, const struct differences_options *options)
{
	struct report_options of_report = {
		.format = options->format, .table = options->table, .tables = options->tables};
	struct report report = {.out = out,
				.options = &of_report,
				.width = options->width ? options->width : WIDTH_DEFAULT,
				.truncates = options->truncates,
				.rows = options->rows ? options->rows : ROWS_DEFAULT,
				.color = options->color};

	report_begin(&report);
	if (options->only_layers)
		put_only_layers(&report, all, options);
	else
		put_all(&report, all, options);
	return report_end(&report);
}
