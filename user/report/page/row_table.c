/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/page/row_table.h"

#include <string.h>

#include "report/page/parts.h"

#define TITLE_MAX 24

static uint64_t number_at(const void *row, size_t at)
{
	return *(const uint64_t *)((const char *)row + at);
}

static uint32_t index_at(const void *row, size_t at)
{
	return *(const uint32_t *)((const char *)row + at);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

struct shown_columns {
	struct column list[TABLE_COLUMNS_MAX + 1];
	char titles[TABLE_COLUMNS_MAX][TITLE_MAX];
	unsigned count;
};

static void add_column(struct shown_columns *columns, struct column column, const char *unit)
{
	const char *in = strstr(column.title, "%s");

	if (columns->count == TABLE_COLUMNS_MAX)
		return;
	if (in) {
		char *title = columns->titles[columns->count];

		snprintf(title, TITLE_MAX, "%.*s%s%s", (int)(in - column.title), column.title, unit, in + 2);
		column.title = title;
	}
	columns->list[columns->count++] = column;
}

static bool shows_process(const struct report *report, enum row_process process)
{
	return process == ROW_PROCESS_IF_SEVERAL ? report->all->active > 1 : process == ROW_PROCESS_SHOWN;
}

/* Adds the column, and those that its cell needs besides. */
static void add_columns(struct shown_columns *columns, const struct row_column *row, const char *unit, bool process)
{
	static const struct column file = COLUMN_DATA("file", UNIT_TEXT), number = COLUMN_DATA("line_number", UNIT_ID);
	static const struct column callers = COLUMN_DATA("callers", UNIT_COUNT);
	static const struct column function = COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE);
	struct column of_process = COLUMN_NAME("process", "process", TEXT_TRUNCATE_MIDDLE);

	if (!process)
		of_process.title = COLUMN_NOT_SHOWN;
	add_column(columns, row->cell == ROW_CELL_PROCESS ? of_process : row->column, unit);
	if (row->cell == ROW_CELL_LINE) {
		add_column(columns, function, unit);
		add_column(columns, of_process, unit);
	}
	if (row->cell == ROW_CELL_LINE || row->cell == ROW_CELL_LABEL) {
		add_column(columns, file, unit);
		add_column(columns, number, unit);
	}
	if (row->cell == ROW_CELL_USER_LINE)
		add_column(columns, callers, unit);
}

static void choose_columns(const struct row_column *from, const char *unit, bool process, struct shown_columns *columns)
{
	columns->count = 0;
	for (; from->column.title; from++)
		add_columns(columns, from, unit, process);
	columns->list[columns->count] = (struct column)COLUMN_END;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static void add_text(struct report *report, struct table *table, const struct row_column *column, const void *row)
{
	AUTO_FREE char *text = column->text(report, row);

	table_add_text(table, text, "-");
}

/* Cells that are numbers. */
static void add_number(struct table *table, const struct row_column *column, const void *row, struct time_unit unit,
		       uint64_t sum)
{
	uint64_t number = number_at(row, column->at);

	switch (column->cell) {
	case ROW_CELL_NS:
		table_add_ns(table, number, unit);
		break;
	case ROW_CELL_PERCENT:
		table_add_percent(table, (double)number, (double)sum);
		break;
	case ROW_CELL_AVERAGE:
		table_add_average(table, number, number_at(row, column->other));
		break;
	default:
		table_add_count(table, number);
	}
}

static void add_cell(struct report *report, struct table *table, const struct row_column *column, const void *row,
		     struct time_unit unit, uint64_t sum)
{
	switch (column->cell) {
	case ROW_CELL_TEXT:
		add_text(report, table, column, row);
		break;
	case ROW_CELL_ADD:
		if (column->add)
			column->add(report, table, row);
		break;
	case ROW_CELL_LABEL:
		report_add_label(report, table, index_at(row, column->at));
		break;
	case ROW_CELL_USER_LINE:
		report_add_user_line(report, table, index_at(row, column->at), index_at(row, column->other));
		break;
	case ROW_CELL_PROCESS:
		report_add_process(report, table, index_at(row, column->at));
		break;
	case ROW_CELL_LINE:
		report_add_line(report, table, index_at(row, column->at), index_at(row, column->other));
		break;
	default:
		add_number(table, column, row, unit, sum);
	}
}

static void add_user_line(struct report *report, struct table *table, const struct row_column *column, const void *row)
{
	report_note_user_line(report, table, index_at(row, column->at), index_at(row, column->other), "");
}

static void add_row(struct report *report, struct table *table, const struct row_table *declared, const void *row,
		    struct time_unit unit, uint64_t sum)
{
	const struct row_column *user_line = NULL;

	for (const struct row_column *column = declared->columns; column->column.title; column++) {
		add_cell(report, table, column, row, unit, sum);
		user_line = column->cell == ROW_CELL_USER_LINE ? column : user_line;
	}
	if (declared->add_notes)
		declared->add_notes(report, table, row);
	else if (user_line)
		add_user_line(report, table, user_line, row);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const void *row_at(const struct row_list *list, size_t index)
{
	return (const char *)list->rows + index * list->size;
}

static void put_rest(struct report *report, const struct row_table *table, const struct row_list *list, size_t shown,
		     struct time_unit unit)
{
	size_t left = list->count - shown;
	uint64_t rest = 0;

	for (size_t i = shown; i < list->count; i++)
		rest += number_at(row_at(list, i), table->columns->at);
	if (table->counted)
		report_more(report, left, table->more, number_count(rest), table->counted);
	else if (table->unit_of_first)
		report_more(report, left, table->more, number_time(rest), "");
	else
		report_more(report, left, table->more, number_in(rest, unit), unit.name);
}

static void put_title(struct report *report, const struct row_table *table, const struct row_list *list)
{
	report_title(report, table->id, list->title ? list->title : table->title,
		     list->remark ? list->remark : table->remark);
	if (table->carries != ROW_CARRIES_ALL)
		report_carries(report, list->sum,
			       table->carries == ROW_CARRIES_OF_WHOLE ? list->whole : report_ns(report));
}

void report_rows(struct report *report, const struct row_table *declared, const struct row_list *list)
{
	struct time_unit unit = time_unit_for(list->unit_ns ? list->unit_ns : list->sum);
	size_t shown = report_shown(report, list->count);
	struct shown_columns columns;
	struct table table;

	if (!list->count)
		return;
	if (declared->unit_of_first)
		unit = time_unit_for(number_at(list->rows, declared->columns->at));
	if (declared->id)
		put_title(report, declared, list);
	choose_columns(declared->columns, unit.name, shows_process(report, list->process), &columns);
	table_begin(&table, columns.list);
	for (size_t i = 0; i < shown; i++)
		add_row(report, &table, declared, row_at(list, i), unit, list->sum);
	report_table(report, &table);
	if (declared->more)
		put_rest(report, declared, list, shown, unit);
}

void report_group(struct report *report, const struct row_table *table, const struct group *group)
{
	report_rows(report, table, &(struct row_list){ROWS(group->rows, group->count), .sum = group->ns});
}
