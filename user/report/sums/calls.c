/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls as the CPU sees them: time by function, and failed calls. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

void report_calls(struct report *report)
{
	const struct api_times *times = &report->all->api_times;
	size_t shown = report_shown(report, times->count);
	struct time_unit unit = time_unit_for(times->ns);
	const struct column timed[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("calls", "calls", UNIT_COUNT),
		COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG),
		COLUMN_NAME("call", "call", TEXT_TRUNCATE_MIDDLE),
		LABEL_COLUMNS("mostly at", "line"),
		COLUMN_END,
	};
	const struct column counted[] = {
		COLUMN_NUMBER("calls", "calls", UNIT_COUNT),
		COLUMN_NAME("call", "call", TEXT_TRUNCATE_MIDDLE),
		LABEL_COLUMNS("mostly at", "line"),
		COLUMN_END,
	};
	/* gputrace follows the calls of cuda_api.h; a file of another tool has all */
	const char *of = model_has_all_calls(report->model)
				 ? "% of the time in CUDA calls"
				 : "% of the time in calls that gputrace follows; others count as Python's";
	struct table table;

	if (!times->count)
		return;
	report_title(report, "calls", "CPU in CUDA calls", times->returns ? of : "returns were not seen: calls only");
	if (times->returns)
		report_carries(report, times->ns, report_ns(report));
	table_begin(&table, times->returns ? timed : counted);
	for (size_t i = 0; i < shown; i++) {
		const struct api_row *row = &times->rows[i];

		if (times->returns) {
			table_add_ns(&table, row->ns, unit);
			table_add_percent(&table, (double)row->ns, (double)times->ns);
		}
		table_add_count(&table, row->count);
		if (times->returns)
			table_add_average(&table, row->ns, row->returns);
		table_add(&table, api_name(row->api));
		report_add_label(report, &table, row->line);
	}
	report_table(report, &table);
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

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].result == result)
			return errors[i].meaning;
	return NULL;
}

static void put_failures(struct report *report, const struct failures *failures)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("count", "count", UNIT_COUNT),
		COLUMN_NUMBER("returned", "result", UNIT_ID),
		COLUMN_NAME("meaning", "meaning", TEXT_TRUNCATE_END),
		COLUMN_NAME("call", "call", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "failed", "Failed CUDA calls", NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < report_shown(report, failures->count); i++) {
		const struct failure_row *row = &failures->rows[i];
		const char *meaning = error_meaning(row->result);

		table_add_count(&table, row->count);
		table_add_signed(&table, row->result);
		if (meaning)
			table_add(&table, meaning);
		else
			table_add_unknown(&table, "");
		table_add(&table, api_name(row->api));
		report_add_label(report, &table, row->line);
	}
	report_table(report, &table);
}

void report_failed(struct report *report)
{
	const struct failures *failures = &report->all->failures;
	size_t shown = report_shown(report, failures->count);

	if (!failures->calls)
		return;
	if (report->writer) {
		put_failures(report, failures);
		return;
	}
	fprintf(report->out, "\n%s", report->color ? "\033[31m" : "");
	report_line(report, "Failed: %s launches, %s other CUDA calls", number_count(failures->launches).text,
		    number_count(failures->calls - failures->launches).text);
	fputs(report->color ? "\033[0m" : "", report->out);
	for (size_t i = 0; i < shown; i++) {
		const struct failure_row *row = &failures->rows[i];
		const char *meaning = error_meaning(row->result);
		char *label = line_label(&report->all->lines, row->line);

		report_line(report, "  %s x %s returned %" PRId32 "%s%s%s at %s", number_count(row->count).text,
			    api_name(row->api), row->result, meaning ? " (" : "", meaning ? meaning : "",
			    meaning ? ")" : "", label);
		free(label);
	}
	if (failures->count > shown)
		report_line(report, "  ... and %zu more kinds of failures", failures->count - shown);
}
