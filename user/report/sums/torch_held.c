/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of PyTorch's memory that stay: which lines asked for them, and which Python objects hold them. */

#include "report/page/parts.h"

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

static void add_line(struct report *report, struct table *table, uint32_t line)
{
	AUTO_FREE char *label = NULL;

	if (line == NONE) {
		table_add_unknown(table, "");
		return;
	}
	label = line_label(&report->all->lines, line);
	table_add(table, label);
}

static void put_lines(struct report *report)
{
	bool steps = step_blocks_has_steps(&report->all->blocks);
	const struct column columns[] = {
		COLUMN_NUMBER("stays", "bytes", UNIT_BYTES),
		COLUMN_NUMBER("blocks", "blocks", UNIT_COUNT),
		COLUMN_NUMBER(steps ? "per step" : COLUMN_NOT_SHOWN, "growth_per_step_bytes", UNIT_BYTES_AVG),
		COLUMN_NAME("memory", "memory", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		COLUMN_DATA("own_line", UNIT_TEXT),
		COLUMN_DATA("caller", UNIT_TEXT),
		COLUMN_DATA("process", UNIT_TEXT),
		COLUMN_END,
	};
	const struct torch_held *held = &report->all->torch_held;
	const struct torch_memory_sums *memory = &report->all->torch_memory;
	size_t shown = report_shown(report, held->count);
	struct table table;
	uint64_t rest = 0;

	report_title(report, "torch_memory_held", "Memory of PyTorch that stays, by line and caller",
		     "handed out in the trace, and not freed at its end");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct torch_held_row *row = &held->rows[i];
		AUTO_FREE char *name = report_torch_space(report->all, row->space);

		table_add_memory(&table, row->bytes);
		table_add_count(&table, row->blocks);
		report_add_growth(&table, row->grows, row->per_step);
		table_add(&table, name);
		report_add_label(report, &table, row->line);
		add_line(report, &table, row->user_line);
		add_line(report, &table, row->caller);
		report_add_process(report, &table, memory->spaces.items[row->space].process);
		note_callers(report, &table, row->user_line, row->caller);
	}
	report_table(report, &table);
	for (size_t i = shown; i < held->count; i++)
		rest += held->rows[i].bytes;
	report_more(report, held->count - shown, "line", number_memory(rest), "");
}

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

static void put_holder(struct report *report, struct table *table, const struct torch_holder_row *row)
{
	const struct model_holder *holder = row->holder == NONE ? NULL : &report->model->holders[row->holder];
	AUTO_FREE char *container = holder ? report_holder_container(holder) : xstrdup("");

	table_add_memory(table, row->bytes);
	table_add_count(table, row->blocks);
	table_add(table, holder ? holder->place : unknown_place(row->by));
	table_add(table, container);
	table_add_id(table, holder ? holder->items : 0);
	table_unset_unless(table, holder && holder->items != UINT64_MAX && *holder->type, "");
	table_add_id(table, holder ? holder->graphs : 0);
	table_unset_unless(table, holder, "");
	table_add(table, holder ? holder->path : "");
	report_add_label(report, table, row->line);
	add_line(report, table, row->user_line);
	add_line(report, table, row->caller);
	report_add_process(report, table, row->process);
	note_line(report, table, row, holder ? holder->graphs : 0);
}

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
	const struct column columns[] = {
		COLUMN_NUMBER("stays", "bytes", UNIT_BYTES),
		COLUMN_NUMBER("blocks", "blocks", UNIT_COUNT),
		COLUMN_NAME("held by", "held_by", TEXT_TRUNCATE_END),
		COLUMN_NAME("which is", "container", TEXT_TRUNCATE_END),
		COLUMN_DATA("items", UNIT_COUNT),
		COLUMN_DATA("with_graph", UNIT_COUNT),
		COLUMN_NAME("found at", "path", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("line", UNIT_TEXT),
		COLUMN_DATA("file", UNIT_TEXT),
		COLUMN_DATA("line_number", UNIT_ID),
		COLUMN_DATA("own_line", UNIT_TEXT),
		COLUMN_DATA("caller", UNIT_TEXT),
		PROCESS_COLUMN(report),
		COLUMN_END,
	};
	const struct torch_held *held = &report->all->torch_held;
	size_t shown = report_shown(report, held->holder_count);
	struct table table;
	uint64_t rest = 0;

	report_title(report, "torch_memory_holders", "Python objects that hold the memory that stays",
		     "found at the end of the trace; the nearest variable or attribute");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		put_holder(report, &table, &held->holders[i]);
	report_table(report, &table);
	for (size_t i = shown; i < held->holder_count; i++)
		rest += held->holders[i].bytes;
	report_more(report, held->holder_count - shown, "holder", number_memory(rest), "");
	put_searches(report);
}

void report_torch_held(struct report *report)
{
	const struct torch_held *held = &report->all->torch_held;

	if (!held->count)
		return;
	put_lines(report);
	if (report->model->holder_search_count)
		put_holders(report);
	else if (!report->writer)
		report_line(report, "  Python objects that hold it are searched for in processes that still run at the "
				    "end of a trace with --memory");
}
