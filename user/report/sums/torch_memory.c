/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of PyTorch's allocators: peaks, who held it then and at the end, and who held it when there was not enough. */
#include <stdlib.h>

#include "report/page/parts.h"

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

static void put_peak_table(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NAME("memory", "memory", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("at most", "most_bytes", UNIT_BYTES),
		COLUMN_NUMBER("older than the trace", "older_bytes", UNIT_BYTES),
		COLUMN_NUMBER("reserved", "reserved_bytes", UNIT_BYTES),
		COLUMN_NUMBER("after the start", "after_start_ns", UNIT_NS),
		COLUMN_DATA("process", UNIT_TEXT),
		COLUMN_END,
	};
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	struct table table;

	report_title(report, "torch_memory_peaks", "Peaks of memory of PyTorch", NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < memory->spaces.count; i++) {
		const struct torch_space *space = &memory->spaces.items[i];
		AUTO_FREE char *name = NULL;

		if (!space->most)
			continue;
		name = report_torch_space(report->all, (uint32_t)i);
		table_add(&table, name);
		table_add_memory(&table, space->most);
		table_add_memory(&table, space->most > space->most_known ? space->most - space->most_known : 0);
		table_add_memory(&table, space->reserved);
		table_unset_unless(&table, space->reserved, "");
		table_add_time(&table, report_after_start(report, space->time_ns));
		report_add_process(report, &table, space->process);
	}
	report_table(report, &table);
}

static void put_rows(struct report *report)
{
	bool steps = step_blocks_has_steps(&report->all->blocks);
	const struct column columns[] = {
		COLUMN_NUMBER("at peak", "at_peak_bytes", UNIT_BYTES),
		COLUMN_NUMBER("not freed", "not_freed_bytes", UNIT_BYTES),
		COLUMN_NUMBER(steps ? "per step" : COLUMN_NOT_SHOWN, "growth_per_step_bytes", UNIT_BYTES_AVG),
		COLUMN_NUMBER("blocks", "blocks", UNIT_COUNT),
		COLUMN_NAME("memory", "memory", TEXT_TRUNCATE_END),
		COLUMN_NAME("op", "op", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		USER_LINE_COLUMNS,
		COLUMN_DATA("grows", UNIT_TEXT),
		COLUMN_DATA("process", UNIT_TEXT),
		COLUMN_END,
	};
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	size_t shown = report_shown(report, memory->count);
	struct table table;
	uint64_t rest = 0;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct torch_memory_row *row = &memory->rows[i];
		AUTO_FREE char *name = report_torch_space(report->all, row->space);

		table_add_memory(&table, row->at_peak);
		table_add_memory(&table, row->held);
		report_add_growth(&table, row->grows, row->per_step);
		table_add_count(&table, row->blocks);
		table_add(&table, name);
		report_add_op(report, &table, row->op_name);
		report_add_label(report, &table, row->line);
		report_add_user_line(report, &table, row->user_line, row->user_lines);
		table_add(&table, row->grows ? "yes" : "no");
		report_add_process(report, &table, memory->spaces.items[row->space].process);
		report_note_user_line(report, &table, row->user_line, row->user_lines, "");
	}
	report_table(report, &table);
	for (size_t i = shown; i < memory->count; i++)
		rest += memory->rows[i].at_peak;
	report_more(report, memory->count - shown, "line", number_memory(rest), "");
}

static void put_held(struct report *report, const struct torch_memory_out *out)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("held", "held_bytes", UNIT_BYTES),
		COLUMN_NAME("op", "op", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		COLUMN_END,
	};
	size_t shown = report_shown(report, out->count);
	struct table table;
	uint64_t rest = 0;

	if (!out->count)
		return;
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		table_add_memory(&table, out->rows[i].held);
		report_add_op(report, &table, out->rows[i].op_name);
		report_add_label(report, &table, out->rows[i].line);
	}
	report_table(report, &table);
	for (size_t i = shown; i < out->count; i++)
		rest += out->rows[i].held;
	report_more(report, out->count - shown, "line", number_memory(rest), "");
}

static void put_out(struct report *report, const struct torch_memory_out *out)
{
	AUTO_FREE char *name = report_torch_space(report->all, out->space);
	AUTO_FREE char *line =
		out->line == NONE ? xstrdup("a line that is not known") : line_label(&report->all->lines, out->line);

	report_line(report, "  %s, %s after the start: %s asked for; %s allocated, of %s reserved", name,
		    number_time(report_after_start(report, out->time_ns)).text, number_memory(out->asked).text,
		    number_memory(out->allocated).text, number_memory(out->reserved).text);
	report_line(report, "  by %s in %s", line, out->op_name == NONE ? "-" : report->model->strings[out->op_name]);
	put_held(report, out);
}

static void put_held_table(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("time", "time", UNIT_ID),
		COLUMN_NUMBER("held", "held_bytes", UNIT_BYTES),
		COLUMN_NAME("op", "op", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		COLUMN_END,
	};
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	struct table table;

	report_title(report, "out_of_memory_held", "Who held memory when there was not enough",
		     "time: the row of the table above, from 1");
	table_begin(&table, columns);
	for (size_t i = 0; i < memory->outs.count; i++) {
		const struct torch_memory_out *out = &memory->outs.items[i];

		for (size_t k = 0; k < report_shown(report, out->count); k++) {
			table_add_id(&table, i + 1);
			table_add_memory(&table, out->rows[k].held);
			report_add_op(report, &table, out->rows[k].op_name);
			report_add_label(report, &table, out->rows[k].line);
		}
	}
	report_table(report, &table);
}

static void put_out_tables(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NAME("memory", "memory", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("after the start", "after_start_ns", UNIT_NS),
		COLUMN_NUMBER("asked for", "asked_bytes", UNIT_BYTES),
		COLUMN_NUMBER("allocated", "allocated_bytes", UNIT_BYTES),
		COLUMN_NUMBER("reserved", "reserved_bytes", UNIT_BYTES),
		COLUMN_NAME("op", "op", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		COLUMN_DATA("process", UNIT_TEXT),
		COLUMN_END,
	};
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	struct table table;

	report_title(report, "out_of_memory", "Out of memory", "what PyTorch could not allocate");
	table_begin(&table, columns);
	array_each (out, &memory->outs) {
		AUTO_FREE char *name = report_torch_space(report->all, out->space);

		table_add(&table, name);
		table_add_time(&table, report_after_start(report, out->time_ns));
		table_add_memory(&table, out->asked);
		table_add_memory(&table, out->allocated);
		table_add_memory(&table, out->reserved);
		report_add_op(report, &table, out->op_name);
		report_add_label(report, &table, out->line);
		report_add_process(report, &table, memory->spaces.items[out->space].process);
	}
	report_table(report, &table);
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
	if (!was_asked_for(report))
		return;
	if (report->writer)
		put_peak_table(report);
	report_title(report, "torch_memory", "Memory of PyTorch by Python line",
		     "what its allocators handed out; line of the allocation");
	if (!report->writer) {
		put_peaks(report);
		report_torch_growth(report);
	}
	if (report->all->torch_memory.count)
		put_rows(report);
	put_unseen(report);
	put_outs(report);
}
