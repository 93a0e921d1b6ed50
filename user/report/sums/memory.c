/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory from CUDA: peaks, and the lines that held it at the peak. */

#include "report/page/parts.h"
#include "report/page/row_table.h"

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

static void add_peak(struct report *report, struct table *table, const void *item)
{
	const struct memory_peak *peak = item;
	AUTO_FREE char *name = space_name(peak->space, peak->device);

	table_add_name(table, "memory", "memory", TEXT_TRUNCATE_END, name);
	table_add_memory(table, "at most", "most_bytes", peak->most);
	table_add_time(table, "after the start", "after_start_ns", report_after_start(report, peak->time_ns));
}

static const struct row_table peak_table = {
	.id = "memory_peaks", .title = "Peaks of memory from CUDA", .add_row = add_peak};

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

static void add_line(struct report *report, struct table *table, const void *item)
{
	const struct memory_row *row = item;
	AUTO_FREE char *name = space_name(row->space, row->device);

	table_add_memory(table, "at peak", "at_peak_bytes", row->at_peak);
	table_add_memory(table, "still held", "not_freed_bytes", row->unreleased);
	table_add_count(table, "blocks", "blocks", row->blocks);
	table_add_name(table, "memory", "memory", TEXT_TRUNCATE_END, name);
	report_add_label(report, table, "line", "line", row->line);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	report_add_process(report, table, row->process);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

static const struct row_table line_table = {
	.add_row = add_line,
	.amount = offsetof(struct memory_row, at_peak),
	.amount_text = number_memory,
	.more = "line",
};

void report_memory(struct report *report)
{
	const struct memory_peaks *memory = &report->all->memory;

	if (!memory->count)
		return;
	if (report->writer)
		report_rows(report, &peak_table,
			    &(struct row_list){ROWS_OF(&memory->peaks), .none = &(struct memory_peak){0}});
	report_title(report, "memory", "Memory from CUDA by Python line",
		     "what was allocated while tracing; line of the allocation");
	if (!report->writer)
		put_peaks(report);
	report_rows(report, &line_table, &(struct row_list){ROWS(memory->rows, memory->count)});
	put_kept(report);
}
