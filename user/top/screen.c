/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ncurses.h>

#include "base/monotonic.h"
#include "top/page.h"

#define SPAN_NS 2000000000ull /* length of the shown span, or one interval if that is longer */
#define COST_MOST 50u	      /* looks take at most 1/50 of a processor: 2 % */
#define BLOCK_COLUMNS 100u
#define ESCAPE_MS 25 /* the rest of a key's sequence arrives within this time */

/* The latest look. */
struct look {
	const struct top *top;
	struct live_log live;
	struct kept_tables tables;
	struct top_data data;
	uint64_t from_ns, to_ns;
	uint64_t next_ns, interval_ns;
	unsigned width; /* of the screen */
};

static uint64_t own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void look_open(struct look *look, const struct top *top)
{
	*look = (struct look){.top = top, .interval_ns = top->interval_ns};
	look->data = (struct top_data){.tables = &look->tables, .target = top->target};
	live_log_open(&look->live, top->log_fd);
}

/* If the span cannot be read, the previous data stay. */
static void take_span(struct look *look, uint64_t from_ns, uint64_t to_ns)
{
	struct kept_tables tables;
	int64_t wall_ns = (int64_t)to_ns + look->live.wall_offset_ns;

	if (live_log_tables(&look->live, from_ns, to_ns, look->width, &tables)) {
		kept_tables_free(&tables);
		return;
	}
	kept_tables_free(&look->tables);
	look->tables = tables;
	look->from_ns = from_ns;
	look->to_ns = to_ns;
	look->data.span_ns = to_ns - from_ns;
	look->data.end_wall_s = wall_ns / 1000000000;
	look->data.end_wall_ms = (uint64_t)(wall_ns % 1000000000) / 1000000;
}

/* Returns whether there is something new. */
static bool look_again(struct look *look, bool paused)
{
	uint64_t begin_ns = own_cpu_ns(), from_ns, to_ns, cost_ns;
	bool is_new = live_log_update(&look->live) && !paused;

	live_log_free_old(&look->live);
	is_new = is_new && live_log_span(&look->live, look->interval_ns > SPAN_NS ? look->interval_ns : SPAN_NS,
					 &from_ns, &to_ns);
	if (is_new)
		take_span(look, from_ns, to_ns);
	cost_ns = (own_cpu_ns() - begin_ns) * COST_MOST;
	if (is_new)
		look->interval_ns = cost_ns > look->top->interval_ns ? cost_ns : look->top->interval_ns;
	look->data.interval_ns = look->interval_ns;
	look->next_ns = monotonic_ns() + look->interval_ns;
	return is_new;
}

static void look_close(struct look *look)
{
	kept_tables_free(&look->tables);
}

/* Waits until the next look is due or there is input; true: the recording is over. */
static bool wait_for_next(const struct look *look, int keys)
{
	struct pollfd from[] = {{.fd = look->top->ended_fd, .events = POLLIN}, {.fd = keys, .events = POLLIN}};
	uint64_t now_ns = monotonic_ns();
	uint64_t left_ns = look->next_ns > now_ns ? look->next_ns - now_ns : 0;

	return poll(from, keys < 0 ? 1 : 2, (int)(left_ns / 1000000 + 1)) > 0 && from[0].revents;
}

/* ---- a terminal -------------------------------------------------------------------------------------------------- */

static uint32_t key_of(int code)
{
	static const struct {
		int code;
		uint32_t key;
	} keys[] = {
		{KEY_UP, TOP_KEY_UP},
		{KEY_DOWN, TOP_KEY_DOWN},
		{KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},
		{KEY_END, TOP_KEY_END},
		{KEY_LEFT, TOP_KEY_LEFT},
		{KEY_RIGHT, TOP_KEY_RIGHT},
		{KEY_ENTER, TOP_KEY_ENTER},
		{'\n', TOP_KEY_ENTER},
		{'\r', TOP_KEY_ENTER},
		{27, TOP_KEY_ESCAPE},
		{KEY_BACKSPACE, TOP_KEY_BACKSPACE},
		{127, TOP_KEY_BACKSPACE},
		{'\b', TOP_KEY_BACKSPACE},
	};

	return value_of_first(sizeof(keys) / sizeof(keys[0]), i, keys[i].code == code, keys[i].key,
			      code < KEY_MIN ? (uint32_t)code : 0);
}

static void draw_page(struct top_view *view, const struct look *look)
{
	static const attr_t looks[] = {[TOP_PLAIN] = A_NORMAL, [TOP_BOLD] = A_BOLD, [TOP_CHOSEN] = A_REVERSE};
	struct top_page page;

	top_page_make(&page, view, &look->data, (unsigned)COLS, (unsigned)LINES);
	erase();
	for (size_t i = 0; i < page.lines.count; i++) {
		attrset((int)looks[page.lines.items[i].look]);
		mvaddstr((int)i, 0, page.lines.items[i].text);
	}
	attrset(A_NORMAL);
	refresh();
	top_page_free(&page);
}

static void open_stacks(struct top_view *view, const struct look *look)
{
	enum top_time time;
	char *needle = top_row_needle(view, &look->data, &time), *folded = NULL;

	if (needle && live_log_stacks(&look->live, look->from_ns, look->to_ns, time, &folded) == 0) {
		free(view->stacks);
		view->stacks = top_stacks(folded, needle, time);
		view->mode = TOP_STACKS;
		view->first = 0;
	} else {
		snprintf(view->status, sizeof(view->status), "this row has no stacks");
	}
	free(folded);
	free(needle);
}

static void write_last(struct top_view *view, const struct look *look)
{
	uint64_t from_ns, to_ns;

	if (live_log_span(&look->live, LIVE_LOG_KEPT_NS, &from_ns, &to_ns))
		look->top->write(&look->live, from_ns, to_ns, view->status, sizeof(view->status));
}

/* Returns whether the user quits. */
static bool take_keys(struct top_view *view, const struct look *look)
{
	int code;

	while ((code = getch()) != ERR)
		switch (top_view_key(view, &look->data, key_of(code))) {
		case TOP_QUIT:
			return true;
		case TOP_WRITE:
			write_last(view, look);
			break;
		case TOP_OPEN_STACKS:
			open_stacks(view, look);
			break;
		case TOP_NOTHING:
			break;
		}
	return false;
}

static bool show_until_end(const struct top *top)
{
	struct top_view view = {0};
	struct look look;
	bool quit = false;

	look_open(&look, top);
	do {
		look.width = (unsigned)COLS;
		if (monotonic_ns() >= look.next_ns)
			look_again(&look, view.paused);
		quit = take_keys(&view, &look);
		draw_page(&view, &look);
	} while (!quit && !top->is_ended() && !wait_for_next(&look, fileno(top->in)));
	look_close(&look);
	top_view_free(&view);
	return quit;
}

bool top_on_terminal(const struct top *top, bool *known)
{
	SCREEN *screen = newterm(NULL, top->out, top->in);
	const char *move = screen ? tigetstr("cup") : NULL;
	bool quit;

	/* TERM=dumb is known, but text cannot be put anywhere. -1: no such capability */
	*known = move && move != (const char *)-1;
	if (!*known) {
		if (screen)
			delscreen(screen);
		return false;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	quit = show_until_end(top);
	endwin();
	delscreen(screen);
	return quit;
}

/* ---- no terminal ------------------------------------------------------------------------------------------------- */

void top_in_blocks(const struct top *top)
{
	struct look look;

	look_open(&look, top);
	look.width = BLOCK_COLUMNS;
	do {
		if (monotonic_ns() >= look.next_ns && look_again(&look, false)) {
			top_block_put(top->out, &look.data, BLOCK_COLUMNS);
			fflush(top->out);
		}
	} while (!top->is_ended() && !ferror(top->out) && !wait_for_next(&look, -1));
	look_close(&look);
}
