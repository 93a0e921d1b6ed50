/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory from CUDA: peaks, and the lines that held it at the peak. */

#include "report/page/parts.h"

static char *space_name(uint32_t space, uint32_t device)
{
	switch (space) {
	case MEMORY_SPACE_HOST:
		return xstrdup("host, pinned");
	case MEMORY_SPACE_MANAGED:
		return xstrdup("managed");
	default:
		return xasprintf("GPU %u", device);
	}
}

static void put_peaks(struct report *report)
{
	const struct memory_peaks *memory = &report->all->memory;

	array_each (peak, &memory->peaks) {
		AUTO_FREE char *name = space_name(peak->space, peak->device);

		report_line(report, "  %s: %s at most, %s after the start", name, number_memory(peak->most).text,
			    number_time(report_after_start(report, peak->time_ns)).text);
	}
}

static void put_peak_table(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NAME("memory", "memory", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("at most", "most_bytes", UNIT_BYTES),
		COLUMN_NUMBER("after the start", "after_start_ns", UNIT_NS),
		COLUMN_END,
	};
	const struct memory_peaks *memory = &report->all->memory;
	struct table table;

	report_title(report, "memory_peaks", "Peaks of memory from CUDA", NULL);
	table_begin(&table, columns);
	array_each (peak, &memory->peaks) {
		AUTO_FREE char *name = space_name(peak->space, peak->device);

		table_add(&table, name);
		table_add_memory(&table, peak->most);
		table_add_time(&table, report_after_start(report, peak->time_ns));
	}
	report_table(report, &table);
}

/* Says that a segment which PyTorch keeps is no leak of a line. */
static void put_kept(struct report *report)
{
	const struct memory_peaks *memory = &report->all->memory;

	if (any_of(memory->count, i, memory->rows[i].unreleased))
		report_line(report,
			    "  still held: an allocator as PyTorch's keeps memory for later tensors, so this alone is "
			    "no leak; %s",
			    report->all->torch_memory.count	    ? "the table of PyTorch's memory has what grows"
			    : model_is_of_other_tool(report->model) ? "events of PyTorch's allocators say what grows"
								    : "--memory records what grows");
}

static void put_lines(struct report *report)
{
	const struct column columns[] = {
		COLUMN_NUMBER("at peak", "at_peak_bytes", UNIT_BYTES),
		COLUMN_NUMBER("still held", "not_freed_bytes", UNIT_BYTES),
		COLUMN_NUMBER("blocks", "blocks", UNIT_COUNT),
		COLUMN_NAME("memory", "memory", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		USER_LINE_COLUMNS,
		PROCESS_COLUMN(report),
		COLUMN_END,
	};
	const struct memory_peaks *memory = &report->all->memory;
	size_t shown = report_shown(report, memory->count);
	struct table table;
	uint64_t rest = 0;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct memory_row *row = &memory->rows[i];
		AUTO_FREE char *name = space_name(row->space, row->device);

		table_add_memory(&table, row->at_peak);
		table_add_memory(&table, row->unreleased);
		table_add_count(&table, row->blocks);
		table_add(&table, name);
		report_add_label(report, &table, row->line);
		report_add_user_line(report, &table, row->user_line, row->user_lines);
		report_add_process(report, &table, row->process);
		report_note_user_line(report, &table, row->user_line, row->user_lines, "");
	}
	report_table(report, &table);
	for (size_t i = shown; i < memory->count; i++)
		rest += memory->rows[i].at_peak;
	report_more(report, memory->count - shown, "line", number_memory(rest), "");
	put_kept(report);
}

void report_memory(struct report *report)
{
	if (!report->all->memory.count)
		return;
	if (report->writer)
		put_peak_table(report);
	report_title(report, "memory", "Memory from CUDA by Python line",
		     "what was allocated while tracing; line of the allocation");
	if (!report->writer)
		put_peaks(report);
	put_lines(report);
}
