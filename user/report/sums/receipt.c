/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receipt for programs: the content of complete.c as tables. */
#include "report/page/parts.h"

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

void report_losses(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("count", "count", UNIT_COUNT),
		COLUMN_DATA("cause", UNIT_TEXT),
		COLUMN_NAME("what", "what", TEXT_WHOLE),
		COLUMN_END,
	};
	const struct complete *complete = &report->all->complete;
	struct table table;

	report_title(report, "losses", "What is not as it should be", NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < complete->count; i++) {
		table_add_count(&table, complete->rows[i].count);
		table_add(&table, complete->rows[i].name);
		table_add(&table, complete->rows[i].words);
	}
	report_table(report, &table);
}

/* A value that was not measured is unknown. */
static void add_if(struct table *table, bool is_known, struct number shown, uint64_t value)
{
	table_add_integer(table, shown, value);
	table_unset_unless(table, is_known, "-");
}

static void add_gpu_times(struct table *table, const struct complete *complete)
{
	bool timed = complete->has_gpu_times;

	add_if(table, timed, number_count(complete->launches_meant), complete->launches_meant);
	add_if(table, timed, number_count(complete->launches_joined), complete->launches_joined);
	add_if(table, timed, number_time(complete->gpu_ns), complete->gpu_ns);
	add_if(table, timed, number_time(complete->gpu_ns_with_line), complete->gpu_ns_with_line);
	add_if(table, timed && !complete->tool, number_time(complete->clock_error_ns), complete->clock_error_ns);
}

void report_receipt(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("complete %", "complete_percent", UNIT_PERCENT),
		COLUMN_NUMBER("asked for %", "min_complete_percent", UNIT_PERCENT),
		COLUMN_NUMBER("launches", "launches", UNIT_COUNT),
		COLUMN_NUMBER("with a Python line", "launches_with_line", UNIT_COUNT),
		COLUMN_NUMBER("lost", "lost", UNIT_COUNT),
		COLUMN_NUMBER("meant to have GPU times", "launches_meant", UNIT_COUNT),
		COLUMN_NUMBER("joined", "launches_joined", UNIT_COUNT),
		COLUMN_NUMBER("GPU time", "gpu_ns", UNIT_NS),
		COLUMN_NUMBER("under a Python line", "gpu_with_line_ns", UNIT_NS),
		COLUMN_NUMBER("times good to", "clock_error_ns", UNIT_NS),
		COLUMN_DATA("end", UNIT_TEXT),
		COLUMN_DATA("gputrace_cpu_ns", UNIT_NS),
		COLUMN_DATA("modules", UNIT_COUNT),
		COLUMN_DATA("modules_unnamed", UNIT_COUNT),
		COLUMN_END,
	};
	const struct complete *complete = &report->all->complete;
	const struct layers *layers = &report->all->layers;
	uint64_t cpu_ns = model_source(report->model)->receipt.cpu_ns;
	struct table table;

	report_title(report, "receipt", "Receipt", "how complete this is");
	table_begin(&table, columns);
	table_add_value(&table, number_thousandths(complete->complete), complete->complete / 1e3);
	table_add_value(&table, complete->wanted ? number_thousandths(complete->wanted) : (struct number){"-"},
			complete->wanted / 1e3);
	table_add_count(&table, complete->launches);
	table_add_count(&table, complete->launches_with_line);
	add_if(&table, !complete->tool, number_count(complete->lost), complete->lost);
	add_gpu_times(&table, complete);
	table_add(&table, end_name(complete->end));
	add_if(&table, !complete->tool, number_time(cpu_ns), cpu_ns);
	add_if(&table, layers->modules, number_count(layers->modules), layers->modules);
	add_if(&table, layers->modules, number_count(layers->unnamed), layers->unnamed);
	report_table(report, &table);
}
