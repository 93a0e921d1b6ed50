/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes sections one after the other; the formats decide what they look like. */
#include "report/table/table_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct table_format *const formats[] = {&table_format_csv, &table_format_json, &table_format_md};

const struct table_format *table_format_by_name(const char *name)
{
	return value_of_first(sizeof(formats) / sizeof(formats[0]), i, !strcmp(formats[i]->name, name), formats[i],
			      NULL);
}

/* Whether the first rows of a table already tell the main facts. */
static bool is_of_note(const char *id)
{
	static const char *const ids[] = {
		"recording",   "gpus",		"no_gpu_times", "steps",	"gpu_lines",	 "own_lines",
		"kernels",     "call_lines",	"ops",		"collectives",	"copies",	 "idle",
		"waits",       "out_of_memory", "failed",	"receipt",	"losses",	 "why",
		"why_losses",  "why_lost",	"tree",		"source_lines", "key_averages",	 "gpu_trace",
		"gpu_sum",     "api_sum",	"diff_traces",	"diff_step",	"diff_lines",	 "diff_kernels",
		"diff_ops",    "merge_logs",	"merge_ranks",	"merge_late",	"diff_losses",	 "diff_memory",
		"split_ranks", "split_last",	"why_memory",	"layer_tree",	"layer_classes", "diff_layers"};

	return any_of(sizeof(ids) / sizeof(ids[0]), i, !strcmp(ids[i], id));
}

void table_writer_open(struct table_writer *writer, FILE *out, const struct table_format *format, const char *only)
{
	*writer = (struct table_writer){.out = out, .format = format, .only = only};
	if (format->begin)
		format->begin(writer);
}

static void begin_table(struct table_writer *writer, const struct column *columns)
{
	struct table_section *section = &writer->section;

	section->columns = columns;
	section->count = 0;
	while (columns[section->count].title && section->count < TABLE_COLUMNS_MAX)
		section->count++;
	writer->rows = 0;
	writer->is_begun = true;
	if (!writer->is_wanted)
		return;
	if (writer->format->begin_table)
		writer->format->begin_table(writer);
	writer->tables++;
}

static void free_section(struct table_section *section)
{
	table_free(&section->table);
	array_free_items(&section->notes);
	free(section->id);
	free(section->title);
	free(section->about);
	*section = (struct table_section){0};
}

static void end_section(struct table_writer *writer)
{
	static const struct column none[] = {COLUMN_END};

	if (!writer->section.id)
		return;
	if (!writer->is_begun && writer->section.notes.count)
		begin_table(writer, none);
	if (writer->is_begun && writer->is_wanted)
		writer->format->end_table(writer);
	free_section(&writer->section);
	writer->is_begun = false;
}

static void note_id(struct table_writer *writer, const char *id)
{
	for (size_t i = 0; i < writer->ids.count; i++)
		if (!strcmp(writer->ids.items[i], id))
			return;
	array_push(&writer->ids, xstrdup(id));
}

void table_writer_title(struct table_writer *writer, const char *id, const char *title, const char *about)
{
	end_section(writer);
	note_id(writer, id);
	writer->section.id = xstrdup(id);
	writer->section.title = xstrdup(title);
	writer->section.about = about ? xstrdup(about) : NULL;
	writer->is_wanted = writer->only ? !strcmp(writer->only, id) : !writer->format->is_brief || is_of_note(id);
}

void table_writer_want_all_rows(struct table_writer *writer)
{
	writer->section.is_whole = true;
}

void table_writer_note(struct table_writer *writer, const char *text)
{
	if (writer->section.id)
		array_push(&writer->section.notes, xstrdup(text + strspn(text, " ")));
}

void table_writer_begin_rows(struct table_writer *writer, const struct column *columns)
{
	begin_table(writer, columns);
}

void table_writer_put_row(struct table_writer *writer, const struct cell *cells)
{
	if (!writer->is_wanted)
		return;
	writer->format->put_row(writer, cells);
	writer->rows++;
}

void table_writer_put(struct table_writer *writer, struct table *table)
{
	static const struct column none[] = {COLUMN_END};

	begin_table(writer, table->columns ? table->columns : none);
	for (size_t i = 0; i < table->cells.count; i += table->count)
		table_writer_put_row(writer, &table->cells.items[i]);
	table_drop_rows(table);
	table_free(&writer->section.table);
	writer->section.table = *table;
}

static char *join_ids(const struct table_writer *writer)
{
	char *all = xstrdup("");

	for (size_t i = 0; i < writer->ids.count; i++)
		all = xjoin(all, ", ", xstrdup(writer->ids.items[i]));
	return all;
}

int table_writer_close(struct table_writer *writer, char **ids)
{
	bool is_missing;

	end_section(writer);
	is_missing = writer->only && !writer->tables;
	if (writer->format->end)
		writer->format->end(writer);
	if (ids)
		*ids = is_missing ? join_ids(writer) : NULL;
	array_free_items(&writer->ids);
	return is_missing ? -ENOENT : 0;
}

/* ---- units and numbers ------------------------------------------------------------------------------------------- */
