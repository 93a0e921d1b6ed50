/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/order.h"
#include "report/table/text.h"
#include "top/tabs.h"

#define HEADER_GPUS 4u	/* GPUs with a line of their own */
#define BAR_COLUMNS 20u /* width of a GPU's busy bar */
#define CAUSES_SHOWN 3u
#define BLOCK_ROWS 5u
#define LINES_FOR_VERDICT 8u /* the verdict has one in this many of the lines of a screen */

static const char help[] = "1-9 0, Left, Right   another table\n"
			   "Up, Down, PgUp, PgDn another row\n"
			   "Enter                the stacks of a row; Esc goes back\n"
			   "s, r                 sort by the next column; in the other order\n"
			   "/                    only rows with a text; Enter keeps it, Esc drops it\n"
			   "Space                stop the screen, and go on; the recording never stops\n"
			   "w                    write the last 30 s as a Chrome trace\n"
			   "q                    end\n";

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
	AUTO_FREE char *clock = NULL;

	if (!data->span_ns)
		return xasprintf("gputrace top  %s   waiting for the first records", data->target);
	clock = clock_text(data);
	return xasprintf("gputrace top  %s   the %s up to %s, every %s%s", data->target,
			 number_time(data->span_ns).text, clock, number_time(data->interval_ns).text,
			 view && view->paused ? "   [stopped: Space goes on]" : "");
}

static char *gpu_text(const struct kept_table *gpus, size_t row)
{
	double busy = top_cell_value(gpus, row, "busy_percent");
	unsigned full = (unsigned)(busy * BAR_COLUMNS / 100 + 0.5);
	char bar[BAR_COLUMNS + 1];

	for (unsigned i = 0; i < BAR_COLUMNS; i++)
		bar[i] = i < full ? '#' : '.';
	bar[BAR_COLUMNS] = '\0';
	return xasprintf("GPU %.0f [%s] busy %5.1f %%  idle %5.1f %%  %s launches  %s",
			 top_cell_value(gpus, row, "gpu"), bar, busy, top_cell_value(gpus, row, "idle_percent"),
			 number_count((uint64_t)top_cell_value(gpus, row, "launches")).text,
			 top_cell_text(gpus, row, "name"));
}

struct cause {
	const char *name;
	double ns;
};

DEFINE_ORDER(compare_causes, struct cause, higher_first(a->ns, b->ns))

/* What happened in a row's time; of time before and after all work, and of short gaps, what the row is. */
static const char *cause_name(const struct kept_table *idle, size_t row)
{
	const char *why = top_cell_text(idle, row, "why");

	return *why ? why : top_cell_text(idle, row, "line");
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
		causes.items[i].ns += top_cell_value(idle, row, "idle_ns");
	}
	array_sort(&causes, compare_causes);
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

	for (unsigned i = 0; i < TOP_TABS; i++) {
		bool chosen = i == view->tab;
		char *longer;

		if (!chosen && !top_tab_table(data, i))
			continue;
		longer = xasprintf("%s%s%u %s%s", text, chosen ? "[" : " ", (i + 1) % 10, top_tabs[i].name,
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
	memcpy(columns, table->table.columns, part.count * sizeof(*columns));
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
	size_t count, *rows = top_shown_rows(view, table, &count), title = page->lines.count;
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
	const struct kept_table *table = top_tab_table(data, view->tab);
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
		add_text(page, xasprintf("  %s: nothing in this time", top_tabs[view->tab].name), width, TOP_PLAIN);
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
	for (unsigned i = 0; i < TOP_TABS; i++) {
		const struct kept_table *table = top_tabs[i].in_block ? top_tab_table(data, i) : NULL;
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
