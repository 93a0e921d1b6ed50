/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of PyTorch's memory that stay: which lines asked for them, and which Python objects hold them. */

#include "report/page/parts.h"
#include "report/page/row_table.h"

#define NO_PLACE "no Python object found"

/* "<- model.py:7 forward, called from train.py:10 main" */
static void note_callers(struct report *report, struct table *table, uint32_t user_line, uint32_t caller)
{
	const struct lines *lines = &report->all->lines;
	AUTO_FREE char *user = user_line == NONE ? NULL : line_label(lines, user_line);
	AUTO_FREE char *outer = caller == NONE ? NULL : line_label(lines, caller);

	if (user || outer)
		table_add_note(table, xasprintf("<- %s%s%s", user ? user : "", user && outer ? " <- " : "",
						outer ? outer : ""));
}

/* For programs: the line of the user's own, and its caller. */
static void add_callers(struct report *report, struct table *table, uint32_t user_line, uint32_t caller)
{
	const struct lines *lines = &report->all->lines;
	AUTO_FREE char *user = user_line == NONE ? NULL : line_label(lines, user_line);
	AUTO_FREE char *outer = caller == NONE ? NULL : line_label(lines, caller);

	table_add_word(table, "own_line", user);
	table_add_word(table, "caller", outer);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct torch_held_row *row = item;

	table_add_memory(table, "stays", "bytes", row->bytes);
	table_add_count(table, "blocks", "blocks", row->blocks);
	report_add_growth(table, step_blocks_has_steps(&report->all->blocks) ? "per step" : NULL, row->grows,
			  row->per_step);
	report_add_torch_space(report, table, row->space);
	report_add_label(report, table, "line", "line", row->line);
	add_callers(report, table, row->user_line, row->caller);
	report_add_process(report, table, report->all->torch_memory.spaces.items[row->space].process);
	note_callers(report, table, row->user_line, row->caller);
}

static const struct row_table line_table = {
	.id = "torch_memory_held",
	.title = "Memory of PyTorch that stays, by line and caller",
	.remark = "handed out in the trace, and not freed at its end",
	.add_row = add_row,
	.amount = offsetof(struct torch_held_row, bytes),
	.amount_text = number_memory,
	.more = "line",
};

static const char *unknown_place(enum torch_held_by by)
{
	switch (by) {
	case TORCH_HELD_BY_UNREAD:
		return "not found before the search ended";
	case TORCH_HELD_LATER:
		return "younger than the search";
	case TORCH_HELD_UNSEARCHED:
		return "process not searched";
	default:
		return NO_PLACE;
	}
}

/* "mostly made by train.py:20 train; 86 with an autograd graph, which holds more" */
static void note_line(struct report *report, struct table *table, const struct torch_holder_row *row, uint32_t graphs)
{
	uint32_t own = row->user_line == NONE ? row->line : row->user_line;
	AUTO_FREE char *line = own == NONE ? NULL : line_label(&report->all->lines, own);
	AUTO_FREE char *graph =
		graphs ? xasprintf("%s with an autograd graph, which holds more", number_count(graphs).text) : NULL;

	if (line || graph)
		table_add_note(table, xasprintf("%s%s%s%s",
						!line			       ? ""
						: row->line_bytes < row->bytes ? "mostly made by "
									       : "made by ",
						line ? line : "", line && graph ? "; " : "", graph ? graph : ""));
}

static void add_holder(struct report *report, struct table *table, const void *item)
{
	const struct torch_holder_row *row = item;
	const struct model_holder *holder = row->holder == NONE ? NULL : &report->model->holders[row->holder];
	AUTO_FREE char *container = holder ? report_holder_container(holder) : xstrdup("");
	uint64_t items = holder ? holder->items : UINT64_MAX;

	table_add_memory(table, "stays", "bytes", row->bytes);
	table_add_count(table, "blocks", "blocks", row->blocks);
	table_add_name(table, "held by", "held_by", TEXT_TRUNCATE_END, holder ? holder->place : unknown_place(row->by));
	table_add_name(table, "which is", "container", TEXT_TRUNCATE_END, container);
	table_add_data(table, "items", UNIT_COUNT, items);
	table_unset_unless(table, items != UINT64_MAX && *holder->type, "");
	table_add_data(table, "with_graph", UNIT_COUNT, holder ? holder->graphs : 0);
	table_unset_unless(table, holder, "");
	table_add_name(table, "found at", "path", TEXT_TRUNCATE_MIDDLE, holder ? holder->path : "");
	report_add_label(report, table, NULL, "line", row->line);
	add_callers(report, table, row->user_line, row->caller);
	report_add_process(report, table, row->process);
	note_line(report, table, row, holder ? holder->graphs : 0);
}

static const struct row_table holder_table = {
	.id = "torch_memory_holders",
	.title = "Python objects that hold the memory that stays",
	.remark = "found at the end of the trace; the nearest variable or attribute",
	.add_row = add_holder,
	.amount = offsetof(struct torch_holder_row, bytes),
	.amount_text = number_memory,
	.more = "holder",
};

static void put_searches(struct report *report)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->holder_search_count; i++) {
		const struct model_holder_search *search = &model->holder_searches[i];
		AUTO_FREE char *process = process_label(&model->processes[search->process]);

		if (search->state == GPT_HOLDERS_FAILED)
			report_line(report, "  objects of %s were not searched: %s", process, search->why);
		else if (search->state == GPT_HOLDERS_CUT)
			report_line(report,
				    "  the search of %s was cut at its limit: %s objects read, %s of them tensors",
				    process, number_count(search->objects).text, number_count(search->tensors).text);
	}
}

static void put_holders(struct report *report)
{
	const struct torch_held *held = &report->all->torch_held;

	report_rows(report, &holder_table,
		    &(struct row_list){
			    ROWS(held->holders, held->holder_count),
			    .none = &(struct torch_holder_row){
				    .holder = NONE, .line = NONE, .user_line = NONE, .caller = NONE, .process = NONE}});
	put_searches(report);
}

void report_torch_held(struct report *report)
{
	const struct torch_held *held = &report->all->torch_held;

	if (!held->count)
		return;
	report_rows(report, &line_table,
		    &(struct row_list){ROWS(held->rows, held->count), .process = ROW_PROCESS_NOT_SHOWN});
	if (report->model->holder_search_count)
		put_holders(report);
	else if (!report->writer)
		report_line(report, "  Python objects that hold it are searched for in processes that still run at the "
				    "end of a trace with --memory");
}
