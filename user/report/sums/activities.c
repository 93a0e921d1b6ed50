/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nvprof's sums, and what surrounds its list (gpu_trace.c). */
#include "report/sums/activities.h"

#include <stdlib.h>

#include "report/sums/gpu_trace.h"
#include "report/table/kernel_label.h"

static void add_average(struct table *table, const struct activity_row *row)
{
	uint64_t timed = row->timed ?: 1;

	table_add_value(table, number_time(row->ns / timed), (double)row->ns / (double)timed);
	table_unset_unless(table, row->timed, "-");
}

static void add_time(struct table *table, bool is_known, uint64_t ns)
{
	table_add_time(table, ns);
	table_unset_unless(table, is_known, "-");
}

static void add_gpu_name(struct report *report, struct table *table, const struct activity_row *row)
{
	char name[32], *label;

	if (row->kind == MODEL_MEMSET) {
		table_add(table, "[CUDA memset]");
	} else if (row->kind == MODEL_MEMCPY) {
		snprintf(name, sizeof(name), "[CUDA memcpy %s]", gpu_memcpy_kind(row->what));
		table_add(table, name);
	} else if (row->what == NONE) {
		table_add(table, "(name not known)");
	} else {
		label = kernel_label(report->model->strings[row->what]);
		table_add_named(table, label, report->model->strings[row->what]);
		free(label);
	}
}

static void put_sums(struct report *report, const struct activity_sums *sums, bool of_calls)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("Time(%)", "percent", UNIT_PERCENT), COLUMN_NUMBER("Time", "ns", UNIT_NS),
		COLUMN_NUMBER("Calls", "calls", UNIT_COUNT),	   COLUMN_NUMBER("Avg", "avg_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("Min", "min_ns", UNIT_NS),	   COLUMN_NUMBER("Max", "max_ns", UNIT_NS),
		COLUMN_NAME("Name", "name", TEXT_TRUNCATE_THIRD),  COLUMN_END,
	};
	size_t shown = report->writer ? report_shown(report, sums->rows.count) : sums->rows.count;
	struct table table;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct activity_row *row = &sums->rows.items[i];

		table_add_percent(&table, (double)row->ns, (double)sums->ns);
		add_time(&table, row->timed, row->ns);
		table_add_count(&table, row->count);
		add_average(&table, row);
		add_time(&table, row->timed, row->min_ns);
		add_time(&table, row->timed, row->max_ns);
		if (of_calls)
			table_add(&table, api_name((uint16_t)row->what));
		else
			add_gpu_name(report, &table, row);
	}
	report_table(report, &table);
	if (sums->rows.count > shown)
		report_line(report, "  ... and %zu more", sums->rows.count - shown);
}

static void put_after(struct report *report, unsigned lists)
{
	if (lists & LIST_GPU_TRACE)
		gpu_trace_end(report);
	if (lists & LIST_GPU_SUM) {
		report_title(report, "gpu_sum", "GPU activities", "% of GPU time");
		put_sums(report, &report->all->gpu_sums, false);
	}
	if (lists & LIST_API_SUM) {
		report_title(report, "api_sum", "CUDA calls", "% of the time in CUDA calls");
		put_sums(report, &report->all->api_sums, true);
	}
	report_list_complete(report);
}

/* The table of the one list that is requested, NULL: several are. */
static const char *list_alone(unsigned lists)
{
	return lists == LIST_GPU_TRACE ? "gpu_trace"
	       : lists == LIST_GPU_SUM ? "gpu_sum"
	       : lists == LIST_API_SUM ? "api_sum"
				       : NULL;
}

int report_write_activities(FILE *out, struct trace *trace, const struct report_options *options, unsigned lists)
{
	const struct model *first = trace_first(trace);
	struct report report;
	struct analyses all = {.model = first};
	const struct analyze_options wanted = {.attribution = &options->attribution,
					       .each_gpu = lists & LIST_GPU_TRACE ? gpu_trace_add : NULL,
					       .each_context = &report};
	const enum analysis *which =
		lists & (LIST_GPU_SUM | LIST_API_SUM) ? ANALYSES(ANALYZE_ACTIVITY_SUMS) : ANALYSES(ANALYZE_END);
	int error;

	if (!first)
		return trace->error;
	report_page(&report, out, &all, options);
	report_begin_list(&report, list_alone(lists));
	if (lists & LIST_GPU_TRACE)
		gpu_trace_begin(&report);
	error = analyze_with(&all, trace, which, &wanted);
	report.model = all.model;
	if (!error)
		put_after(&report, lists);
	if (error)
		report_end(&report);
	else
		error = report_end(&report);
	analyses_free(&all);
	return error;
}
