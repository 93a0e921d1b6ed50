/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls as the CPU sees them: time by function, and failed calls. */
#include <inttypes.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_call(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	bool timed = report->all->api_times.more;

	if (timed) {
		table_add_ns(table, "%s", "ns", row->ns);
		table_add_share(table, row->ns);
	}
	table_add_count(table, "calls", "calls", row->count);
	if (timed)
		table_add_average(table, row->ns, row->more);
	table_add_name(table, "call", "call", TEXT_TRUNCATE_MIDDLE, api_name((uint16_t)row->part[0]));
	report_add_label(report, table, "mostly at", "line", row->line);
}

static const struct row_table timed_table = {
	.id = "calls",
	.title = "CPU in CUDA calls",
	.add_row = add_call,
	.carries = ROW_CARRIES_OF_RECORDING,
};
static const struct row_table counted_table = {
	.id = "calls",
	.title = "CPU in CUDA calls",
	.remark = "returns were not seen: calls only",
	.add_row = add_call,
};

void report_calls(struct report *report)
{
	const struct group *times = &report->all->api_times;
	size_t shown = report_shown(report, times->count);
	/* gputrace follows the calls of cuda_api.h; a file of another tool has all */
	const char *of = model_has_all_calls(report->model)
				 ? "% of the time in CUDA calls"
				 : "% of the time in calls that gputrace follows; others count as Python's";

	report_rows(report, times->more ? &timed_table : &counted_table,
		    &(struct row_list){ROWS(times->rows, times->count), .sum = times->ns,
				       .remark = times->more ? of : NULL});
	if (times->count > shown)
		report_line(report, "  ... and %zu more kinds of calls%s%s", times->count - shown,
			    report->table ? ": --table " : "", report->table ? report->table : "");
}

/* cudaError_t and CUresult agree on these since CUDA 10.1 (driver_types.h). */
static const char *error_meaning(int32_t result)
{
	static const struct {
		int32_t result;
		const char *meaning;
	} errors[] = {
		{1, "invalid value"},
		{2, "out of memory"},
		{3, "not initialised"},
		{9, "invalid launch configuration"},
		{35, "driver too old for this CUDA runtime"},
		{98, "invalid device function"},
		{100, "no CUDA device"},
		{101, "invalid device"},
		{209, "no kernel image for this GPU"},
		{400, "invalid resource handle"},
		{700, "illegal memory access"},
		{701, "launch out of resources"},
		{704, "access to the other GPU was already enabled"},
		{712, "the host memory was already registered"},
		{719, "launch failure"},
		{999, "unknown error"},
	};

	return value_of_first(sizeof(errors) / sizeof(errors[0]), i, errors[i].result == result, errors[i].meaning,
			      NULL);
}

static void add_failure(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	int32_t result = (int32_t)row->part[0];

	table_add_count(table, "count", "count", row->count);
	table_add_signed(table, "returned", "result", UNIT_ID, result);
	table_add_name(table, "meaning", "meaning", TEXT_TRUNCATE_END, error_meaning(result));
	table_unset_unless(table, error_meaning(result), "");
	table_add_name(table, "call", "call", TEXT_TRUNCATE_END, api_name((uint16_t)row->part[1]));
	report_add_label(report, table, "line", "line", row->line);
}

/* For programs. */
static const struct row_table failed_table = {.id = "failed", .title = "Failed CUDA calls", .add_row = add_failure};

void report_failed(struct report *report)
{
	const struct group *failures = &report->all->failures;
	size_t shown = report_shown(report, failures->count);

	if (!failures->count)
		return;
	if (report->writer) {
		report_group(report, &failed_table, failures);
		return;
	}
	fprintf(report->out, "\n%s", report->color ? "\033[31m" : "");
	report_line(report, "Failed: %s launch%s, %s other CUDA call%s", number_count(failures->more).text,
		    failures->more == 1 ? "" : "es", number_count(failures->events - failures->more).text,
		    failures->events - failures->more == 1 ? "" : "s");
	fputs(report->color ? "\033[0m" : "", report->out);
	for (size_t i = 0; i < shown; i++) {
		const GROUP_ROW *row = &failures->rows[i];
		int32_t result = (int32_t)row->part[0];
		const char *meaning = error_meaning(result);
		AUTO_FREE char *label = line_label(&report->all->lines, row->line);

		report_line(report, "  %s x %s returned %" PRId32 "%s%s%s at %s", number_count(row->count).text,
			    api_name((uint16_t)row->part[1]), result, meaning ? " (" : "", meaning ? meaning : "",
			    meaning ? ")" : "", label);
	}
	if (failures->count > shown)
		report_line(report, "  ... and %zu more kinds of failures", failures->count - shown);
}
