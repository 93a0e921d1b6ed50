/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nvprof's sums, and what surrounds its list (gpu_trace.c). */
#include "report/sums/activities.h"

#include <stdlib.h>

#include "report/page/row_table.h"
#include "report/sums/gpu_trace.h"
#include "report/table/kernel_label.h"

static char *unnamed_text(const struct activity_row *row)
{
	return row->kind == MODEL_MEMSET   ? xstrdup("[CUDA memset]")
	       : row->kind == MODEL_MEMCPY ? xasprintf("[CUDA memcpy %s]", gpu_memcpy_kind(row->what))
					   : xstrdup("(name not known)");
}

static void add_gpu_name(struct report *report, struct table *table, const struct activity_row *row)
{
	bool is_named = row->kind != MODEL_MEMSET && row->kind != MODEL_MEMCPY && row->what != NONE;
	AUTO_FREE char *name = is_named ? xstrdup(report->model->strings[row->what]) : unnamed_text(row);
	AUTO_FREE char *label = is_named ? kernel_label(name) : xstrdup(name);

	table_add_named(table, "Name", "name", TEXT_TRUNCATE_THIRD, label, name);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct activity_row *row = item;
	uint64_t timed = row->timed ?: 1;

	table_add_percent(table, "Time(%)", "percent", (double)row->ns, table->whole);
	table_add_time(table, "Time", "ns", row->ns);
	table_unset_unless(table, row->timed, "-");
	table_add_count(table, "Calls", "calls", row->count);
	table_add_value(table, "Avg", "avg_ns", UNIT_NS_AVG, number_time(row->ns / timed),
			(double)row->ns / (double)timed);
	table_add_time(table, "Min", "min_ns", row->min_ns);
	table_add_time(table, "Max", "max_ns", row->max_ns);
	table_unset_last(table, 3, row->timed, "-");
	if (table->context == &report->all->api_sums)
		table_add_name(table, "Name", "name", TEXT_TRUNCATE_THIRD, api_name((uint16_t)row->what));
	else
		add_gpu_name(report, table, row);
}

static void put_sums(struct report *report, const struct activity_sums *sums, const char *id, const char *title,
		     const char *remark)
{
	const struct row_table table = {.id = id, .title = title, .remark = remark, .add_row = add_row};
	size_t shown = report_shown(report, sums->rows.count);

	report_rows(report, &table,
		    &(struct row_list){ROWS_OF(&sums->rows), .none = &(struct activity_row){.kind = MODEL_MEMSET},
				       .context = sums, .sum = sums->ns, .has_all = !report->writer});
	if (report->writer && sums->rows.count > shown)
		report_line(report, "  ... and %zu more", sums->rows.count - shown);
}

static void put_after(struct report *report, unsigned lists)
{
	if (lists & LIST_GPU_TRACE)
		gpu_trace_end(report);
	if (lists & LIST_GPU_SUM)
		put_sums(report, &report->all->gpu_sums, "gpu_sum", "GPU activities", "% of GPU time");
	if (lists & LIST_API_SUM)
		put_sums(report, &report->all->api_sums, "api_sum", "CUDA calls", "% of the time in CUDA calls");
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
