/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What keys do with the view. */
#include <string.h>

#include "top/tabs.h"

static void choose_tab(struct top_view *view, unsigned tab)
{
	if (tab >= TOP_TABS)
		return;
	view->tab = tab;
	view->row = view->first = 0;
	view->is_sorted = view->is_reversed = false;
	view->sort = 0;
}

/* Moves to the next tab with a table, in that direction. */
static void move_tab(struct top_view *view, const struct top_data *data, unsigned by)
{
	unsigned tab = view->tab;

	do
		tab = (tab + by) % TOP_TABS;
	while (tab != view->tab && !top_tab_table(data, tab));
	choose_tab(view, tab);
}

/* Sorts by the next shown column; after the last one, the table's own order. */
static void sort_by_next(struct top_view *view, const struct kept_table *table)
{
	unsigned column = view->is_sorted ? view->sort + 1 : 0;

	if (!table)
		return;
	while (column < table->table.count && !column_is_shown(&table->table.columns[column]))
		column++;
	view->is_sorted = column < table->table.count;
	view->sort = column;
	if (view->is_sorted)
		snprintf(view->status, sizeof(view->status), "sorted by %s", table->table.columns[column].title);
	else
		snprintf(view->status, sizeof(view->status), "in the order of the report");
}

static void move_row(struct top_view *view, size_t down, size_t up)
{
	size_t *at = view->mode == TOP_STACKS ? &view->first : &view->row;

	*at += down;
	*at -= *at < up ? *at : up;
}

static bool move_by_key(struct top_view *view, uint32_t key)
{
	switch (key) {
	case TOP_KEY_UP:
		move_row(view, 0, 1);
		return true;
	case TOP_KEY_DOWN:
		move_row(view, 1, 0);
		return true;
	case TOP_KEY_PAGE_UP:
		move_row(view, 0, 10);
		return true;
	case TOP_KEY_PAGE_DOWN:
		move_row(view, 10, 0);
		return true;
	case TOP_KEY_HOME:
		move_row(view, 0, SIZE_MAX);
		return true;
	case TOP_KEY_END:
		move_row(view, SIZE_MAX / 2, 0);
		return true;
	default:
		return false;
	}
}

static void type_filter(struct top_view *view, uint32_t key)
{
	size_t length = strlen(view->filter);

	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
		view->mode = TOP_TABLE;
	if (key == TOP_KEY_ESCAPE)
		view->filter[0] = '\0';
	if (key == TOP_KEY_BACKSPACE && length)
		view->filter[length - 1] = '\0';
	if (key >= ' ' && key < 0x7f && length + 1 < sizeof(view->filter)) {
		view->filter[length] = (char)key;
		view->filter[length + 1] = '\0';
	}
}

static void leave_mode(struct top_view *view)
{
	if (view->mode == TOP_TABLE)
		view->filter[0] = '\0';
	else if (view->mode == TOP_STACKS)
		view->first = 0;
	view->mode = TOP_TABLE;
}

enum top_request top_view_key(struct top_view *view, const struct top_data *data, uint32_t key)
{
	view->status[0] = '\0';
	if (view->mode == TOP_FILTER) {
		type_filter(view, key);
		return TOP_NOTHING;
	}
	if (move_by_key(view, key))
		return TOP_NOTHING;
	if (key >= '0' && key <= '9') {
		view->mode = TOP_TABLE;
		choose_tab(view, (key - '0' + 9) % 10);
	}
	switch (key) {
	case 'q':
		return TOP_QUIT;
	case 'w':
		return TOP_WRITE;
	case ' ':
		view->paused = !view->paused;
		break;
	case '/':
		view->mode = TOP_FILTER;
		break;
	case '?':
	case 'h':
		view->mode = view->mode == TOP_HELP ? TOP_TABLE : TOP_HELP;
		break;
	case 's':
		sort_by_next(view, top_tab_table(data, view->tab));
		break;
	case 'r':
		view->is_reversed = !view->is_reversed;
		view->is_sorted = true;
		break;
	case TOP_KEY_LEFT:
		move_tab(view, data, TOP_TABS - 1);
		break;
	case TOP_KEY_RIGHT:
	case '\t':
		move_tab(view, data, 1);
		break;
	case TOP_KEY_ESCAPE:
		leave_mode(view);
		break;
	case TOP_KEY_ENTER:
		return view->mode == TOP_TABLE ? TOP_OPEN_STACKS : TOP_NOTHING;
	default:
		break;
	}
	return TOP_NOTHING;
}

void top_view_free(struct top_view *view)
{
	free(view->stacks);
}
