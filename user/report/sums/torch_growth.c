/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of PyTorch that grows from step to step: by how much, on which lines, and which Python object holds it.  Also
 * what all tables of this memory share.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"
#include "report/table/text.h"

#define GROWING_SHOWN 3u /* lines per space */

/* ---- shared ------------------------------------------------------------------------------------------------------ */

char *report_torch_space(const struct analyses *all, uint32_t index)
{
	const struct torch_memory_sums *memory = &all->torch_memory;
	const struct torch_space *space = &memory->spaces.items[index];
	const char *kind = space->device_type == GPT_TORCH_CUDA ? "GPU" : "device";
	char *name = space->device_type == GPT_TORCH_CPU ? xstrdup("CPU") : xasprintf("%s %d", kind, space->device);
	char *of_process;

	if (!array_find(&memory->spaces, item, item->process != space->process))
		return name;
	of_process = xasprintf("%s of %" PRIu32, name, all->model->processes[space->process].pid);
	free(name);
	return of_process;
}

void report_add_op(const struct report *report, struct table *table, uint32_t op_name)
{
	table_add_name(table, "op", "op", TEXT_TRUNCATE_END, op_name != NONE ? report->model->strings[op_name] : NULL);
}

/* Memory that comes and goes, or does not change, is of no interest. */
void report_add_growth(struct table *table, const char *title, bool grows, double per_step)
{
	struct number shown = {"-"};

	if (grows)
		snprintf(shown.text, sizeof(shown.text), "+%.30s", number_memory((uint64_t)per_step).text);
	table_add_value(table, title, "growth_per_step_bytes", UNIT_BYTES_AVG, shown, per_step);
}

void report_add_torch_space(struct report *report, struct table *table, uint32_t space)
{
	AUTO_FREE char *name = space == NONE ? NULL : report_torch_space(report->all, space);

	table_add_name(table, "memory", "memory", TEXT_TRUNCATE_END, name);
}

char *report_holder_container(const struct model_holder *holder)
{
	bool several = holder->containers > 1;
	AUTO_FREE char *head = several ? xasprintf("%s of type %s", number_count(holder->containers).text, holder->type)
				       : xasprintf("a %s", holder->type);

	return !*holder->type ? xstrdup("")
	       : holder->items == UINT64_MAX
		       ? xstrdup(head)
		       : xasprintf(several ? "%s with %s items" : "%s of %s", head, number_count(holder->items).text);
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

/* The growth of a space: of all its rows that grow by enough to be named. */
static double growth_of(const struct torch_memory_sums *memory, uint32_t space)
{
	double sum = 0;

	for (size_t i = 0; i < memory->growing_count; i++)
		if (memory->rows[memory->growing[i]].space == space)
			sum += memory->rows[memory->growing[i]].per_step;
	return sum;
}

/* ---- who holds it ------------------------------------------------------------------------------------------------ */

/* The place with most tensors that have an autograd graph in a process, NULL: none has. */
static const struct model_holder *holder_of_graphs(const struct model *model, uint32_t process)
{
	const struct model_holder *most = NULL;

	for (uint32_t i = 0; i < model->holder_count; i++) {
		const struct model_holder *holder = &model->holders[i];

		if (holder->process == process && holder->graphs && (!most || holder->graphs > most->graphs))
			most = holder;
	}
	return most;
}

/* "History.losses, a list of 1,204" */
static char *place_text(const struct model_holder *holder)
{
	AUTO_FREE char *container = report_holder_container(holder);
	char *text = xasprintf("%s%s%s", holder->place, *container ? ", " : "", container);

	return text;
}

static const char *why_no_holder(enum torch_held_by by)
{
	switch (by) {
	case TORCH_HELD_BY_NONE:
		return "no Python object holds it itself";
	case TORCH_HELD_BY_UNREAD:
		return "its holder was not found in time";
	default:
		return NULL;
	}
}

/* "History.losses, a list of 1,204, has 1,182 autograd graphs"; NULL: no object that was found has any. */
static char *graphs_text(const struct model *model, uint32_t process)
{
	const struct model_holder *holder = holder_of_graphs(model, process);
	AUTO_FREE char *place = NULL;

	if (!holder)
		return NULL;
	place = place_text(holder);
	return xasprintf("%s, has %s autograd graph%s", place, number_count(holder->graphs).text,
			 holder->graphs == 1 ? "" : "s");
}

/*
 * "held by History.losses, a list of 1,204"; where no object holds it itself, also who has autograd graphs, which hold
 * what they need: that alone, if not all fits into `width`.  NULL: the process was not searched.
 */
static char *held_text(const struct analyses *all, const struct torch_memory_row *row, unsigned width)
{
	const struct torch_held_row *held = torch_held_of_growing(&all->torch_held, row);
	const char *reason;
	char *graphs, *text;

	if (held && held->by == TORCH_HELD_BY_OBJECT)
		return xjoin(xstrdup("held by"), " ", place_text(&all->model->holders[held->holder]));
	reason = held ? why_no_holder(held->by) : NULL;
	if (!reason)
		return NULL;
	graphs = graphs_text(all->model, all->torch_memory.spaces.items[row->space].process);
	if (!graphs)
		return xstrdup(reason);
	text = xasprintf("%s; %s", reason, graphs);
	if (text_width(text) <= width) {
		free(graphs);
		return text;
	}
	free(text);
	return graphs;
}

/* ---- lines -------------------------------------------------------------------------------------------------------
 */

/* "13.0 MB at train.py:16 remember in aten::empty" */
static char *growing_line(const struct report *report, const struct torch_memory_row *row)
{
	const struct lines *lines = &report->all->lines;
	AUTO_FREE char *line = row->line == NONE ? xstrdup("a line that is not known") : line_label(lines, row->line);
	AUTO_FREE char *user = row->user_line == NONE ? NULL : line_label(lines, row->user_line);

	return xasprintf("%s at %s%s%s%s%s", number_memory((uint64_t)row->per_step).text, user ? user : line,
			 user ? ", by " : "", user ? line : "", row->op_name == NONE ? "" : " in ",
			 row->op_name == NONE ? "" : report->model->strings[row->op_name]);
}

static void put_growing(struct report *report, const struct torch_memory_row *row)
{
	AUTO_FREE char *text = growing_line(report, row), *held = held_text(report->all, row, UINT_MAX);

	report_line(report, "    %s", text);
	if (held) {
		fputs("      ", report->out);
		report_wrap(report, held, 6, 8);
	}
}

static void put_growth_of(struct report *report, uint32_t space)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	AUTO_FREE char *name = report_torch_space(report->all, space);
	size_t steps = step_blocks_steps_of(&report->all->blocks, memory->spaces.items[space].process), shown = 0;

	report_line(report, "  %s grows by %s a step, in %s steps:", name,
		    number_memory((uint64_t)growth_of(memory, space)).text, number_count(steps).text);
	for (size_t i = 0; i < memory->growing_count && shown < GROWING_SHOWN; i++) {
		const struct torch_memory_row *row = &memory->rows[memory->growing[i]];

		if (row->space != space)
			continue;
		put_growing(report, row);
		shown++;
	}
}

void report_torch_growth(struct report *report)
{
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	for (uint32_t i = 0; i < memory->spaces.count; i++)
		if (growth_of(memory, i) > 0)
			put_growth_of(report, i);
}

/* ---- for the verdict ----------------------------------------------------------------------------------------------
 */

/* The caller of the own line, where other callers of that line keep memory, too; NONE. */
static uint32_t caller_that_tells(const struct torch_held *all, const struct torch_held_row *row)
{
	for (size_t i = 0; row && i < all->count; i++) {
		const struct torch_held_row *other = &all->rows[i];

		if (other->line == row->line && other->user_line == row->user_line && other->space == row->space &&
		    other->caller != row->caller)
			return row->caller;
	}
	return NONE;
}

/* "linear.py:134 forward <- net.py:7 forward <- train.py:11 main" */
static char *place_of(const struct analyses *all, const struct torch_memory_row *row)
{
	const struct torch_held_row *held = torch_held_of_growing(&all->torch_held, row);
	uint32_t caller = caller_that_tells(&all->torch_held, held);
	char *text;

	if (row->line == NONE)
		return xstrdup("a line that is not known");
	text = line_label(&all->lines, row->line);
	if (row->user_line != NONE)
		text = xjoin(text, " <- ", line_label(&all->lines, row->user_line));
	if (caller != NONE)
		text = xjoin(text, " <- ", line_label(&all->lines, caller));
	return text;
}

char *report_torch_growing(const struct analyses *all)
{
	const struct torch_memory_sums *memory = &all->torch_memory;
	const struct torch_memory_row *row = memory->growing_count ? &memory->rows[memory->growing[0]] : NULL;
	AUTO_FREE char *name = NULL, *place = NULL, *most = NULL;
	uint64_t sum;

	if (!row)
		return NULL;
	sum = (uint64_t)growth_of(memory, row->space);
	name = report_torch_space(all, row->space);
	place = place_of(all, row);
	most = (uint64_t)row->per_step == sum ? xstrdup("")
					      : xasprintf(", %s of it", number_memory((uint64_t)row->per_step).text);
	return xasprintf("PyTorch's memory of %s grows by %s a step%s: %s", name, number_memory(sum).text, most, place);
}

char *report_torch_growing_held(const struct analyses *all, unsigned width)
{
	const struct torch_memory_sums *memory = &all->torch_memory;

	return memory->growing_count ? held_text(all, &memory->rows[memory->growing[0]], width) : NULL;
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct torch_memory_row *row = &report->all->torch_memory.rows[*(const uint32_t *)item];
	const struct torch_held_row *held = torch_held_of_growing(&report->all->torch_held, row);
	bool is_held = held && held->by == TORCH_HELD_BY_OBJECT;
	const struct model_holder *holder = is_held ? &report->model->holders[held->holder] : NULL;
	AUTO_FREE char *container = holder ? report_holder_container(holder) : NULL;

	report_add_growth(table, "per step", row->grows, row->per_step);
	report_add_torch_space(report, table, row->space);
	report_add_op(report, table, row->op_name);
	table_add_name(table, "held by", "held_by", TEXT_TRUNCATE_END, holder ? holder->place : NULL);
	table_add_name(table, "which is", "container", TEXT_TRUNCATE_END, container);
	table_unset_last(table, 2, holder, "");
	report_add_label(report, table, "line", "line", row->line);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	report_add_process(report, table, report->all->torch_memory.spaces.items[row->space].process);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

void report_torch_growth_table(struct report *report)
{
	static const struct row_table table = {
		.id = "why_memory", .title = "Memory of PyTorch that grows from step to step", .add_row = add_row};
	const struct torch_memory_sums *memory = &report->all->torch_memory;

	report_rows(report, &table,
		    &(struct row_list){ROWS(memory->growing, memory->growing_count), .process = ROW_PROCESS_NOT_SHOWN,
				       .has_all = true});
}
