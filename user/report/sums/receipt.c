/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receipt for programs: the content of complete.c as tables. */
#include "report/page/parts.h"
#include "report/page/row_table.h"

static const char *end_name(enum complete_end end)
{
	static const char *const names[] = {
		[COMPLETE_ENDED] = "ended",
		[COMPLETE_TRUNCATED] = "truncated",
		[COMPLETE_DISK_FULL] = "disk_full",
		[COMPLETE_FAILED] = "failed",
	};

	return names[end];
}

static void add_loss(struct report *report, struct table *table, const void *item)
{
	const struct complete_row *row = item;

	table_add_count(table, "count", "count", row->count);
	table_add_word(table, "cause", row->name);
	table_add_name(table, "what", "what", TEXT_WHOLE, row->words);
}

void report_losses(struct report *report)
{
	static const struct row_table table = {
		.id = "losses", .title = "What is not as it should be", .add_row = add_loss};
	const struct complete *complete = &report->all->complete;

	report_rows(report, &table,
		    &(struct row_list){ROWS(complete->rows, complete->count), .none = &(struct complete_row){0}});
}

/* Values that were not measured are unknown. */
static void add_receipt(struct report *report, struct table *table, const void *item)
{
	const struct complete *complete = item;
	const struct layers *layers = &report->all->layers;

	table_add_value(table, "complete %", "complete_percent", UNIT_PERCENT, number_thousandths(complete->complete),
			complete->complete / 1e3);
	table_add_value(table, "asked for %", "min_complete_percent", UNIT_PERCENT,
			complete->wanted ? number_thousandths(complete->wanted) : (struct number){"-"},
			complete->wanted / 1e3);
	table_add_count(table, "launches", "launches", complete->launches);
	table_add_count(table, "with a Python line", "launches_with_line", complete->launches_with_line);
	table_add_count(table, "lost", "lost", complete->lost);
	table_unset_unless(table, !complete->tool, "-");
	table_add_count(table, "meant to have GPU times", "launches_meant", complete->launches_meant);
	table_add_count(table, "joined", "launches_joined", complete->launches_joined);
	table_add_time(table, "GPU time", "gpu_ns", complete->gpu_ns);
	table_add_time(table, "under a Python line", "gpu_with_line_ns", complete->gpu_ns_with_line);
	table_add_time(table, "times good to", "clock_error_ns", complete->clock_error_ns);
	table_unset_unless(table, !complete->tool, "-");
	table_unset_last(table, 5, complete->has_gpu_times, "-");
	table_add_word(table, "end", end_name(complete->end));
	table_add_data(table, "gputrace_cpu_ns", UNIT_NS, model_source(report->model)->receipt.cpu_ns);
	table_unset_unless(table, !complete->tool, "-");
	table_add_data(table, "modules", UNIT_COUNT, layers->modules);
	table_add_data(table, "modules_unnamed", UNIT_COUNT, layers->unnamed);
	table_unset_last(table, 2, layers->modules, "-");
}

void report_receipt(struct report *report)
{
	static const struct row_table table = {
		.id = "receipt", .title = "Receipt", .remark = "how complete this is", .add_row = add_receipt};

	report_rows(report, &table, &(struct row_list){ROWS(&report->all->complete, 1)});
}
