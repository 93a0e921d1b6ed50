/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of PyTorch's allocators: peaks, who held it then and at the end, and who held it when there was not enough. */
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

/* ---- peaks ------------------------------------------------------------------------------------------------------- */

static void put_peaks(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	for (size_t i = 0; i < memory->spaces.count; i++) {
		const struct torch_space *space = &memory->spaces.items[i];
		char *name = report_torch_space(report->all, (uint32_t)i), *before, *reserved, *text;

		if (space->most) {
			before = space->most > space->most_known
					 ? xasprintf(" (%s older than the trace)",
						     number_memory(space->most - space->most_known).text)
					 : xstrdup("");
			reserved = space->reserved ? xasprintf(", of %s reserved", number_memory(space->reserved).text)
						   : xstrdup("");
			text = xasprintf("%s: %s at most%s%s, %s after the start", name,
					 number_memory(space->most).text, before, reserved,
					 number_time(report_after_start(report, space->time_ns)).text);
			fputs("  ", report->out);
			report_wrap(report, text, 2, 4);
			free(text);
			free(before);
			free(reserved);
		}
		free(name);
	}
}

static void add_peak(struct report *report, struct table *table, const void *item)
{
	const struct torch_space *space = item;
	const struct torch_space *first = report->all->torch_memory.spaces.items;

	report_add_torch_space(report, table, space->most ? (uint32_t)(space - first) : NONE);
	table_add_memory(table, "at most", "most_bytes", space->most);
	table_add_memory(table, "older than the trace", "older_bytes",
			 space->most > space->most_known ? space->most - space->most_known : 0);
	table_add_memory(table, "reserved", "reserved_bytes", space->reserved);
	table_unset_unless(table, space->reserved, "");
	table_add_time(table, "after the start", "after_start_ns", report_after_start(report, space->time_ns));
	report_add_process(report, table, space->process);
}

static bool has_peak(const struct report *report, const void *item)
{
	return ((const struct torch_space *)item)->most;
}

static const struct row_table peak_table = {
	.id = "torch_memory_peaks",
	.title = "Peaks of memory of PyTorch",
	.add_row = add_peak,
	.is_shown = has_peak,
};

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct torch_memory_row *row = item;

	table_add_memory(table, "at peak", "at_peak_bytes", row->at_peak);
	table_add_memory(table, "not freed", "not_freed_bytes", row->held);
	report_add_growth(table, step_blocks_has_steps(&report->all->blocks) ? "per step" : NULL, row->grows,
			  row->per_step);
	table_add_count(table, "blocks", "blocks", row->blocks);
	report_add_torch_space(report, table, row->space);
	report_add_op(report, table, row->op_name);
	report_add_label(report, table, "line", "line", row->line);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	table_add_word(table, "grows", row->grows ? "yes" : "no");
	report_add_process(report, table, report->all->torch_memory.spaces.items[row->space].process);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

static const struct row_table line_table = {
	.add_row = add_row,
	.amount = offsetof(struct torch_memory_row, at_peak),
	.amount_text = number_memory,
	.more = "line",
};

/* ---- out of memory ----------------------------------------------------------------------------------------------- */

static void add_held(struct report *report, struct table *table, const void *item)
{
	const struct torch_memory_row *row = item;

	table_add_memory(table, "held", "held_bytes", row->held);
	report_add_op(report, table, row->op_name);
	report_add_label(report, table, "line", "line", row->line);
}

static const struct row_table held_table = {
	.add_row = add_held,
	.amount = offsetof(struct torch_memory_row, held),
	.amount_text = number_memory,
	.more = "line",
};

static void put_out(struct report *report, const struct torch_memory_out *out)
{
	AUTO_FREE char *name = report_torch_space(report->all, out->space);
	AUTO_FREE char *line =
		out->line == NONE ? xstrdup("a line that is not known") : line_label(&report->all->lines, out->line);

	report_line(report, "  %s, %s after the start: %s asked for; %s allocated, of %s reserved", name,
		    number_time(report_after_start(report, out->time_ns)).text, number_memory(out->asked).text,
		    number_memory(out->allocated).text, number_memory(out->reserved).text);
	report_line(report, "  by %s in %s", line, out->op_name == NONE ? "-" : report->model->strings[out->op_name]);
	report_rows(report, &held_table, &(struct row_list){ROWS(out->rows, out->count)});
}

static void put_held_table(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	struct table table = {0};

	report_title(report, "out_of_memory_held", "Who held memory when there was not enough",
		     "time: the row of the table above, from 1");
	for (size_t i = 0; i < memory->outs.count; i++) {
		const struct torch_memory_out *out = &memory->outs.items[i];

		for (size_t k = 0; k < report_shown(report, out->count); k++) {
			table_begin_row(&table);
			table_add_id(&table, "time", "time", i + 1);
			add_held(report, &table, &out->rows[k]);
		}
	}
	if (!table.count) {
		table_add_id(&table, "time", "time", 0);
		add_held(report, &table, &(struct torch_memory_row){.op_name = NONE, .line = NONE});
		table_drop_rows(&table);
	}
	report_table(report, &table);
}

static void add_out(struct report *report, struct table *table, const void *item)
{
	const struct torch_memory_out *out = item;

	report_add_torch_space(report, table, out->space);
	table_add_time(table, "after the start", "after_start_ns", report_after_start(report, out->time_ns));
	table_add_memory(table, "asked for", "asked_bytes", out->asked);
	table_add_memory(table, "allocated", "allocated_bytes", out->allocated);
	table_add_memory(table, "reserved", "reserved_bytes", out->reserved);
	report_add_op(report, table, out->op_name);
	report_add_label(report, table, "line", "line", out->line);
	report_add_process(report, table, report->all->torch_memory.spaces.items[out->space].process);
}

static const struct row_table out_table = {.id = "out_of_memory",
					   .title = "Out of memory",
					   .remark = "what PyTorch could not allocate",
					   .add_row = add_out};

static void put_out_tables(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	report_rows(report, &out_table,
		    &(struct row_list){ROWS_OF(&memory->outs), .process = ROW_PROCESS_NOT_SHOWN, .has_all = true});
	if (memory->out_count > memory->outs.count)
		report_line(report, "... and %s more times", number_count(memory->out_count - memory->outs.count).text);
	put_held_table(report);
}

static void put_outs(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	if (!memory->out_count)
		return;
	if (report->writer) {
		put_out_tables(report);
		return;
	}
	report_title(report, "out_of_memory", "Out of memory",
		     "what PyTorch could not allocate, and who held memory then");
	for (size_t i = 0; i < memory->outs.count; i++)
		put_out(report, &memory->outs.items[i]);
	if (memory->out_count > memory->outs.count)
		report_line(report, "  ... and %s more times",
			    number_count(memory->out_count - memory->outs.count).text);
}

/* Says what is not in the table, and why. */
static void put_unseen(struct report *report)
{
	for (uint32_t i = 0; i < report->model->process_count; i++) {
		const struct model_process *process = &report->model->processes[i];

		if (process->torch_memory_reported && process->torch_memory_detail[0])
			report_line(report, "  not all of %s %u: %s", process->name, process->pid,
				    process->torch_memory_detail);
	}
}

static bool was_asked_for(const struct report *report)
{
	return any_of(report->model->process_count, i, report->model->processes[i].torch_memory_reported) ||
	       report->all->torch_memory.spaces.count != 0;
}

void report_torch_memory(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	if (!was_asked_for(report))
		return;
	if (report->writer)
		report_rows(report, &peak_table,
			    &(struct row_list){ROWS_OF(&memory->spaces), .none = &(struct torch_space){.process = NONE},
					       .process = ROW_PROCESS_NOT_SHOWN, .has_all = true});
	report_title(report, "torch_memory", "Memory of PyTorch by Python line",
		     "what its allocators handed out; line of the allocation");
	if (!report->writer) {
		put_peaks(report);
		report_torch_growth(report);
	}
	report_rows(report, &line_table,
		    &(struct row_list){ROWS(memory->rows, memory->count), .process = ROW_PROCESS_NOT_SHOWN});
	put_unseen(report);
	put_outs(report);
}
