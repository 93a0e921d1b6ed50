/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/tabs.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

const struct top_tab top_tabs[TOP_TABS] = {
	{"gpu_lines", "call_lines", "lines", true, TOP_GPU_TIME},
	{"own_lines", NULL, "own", false, TOP_GPU_TIME},
	{"idle", NULL, "idle", true, TOP_IDLE_TIME},
	{"kernels", NULL, "kernels", true, TOP_GPU_TIME},
	{"ops", NULL, "ops", false, TOP_GPU_TIME},
	{"waits", NULL, "waits", true, TOP_GPU_TIME},
	{"copies", NULL, "copies", false, TOP_GPU_TIME},
	{"cpu_lines", NULL, "cpu", true, TOP_CPU_TIME},
	{"processes", NULL, "procs", false, TOP_GPU_TIME},
	{"losses", NULL, "lost", false, TOP_GPU_TIME},
};

const struct kept_table *top_tab_table(const struct top_data *data, unsigned tab)
{
	const struct kept_table *table = kept_table(data->tables, top_tabs[tab].id);

	return table || !top_tabs[tab].other ? table : kept_table(data->tables, top_tabs[tab].other);
}

static bool row_has(const struct kept_table *table, size_t row, const char *text)
{
	for (unsigned i = 0; i < table->table.count; i++) {
		const struct cell *cell = kept_cell(table, row, i);

		if ((cell->text && strcasestr(cell->text, text)) || (cell->full && strcasestr(cell->full, text)))
			return true;
	}
	return false;
}

struct order {
	const struct kept_table *table;
	unsigned column;
	bool is_reversed;
};

static double value_of(const struct cell *cell)
{
	if (cell->kind == CELL_SIGNED)
		return (double)(int64_t)cell->integer;
	return cell->kind == CELL_NUMBER ? cell->number : (double)cell->integer;
}

/* Numbers in descending order, texts alphabetically. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	size_t first_row = *(const size_t *)a, second_row = *(const size_t *)b;
	const struct cell *first = kept_cell(order->table, first_row, order->column);
	const struct cell *second = kept_cell(order->table, second_row, order->column);
	int by;

	if (first->kind == CELL_TEXT)
		by = strcmp(first->text ? first->text : "", second->text ? second->text : "");
	else
		by = (value_of(first) < value_of(second)) - (value_of(first) > value_of(second));
	if (order->is_reversed)
		by = -by;
	return by ? by : (first_row > second_row) - (first_row < second_row);
}

size_t *top_shown_rows(const struct top_view *view, const struct kept_table *table, size_t *count)
{
	size_t *rows = xcalloc(kept_rows(table) + 1, sizeof(*rows));
	struct order order = {.table = table, .column = view->sort, .is_reversed = view->is_reversed};

	*count = 0;
	for (size_t i = 0; i < kept_rows(table); i++)
		if (!*view->filter || row_has(table, i, view->filter))
			rows[(*count)++] = i;
	if (view->is_sorted && view->sort < table->table.count)
		qsort_r(rows, *count, sizeof(*rows), compare_rows, &order);
	return rows;
}

const char *top_cell_text(const struct kept_table *table, size_t row, const char *key)
{
	unsigned column = kept_column(table, key);
	const struct cell *cell = column < TABLE_COLUMNS_MAX ? kept_cell(table, row, column) : NULL;

	return !cell ? "" : cell->full ? cell->full : cell->text ? cell->text : "";
}

double top_cell_value(const struct kept_table *table, size_t row, const char *key)
{
	unsigned column = kept_column(table, key);

	return column < TABLE_COLUMNS_MAX ? value_of(kept_cell(table, row, column)) : 0;
}

/* The number of the chosen row in its table; false: there is none. */
static bool chosen_row(const struct top_view *view, const struct kept_table *table, size_t *row)
{
	size_t count, *rows;

	if (!table)
		return false;
	rows = top_shown_rows(view, table, &count);
	if (view->row < count)
		*row = rows[view->row];
	free(rows);
	return view->row < count;
}

char *top_row_needle(const struct top_view *view, const struct top_data *data, enum top_time *time)
{
	const struct kept_table *table = top_tab_table(data, view->tab);
	const char *file;
	size_t row = 0;

	*time = top_tabs[view->tab].stacks_of;
	if (!chosen_row(view, table, &row))
		return NULL;
	if (kept_column(table, "kernel") < TABLE_COLUMNS_MAX)
		return xasprintf(";%s", top_cell_text(table, row, "kernel"));
	file = top_cell_text(table, row, "file");
	return *file ? xasprintf("(%s:%.0f)", path_base(file), top_cell_value(table, row, "line_number")) : NULL;
}
