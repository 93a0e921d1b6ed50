/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of PyTorch's allocators: peaks, who held it then and to the end, and who did when there was not enough. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

/* "GPU 0", "CPU", of which process where there are several; the caller frees it. */
static char *space_name(const struct report *report, uint32_t index)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	const struct torch_space *space = &memory->spaces.items[index];
	const char *kind = space->device_type == GPT_TORCH_CUDA ? "GPU" : "device";
	char *name = space->device_type == GPT_TORCH_CPU ? xstrdup("CPU") : xasprintf("%s %d", kind, space->device);
	bool several = false;
	char *of_process;

	for (size_t i = 0; i < memory->spaces.count; i++)
		several |= memory->spaces.items[i].process != space->process;
	if (!several)
		return name;
	of_process = xasprintf("%s of %" PRIu32, name, report->model->processes[space->process].pid);
	free(name);
	return of_process;
}

static uint64_t after_start(const struct report *report, uint64_t time_ns)
{
	uint64_t start_ns = report->all->window.start_ns;

	return time_ns > start_ns ? time_ns - start_ns : 0;
}

static void put_peaks(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	for (size_t i = 0; i < memory->spaces.count; i++) {
		const struct torch_space *space = &memory->spaces.items[i];
		char *name = space_name(report, (uint32_t)i), *before, *reserved;

		if (space->most) {
			before = space->most > space->most_known
					 ? xasprintf(" (%s older than the trace)",
						     number_bytes(space->most - space->most_known).text)
					 : xstrdup("");
			reserved = space->reserved ? xasprintf(", of %s reserved", number_bytes(space->reserved).text)
						   : xstrdup("");
			report_line(report, "  %s: %s at most%s%s, %s after the start", name,
				    number_bytes(space->most).text, before, reserved,
				    number_time(after_start(report, space->time_ns)).text);
			free(before);
			free(reserved);
		}
		free(name);
	}
}

static const char *op_text(const struct report *report, uint32_t op_name)
{
	return op_name == NONE ? "-" : report->model->strings[op_name];
}

static void add_line(struct report *report, struct table *table, uint32_t line)
{
	if (line == NONE)
		table_add(table, "-");
	else
		report_add_label(report, table, line);
}

static void put_rows(struct report *report)
{
	static const struct column columns[] = {
		{"at peak", false, 0},
		{"not freed", false, 0},
		{"blocks", false, 0},
		{"memory", true, TEXT_TRUNCATE_END},
		{"op", true, TEXT_TRUNCATE_END},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	size_t shown = report_shown(report, memory->count);
	struct table table;
	uint64_t rest = 0;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct torch_memory_row *row = &memory->rows[i];
		char *name = space_name(report, row->space);

		table_add_number(&table, number_bytes(row->at_peak));
		table_add_number(&table, number_bytes(row->held));
		table_add_number(&table, number_count(row->blocks));
		table_add(&table, name);
		table_add(&table, op_text(report, row->op_name));
		add_line(report, &table, row->line);
		free(name);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < memory->count; i++)
		rest += memory->rows[i].at_peak;
	report_more(report, memory->count - shown, "lines", number_bytes(rest), "");
}

static void put_held(struct report *report, const struct torch_memory_out *out)
{
	static const struct column columns[] = {
		{"held", false, 0},
		{"op", true, TEXT_TRUNCATE_END},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	size_t shown = report_shown(report, out->count);
	struct table table;
	uint64_t rest = 0;

	if (!out->count)
		return;
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		table_add_number(&table, number_bytes(out->rows[i].held));
		table_add(&table, op_text(report, out->rows[i].op_name));
		add_line(report, &table, out->rows[i].line);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < out->count; i++)
		rest += out->rows[i].held;
	report_more(report, out->count - shown, "lines", number_bytes(rest), "");
}

static void put_out(struct report *report, const struct torch_memory_out *out)
{
	char *name = space_name(report, out->space);
	char *line =
		out->line == NONE ? xstrdup("a line that is not known") : line_label(&report->all->lines, out->line);

	report_line(report, "  %s, %s after the start: %s asked for; %s allocated, of %s reserved", name,
		    number_time(after_start(report, out->time_ns)).text, number_bytes(out->asked).text,
		    number_bytes(out->allocated).text, number_bytes(out->reserved).text);
	report_line(report, "  by %s in %s", line, op_text(report, out->op_name));
	put_held(report, out);
	free(name);
	free(line);
}

static void put_outs(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	if (!memory->out_count)
		return;
	report_title(report, "Out of memory", "what PyTorch could not allocate, and who held memory then");
	for (size_t i = 0; i < memory->outs.count; i++)
		put_out(report, &memory->outs.items[i]);
	if (memory->out_count > memory->outs.count)
		report_line(report, "  ... and %s more times",
			    number_count(memory->out_count - memory->outs.count).text);
}

/* What is not in the table, and why. */
static void put_unseen(struct report *report)
{
	for (uint32_t i = 0; i < report->model->process_count; i++) {
		const struct model_process *process = &report->model->processes[i];

		if (process->torch_memory_told && process->torch_memory_detail[0])
			report_line(report, "  not all of %s %u: %s", process->name, process->pid,
				    process->torch_memory_detail);
	}
}

static bool was_asked_for(const struct report *report)
{
	for (uint32_t i = 0; i < report->model->process_count; i++)
		if (report->model->processes[i].torch_memory_told)
			return true;
	return report->all->torch_memory.spaces.count != 0;
}

void report_torch_memory(struct report *report)
{
	if (!was_asked_for(report))
		return;
	report_title(report, "Memory of PyTorch by Python line",
		     "what its allocators handed out; line of the allocation");
	put_peaks(report);
	if (report->all->torch_memory.count)
		put_rows(report);
	put_unseen(report);
	put_outs(report);
}
