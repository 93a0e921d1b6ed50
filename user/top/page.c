/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/path.h"
#include "report/table/text.h"

#define HEADER_GPUS 4u	/* GPUs with a line of their own */
#define BAR_COLUMNS 20u /* width of a GPU's busy bar */
#define CAUSES_SHOWN 3u
#define BLOCK_ROWS 5u
#define LINES_FOR_VERDICT 8u /* the verdict has one in this many of the lines of a screen */

static const struct {
	const char *id, *other; /* other: used if there is no table `id` */
	const char *name;
	bool in_block; /* shown without a terminal, too */
	enum top_time stacks_of;
} tabs[] = {
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

#define TABS (sizeof(tabs) / sizeof(tabs[0]))

static const char help[] = "1-9 0, Left, Right   another table\n"
			   "Up, Down, PgUp, PgDn another row\n"
			   "Enter                the stacks of a row; Esc goes back\n"
			   "s, r                 sort by the next column; in the other order\n"
			   "/                    only rows with a text; Enter keeps it, Esc drops it\n"
			   "Space                stop the screen, and go on; the recording never stops\n"
			   "w                    write the last 30 s as a Chrome trace\n"
			   "q                    end\n";

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const struct kept_table *table_of(const struct top_data *data, unsigned tab)
{
	const struct kept_table *table = kept_table(data->tables, tabs[tab].id);

	return table || !tabs[tab].other ? table : kept_table(data->tables, tabs[tab].other);
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

/* The shown rows, in their order; the caller frees them. */
static size_t *shown_rows(const struct top_view *view, const struct kept_table *table, size_t *count)
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

/* The number of the chosen row in its table; false: there is none. */
static bool chosen_row(const struct top_view *view, const struct kept_table *table, size_t *row)
{
	size_t count, *rows;

	if (!table)
		return false;
	rows = shown_rows(view, table, &count);
	if (view->row < count)
		*row = rows[view->row];
	free(rows);
	return view->row < count;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Takes ownership of the text. */
static void add_line(struct top_page *page, char *text, enum top_look look)
{
	array_push(&page->lines, ((struct top_line){text, look}));
}

/* Shortened to the width of the page; frees the text. */
static void add_shortened(struct top_page *page, char *text, unsigned width, enum top_look look,
			  enum text_truncate where)
{
	char *fitting = NULL;
	size_t size;
	FILE *out = open_memstream(&fitting, &size);

	if (out) {
		text_put(out, text, width, where);
		fclose(out);
		add_line(page, fitting, look);
	}
	free(text);
}

static void add_text(struct top_page *page, char *text, unsigned width, enum top_look look)
{
	add_shortened(page, text, width, look, TEXT_TRUNCATE_END);
}

/* Adds the lines of a text, as many as fit. */
static void add_lines(struct top_page *page, const char *text, unsigned width, unsigned height,
		      enum text_truncate where)
{
	while (*text && page->lines.count < height) {
		size_t length = strcspn(text, "\n");

		add_shortened(page, xasprintf("%.*s", (int)length, text), width, TOP_PLAIN, where);
		text += length + (text[length] == '\n');
	}
}

static char *clock_text(const struct top_data *data)
{
	time_t seconds = (time_t)data->end_wall_s;
	char text[16] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(text, sizeof(text), "%H:%M:%S", &local);
	return xasprintf("%s.%" PRIu64, text, data->end_wall_ms / 100);
}

static char *title_text(const struct top_view *view, const struct top_data *data)
{
	char *clock, *text;

	if (!data->span_ns)
		return xasprintf("gputrace top  %s   waiting for the first records", data->target);
	clock = clock_text(data);
	text = xasprintf("gputrace top  %s   the %s up to %s, every %s%s", data->target,
			 number_time(data->span_ns).text, clock, number_time(data->interval_ns).text,
			 view && view->paused ? "   [stopped: Space goes on]" : "");
	free(clock);
	return text;
}

static double cell_value(const struct kept_table *table, size_t row, const char *key)
{
	unsigned column = kept_column(table, key);

	return column < TABLE_COLUMNS_MAX ? value_of(kept_cell(table, row, column)) : 0;
}

static const char *cell_text(const struct kept_table *table, size_t row, const char *key)
{
	unsigned column = kept_column(table, key);
	const struct cell *cell = column < TABLE_COLUMNS_MAX ? kept_cell(table, row, column) : NULL;

	return !cell ? "" : cell->full ? cell->full : cell->text ? cell->text : "";
}

static char *gpu_text(const struct kept_table *gpus, size_t row)
{
	double busy = cell_value(gpus, row, "busy_percent");
	unsigned full = (unsigned)(busy * BAR_COLUMNS / 100 + 0.5);
	char bar[BAR_COLUMNS + 1];

	for (unsigned i = 0; i < BAR_COLUMNS; i++)
		bar[i] = i < full ? '#' : '.';
	bar[BAR_COLUMNS] = '\0';
	return xasprintf("GPU %.0f [%s] busy %5.1f %%  idle %5.1f %%  %s launches  %s", cell_value(gpus, row, "gpu"),
			 bar, busy, cell_value(gpus, row, "idle_percent"),
			 number_count((uint64_t)cell_value(gpus, row, "launches")).text, cell_text(gpus, row, "name"));
}

struct cause {
	const char *name;
	double ns;
};

static int compare_causes(const void *a, const void *b)
{
	double first = ((const struct cause *)a)->ns, second = ((const struct cause *)b)->ns;

	return (first < second) - (first > second);
}

/* What happened in a row's time; of time before and after all work, and of short gaps, what the row is. */
static const char *cause_name(const struct kept_table *idle, size_t row)
{
	const char *why = cell_text(idle, row, "why");

	return *why ? why : cell_text(idle, row, "line");
}

/* The largest causes of idle time; NULL: no GPU was idle. */
static char *idle_text(const struct kept_table *idle)
{
	ARRAY(struct cause) causes = {0};
	char *text = NULL;

	for (size_t row = 0; idle && row < kept_rows(idle); row++) {
		const char *name = cause_name(idle, row);
		size_t i = 0;

		while (i < causes.count && strcmp(causes.items[i].name, name) != 0)
			i++;
		if (i == causes.count)
			array_push(&causes, ((struct cause){name, 0}));
		causes.items[i].ns += cell_value(idle, row, "idle_ns");
	}
	if (causes.count)
		qsort(causes.items, causes.count, sizeof(*causes.items), compare_causes);
	for (size_t i = 0; i < causes.count && i < CAUSES_SHOWN; i++) {
		AUTO_FREE char *longer = xasprintf("%s%s %s", text ? text : "idle: ", causes.items[i].name,
						   number_time((uint64_t)causes.items[i].ns).text);

		free(text);
		text = i + 1 < causes.count && i + 1 < CAUSES_SHOWN ? xasprintf("%s, ", longer) : xstrdup(longer);
	}
	array_free(&causes);
	return text;
}

/* most: lines for the verdict. */
static void add_header(struct top_page *page, const struct top_view *view, const struct top_data *data, unsigned width,
		       unsigned most)
{
	const struct verdict *verdict = &data->tables->verdict;
	const struct kept_table *gpus = kept_table(data->tables, "gpus");
	char *idle = idle_text(kept_table(data->tables, "idle"));

	add_text(page, title_text(view, data), width, TOP_BOLD);
	for (size_t i = 0; i < verdict->count && i < most; i++)
		add_shortened(page, xstrdup(verdict->lines[i]), width, TOP_PLAIN, TEXT_TRUNCATE_PLACE);
	for (size_t i = 0; gpus && i < kept_rows(gpus) && i < HEADER_GPUS; i++)
		add_text(page, gpu_text(gpus, i), width, TOP_PLAIN);
	if (gpus && kept_rows(gpus) > HEADER_GPUS)
		add_text(page, xasprintf("and %zu more GPUs", kept_rows(gpus) - HEADER_GPUS), width, TOP_PLAIN);
	if (!gpus && data->span_ns)
		add_text(page, xstrdup("no GPU work in this time"), width, TOP_PLAIN);
	if (idle)
		add_text(page, idle, width, TOP_PLAIN);
}

static char *tabs_text(const struct top_view *view, const struct top_data *data)
{
	char *text = xstrdup("");

	for (unsigned i = 0; i < TABS; i++) {
		bool chosen = i == view->tab;
		char *longer;

		if (!chosen && !table_of(data, i))
			continue;
		longer = xasprintf("%s%s%u %s%s", text, chosen ? "[" : " ", (i + 1) % 10, tabs[i].name,
				   chosen ? "]" : "");
		free(text);
		text = longer;
	}
	return text;
}

/* The first column of a line, else the first name. */
static unsigned column_of_names(const struct table *part)
{
	unsigned name = part->count;

	for (unsigned c = part->count; c-- > 0;)
		if (column_is_shown(&part->columns[c]) && part->columns[c].is_name)
			name = c;
	for (unsigned c = 0; c < part->count; c++)
		if (column_is_shown(&part->columns[c]) && part->columns[c].truncate == TEXT_TRUNCATE_PLACE)
			return c;
	return name;
}

/* Shows who called lines in place of the launch, where that is known; a screen has no notes below rows. */
static void show_callers(const struct kept_table *table, const struct table *part, struct column *columns)
{
	unsigned caller = kept_column(table, "called_from"), launch = kept_column(table, "launch");
	bool is_known = false;

	for (size_t i = caller; caller < part->count && i < part->cells.count; i += part->count)
		is_known |= part->cells.items[i].kind == CELL_TEXT;
	if (!is_known)
		return;
	columns[caller].title = "called from";
	columns[caller].is_name = true;
	columns[caller].truncate = TEXT_TRUNCATE_PLACE;
	if (launch < TABLE_COLUMNS_MAX)
		columns[launch].title = COLUMN_NOT_SHOWN;
}

/* Leaves out columns from the last on, until the others fit; the line stays, and as long as possible a number. */
static void fit_columns(const struct table *part, struct column *columns, unsigned width)
{
	unsigned first = 0, names = column_of_names(part);

	while (first + 1 < part->count && !column_is_shown(&columns[first]))
		first++;
	for (unsigned c = part->count; c-- > 0 && table_least(part) > width;)
		if (c != first && c != names)
			columns[c].title = COLUMN_NOT_SHOWN;
	if (names < part->count && first != names && table_least(part) > width)
		columns[first].title = COLUMN_NOT_SHOWN;
}

/* The rows as text, title row first, as on a page of the report. */
static char *rows_text(const struct kept_table *table, const size_t *rows, size_t count, unsigned width)
{
	struct column columns[TABLE_COLUMNS_MAX];
	struct table part = {.columns = columns, .count = table->table.count};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < part.count; k++)
			array_push(&part.cells, *kept_cell(table, rows[i], k));
	memcpy(columns, table->columns, part.count * sizeof(*columns));
	show_callers(table, &part, columns);
	fit_columns(&part, columns, width);
	if (out) {
		table_put(&part, out, &(struct table_look){.width = width, .truncates = true});
		fclose(out);
	}
	array_free(&part.cells); /* the table owns the texts */
	return text;
}

static void scroll_to_chosen(struct top_view *view, size_t count, unsigned room)
{
	if (view->row >= count)
		view->row = count ? count - 1 : 0;
	if (view->row < view->first)
		view->first = view->row;
	if (view->row >= view->first + room)
		view->first = view->row - room + 1;
	if (view->first + room > count)
		view->first = count > room ? count - room : 0;
}

static void add_rows(struct top_page *page, struct top_view *view, const struct kept_table *table, unsigned width,
		     unsigned height)
{
	unsigned room = height > page->lines.count + 1 ? height - (unsigned)page->lines.count - 1 : 0;
	size_t count, *rows = shown_rows(view, table, &count), title = page->lines.count;
	AUTO_FREE char *text = NULL;

	scroll_to_chosen(view, count, room ? room : 1);
	text = rows_text(table, rows + view->first, count - view->first < room ? count - view->first : room, width);
	add_lines(page, text ? text : "", width, height, TEXT_TRUNCATE_END);
	if (page->lines.count > title)
		page->lines.items[title].look = TOP_BOLD;
	if (count && title + 1 + view->row - view->first < page->lines.count)
		page->lines.items[title + 1 + view->row - view->first].look = TOP_CHOSEN;
	free(rows);
}

static void add_body(struct top_page *page, struct top_view *view, const struct top_data *data, unsigned width,
		     unsigned height)
{
	const struct kept_table *table = table_of(data, view->tab);
	const char *stacks = view->stacks ? view->stacks : "";

	if (view->mode == TOP_HELP) {
		add_lines(page, help, width, height, TEXT_TRUNCATE_END);
	} else if (view->mode == TOP_STACKS) {
		for (size_t i = 0; i < view->first && strchr(stacks, '\n'); i++)
			stacks = strchr(stacks, '\n') + 1;
		add_lines(page, stacks, width, height, TEXT_TRUNCATE_MIDDLE); /* the line is at the end */
	} else if (table) {
		add_rows(page, view, table, width, height);
	} else {
		add_text(page, xasprintf("  %s: nothing in this time", tabs[view->tab].name), width, TOP_PLAIN);
	}
}

static char *bottom_text(const struct top_view *view)
{
	if (view->mode == TOP_FILTER)
		return xasprintf("rows with: %s_", view->filter);
	if (*view->status)
		return xstrdup(view->status);
	if (view->mode == TOP_STACKS || view->mode == TOP_HELP)
		return xstrdup("Esc goes back  Up, Down move  q end");
	if (*view->filter)
		return xasprintf("rows with '%s'   / another text   ? help   q end", view->filter);
	return xstrdup("Enter stacks  s sort  / filter  Space stop  w write 30 s  ? help  q end");
}

void top_page_make(struct top_page *page, struct top_view *view, const struct top_data *data, unsigned width,
		   unsigned height)
{
	*page = (struct top_page){0};
	text_begin();
	add_header(page, view, data, width, height / LINES_FOR_VERDICT);
	add_text(page, tabs_text(view, data), width, TOP_BOLD);
	if (page->lines.count + 2 < height)
		add_body(page, view, data, width, height - 1);
	while (page->lines.count + 1 < height)
		add_line(page, xstrdup(""), TOP_PLAIN);
	add_text(page, bottom_text(view), width, TOP_BOLD);
	while (page->lines.count > height)
		free(page->lines.items[--page->lines.count].text);
	text_end();
}

void top_page_free(struct top_page *page)
{
	for (size_t i = 0; i < page->lines.count; i++)
		free(page->lines.items[i].text);
	array_free(&page->lines);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void choose_tab(struct top_view *view, unsigned tab)
{
	if (tab >= TABS)
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
		tab = (tab + by) % TABS;
	while (tab != view->tab && !table_of(data, tab));
	choose_tab(view, tab);
}

/* Sorts by the next shown column; after the last one, the table's own order. */
static void sort_by_next(struct top_view *view, const struct kept_table *table)
{
	unsigned column = view->is_sorted ? view->sort + 1 : 0;

	if (!table)
		return;
	while (column < table->table.count && !column_is_shown(&table->columns[column]))
		column++;
	view->is_sorted = column < table->table.count;
	view->sort = column;
	if (view->is_sorted)
		snprintf(view->status, sizeof(view->status), "sorted by %s", table->columns[column].title);
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
		sort_by_next(view, table_of(data, view->tab));
		break;
	case 'r':
		view->is_reversed = !view->is_reversed;
		view->is_sorted = true;
		break;
	case TOP_KEY_LEFT:
		move_tab(view, data, TABS - 1);
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

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

char *top_row_needle(const struct top_view *view, const struct top_data *data, enum top_time *time)
{
	const struct kept_table *table = table_of(data, view->tab);
	const char *file;
	size_t row = 0;

	*time = tabs[view->tab].stacks_of;
	if (!chosen_row(view, table, &row))
		return NULL;
	if (kept_column(table, "kernel") < TABLE_COLUMNS_MAX)
		return xasprintf(";%s", cell_text(table, row, "kernel"));
	file = cell_text(table, row, "file");
	return *file ? xasprintf("(%s:%.0f)", path_base(file), cell_value(table, row, "line_number")) : NULL;
}

void top_view_free(struct top_view *view)
{
	free(view->stacks);
}

/* ---- without a terminal ------------------------------------------------------------------------------------------ */

void top_block_put(FILE *out, const struct top_data *data, unsigned width)
{
	struct top_page page = {0};
	size_t rows[BLOCK_ROWS];

	for (size_t i = 0; i < BLOCK_ROWS; i++)
		rows[i] = i;
	text_begin();
	add_header(&page, NULL, data, width, VERDICT_LINES);
	for (size_t i = 0; i < page.lines.count; i++)
		fprintf(out, "%s\n", page.lines.items[i].text);
	for (unsigned i = 0; i < TABS; i++) {
		const struct kept_table *table = tabs[i].in_block ? table_of(data, i) : NULL;
		size_t count = table ? kept_rows(table) : 0;
		AUTO_FREE char *text =
			table ? rows_text(table, rows, count < BLOCK_ROWS ? count : BLOCK_ROWS, width) : NULL;

		if (text)
			fprintf(out, "%s\n%s", table->title, text);
	}
	fprintf(out, "\n");
	text_end();
	top_page_free(&page);
}
