/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How busy each GPU was. */
#include <inttypes.h>
#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static const char *device_name(const struct model *model, uint32_t id)
{
	return value_of_first(model->device_count, i, model->devices[i].id == id, model->devices[i].name, "");
}

static char *name_text(const struct report *report, const struct utilization_row *row)
{
	return xasprintf("GPU %" PRIu32 "  %s", row->device, device_name(report->model, row->device));
}

/* kernels: time covered by kernels; copies: time covered only by memcpys and memsets; together they are busy time. */
static char *facts_text(const struct report *report, const struct utilization_row *row, const char *gap)
{
	double window = (double)report_timed_ns(report);

	return xasprintf("%sbusy %s %%%skernels %s %%%scopies %s %%%sidle %s %%%s%s launch%s", gap,
			 number_percent((double)row->busy_ns, window).text, gap,
			 number_percent((double)row->kernel_ns, window).text, gap,
			 number_percent((double)(row->busy_ns - row->kernel_ns), window).text, gap,
			 number_percent(window - (double)row->busy_ns, window).text, gap,
			 number_count(row->launches).text, row->launches == 1 ? "" : "es");
}

static bool all_fit(const struct report *report, const char *gap)
{
	array_each (row, &report->all->utilization.rows) {
		AUTO_FREE char *name = name_text(report, row), *facts = facts_text(report, row, gap);

		if (text_width(name) + text_width(facts) > report->width)
			return false;
	}
	return true;
}

/* On one line each, or all on two: a truncated name would lack the model. */
static void put_devices(struct report *report)
{
	const char *gap = all_fit(report, "   ") ? "   " : "  ";
	bool fits = all_fit(report, gap);

	array_each (row, &report->all->utilization.rows) {
		AUTO_FREE char *name = name_text(report, row), *facts = facts_text(report, row, gap);

		report_put(report, name, report->width, TEXT_TRUNCATE_MIDDLE);
		fputs(fits ? "" : "\n", report->out);
		report_put(report, facts, report->width, TEXT_WHOLE);
		fputc('\n', report->out);
	}
}

uint64_t report_timed_ns(const struct report *report)
{
	return window_timed_ns(&report->all->window);
}

/* Says so if more than 1 % of the time may be busy and counts as idle: launches that lack GPU times. */
static void put_unfinished(struct report *report)
{
	const struct unfinished *unfinished = &report->all->untimed.longest;
	uint64_t length_ns = unfinished->until_ns - unfinished->since_ns;
	AUTO_FREE char *line = NULL;

	if (length_ns <= report_timed_ns(report) / 100)
		return;
	line = line_label(&report->all->lines, unfinished->line);
	report_line(report, "  for up to %s the GPU may have been busy, not idle: %s launch%s GPU times (%s%s)",
		    number_time(length_ns).text, number_count(unfinished->launches).text,
		    unfinished->launches == 1 ? " lacks" : "es lack",
		    unfinished->launches == 1 ? "" : "the first: ", line);
}

/* Says so if GPU times cover less than 99 % of the recording. */
static void put_untimed(struct report *report)
{
	uint64_t timed_ns = report_timed_ns(report), untimed_ns = window_untimed_ns(&report->all->window);

	if (untimed_ns > timed_ns / 99)
		report_line(report, "  GPU times begin %s after the start: busy and idle are of the %s from there on",
			    number_time(untimed_ns).text, number_time(timed_ns).text);
}

/* From its first operation in the recording to its last, as `why` looks at it. */
static uint64_t first_to_last_ns(const struct utilization_row *row)
{
	return row->busy_until_ns ? row->busy_until_ns - row->first_ns : 0;
}

/* Says how busy a GPU was while it had work, if more than a quarter of the recording is before or after that. */
static void put_part_with_work(struct report *report)
{
	uint64_t timed_ns = report_timed_ns(report);

	array_each (row, &report->all->utilization.rows) {
		uint64_t ns = first_to_last_ns(row);

		if (ns && ns < timed_ns && timed_ns - ns > timed_ns / 4)
			report_line(report,
				    "  GPU %" PRIu32 ": busy %s %% of the %s from its first operation to its last; the "
				    "other %s are before and after",
				    row->device, number_percent((double)row->busy_ns, (double)ns).text,
				    number_time(ns).text, number_time(timed_ns - ns).text);
	}
}

void report_overlap(struct report *report, uint64_t gpu_ns)
{
	uint64_t busy_ns = 0, outside_ns = 0, covered_ns;

	for (size_t i = 0; i < report->all->utilization.rows.count; i++) {
		busy_ns += report->all->utilization.rows.items[i].busy_ns;
		outside_ns += report->all->utilization.rows.items[i].outside_ns;
	}
	covered_ns = busy_ns + outside_ns;
	if (outside_ns > covered_ns / 100)
		report_line(report, "  %s of GPU work ran before or after the recording: in the tables, not in busy",
			    number_time(outside_ns).text);
	if (gpu_ns > covered_ns + covered_ns / 100)
		report_line(report, "  operations took %s in %s of busy time: several run at once (streams overlap)",
			    number_time(gpu_ns).text, number_time(covered_ns).text);
}

/* Low clocks with what they cost, or once why clocks are not known. */
static void put_clocks(struct report *report)
{
	const char *why = report_no_counters(report->model);

	for (size_t i = 0; i < report->all->gpu_counters.devices.count; i++) {
		AUTO_FREE char *text = report_low_clock(report->all, i);

		if (text)
			report_line(report, "  %s", text);
	}
	if (why)
		report_line(report, "  clocks and power of GPUs are not known%s: %s",
			    report->all->gpu_counters.devices.count ? " to the end" : "", why);
}

static void put_remarks(struct report *report)
{
	put_untimed(report);
	put_part_with_work(report);
	put_unfinished(report);
	put_clocks(report);
	report_overlap(report, report->all->gpu_lines.sum);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct utilization_row *row = item;
	double window = (double)report_timed_ns(report);
	uint64_t copies_ns = row->busy_ns - row->kernel_ns;

	table_add_id(table, "GPU", "gpu", row->device);
	table_add_percent(table, "busy %", "busy_percent", (double)row->busy_ns, window);
	table_add_percent(table, "kernels %", "kernels_percent", (double)row->kernel_ns, window);
	table_add_percent(table, "copies %", "copies_percent", (double)copies_ns, window);
	table_add_percent(table, "idle %", "idle_percent", window - (double)row->busy_ns, window);
	table_add_count(table, "launches", "launches", row->launches);
	table_add_name(table, "name", "name", TEXT_TRUNCATE_MIDDLE, device_name(report->model, row->device));
	table_add_data(table, "busy_ns", UNIT_NS, row->busy_ns);
	table_add_data(table, "kernels_ns", UNIT_NS, row->kernel_ns);
	table_add_data(table, "copies_ns", UNIT_NS, copies_ns);
	table_add_data(table, "first_to_last_ns", UNIT_NS, first_to_last_ns(row));
}

static const struct row_table table = {
	.id = "gpus",
	.title = "GPUs",
	.remark = "% of the recording; copies: what only copies and fills cover",
	.add_row = add_row,
};

void report_devices(struct report *report)
{
	if (report->writer) {
		report_rows(report, &table,
			    &(struct row_list){ROWS_OF(&report->all->utilization.rows),
					       .none = &(struct utilization_row){0}, .has_all = true});
	} else {
		fputc('\n', report->out);
		put_devices(report);
	}
	put_remarks(report);
}
