/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `gputrace top` shows, as lines of text, and what keys do with it.  It knows no terminal: screen.c draws the
 * lines; top_block_put prints some of them where there is none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "top/stacks.h"
#include "top/tables.h"

#define TOP_FILTER_MAX 64

enum top_mode {
	TOP_TABLE,
	TOP_FILTER, /* typed characters go into the filter */
	TOP_STACKS, /* the stacks of the chosen row */
	TOP_HELP,
};

/* Keys that are not characters. */
enum top_key {
	TOP_KEY_UP = 0x110000, /* above Unicode */
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
};

/* What a key asks of the caller. */
enum top_request {
	TOP_NOTHING,
	TOP_QUIT,
	TOP_WRITE,	/* write the last seconds into a file */
	TOP_OPEN_STACKS /* show the stacks of the row: top_row_needle */
};

struct top_view {
	enum top_mode mode;
	unsigned tab;
	bool is_sorted; /* false: in the table's own order */
	bool is_reversed;
	unsigned sort; /* column */
	char filter[TOP_FILTER_MAX];
	size_t row, first; /* the chosen row; the first row on the screen */
	bool paused;
	char *stacks; /* lines; NULL: none */
	char status[160];
};

/* The data shown, and its time. */
struct top_data {
	const struct kept_tables *tables;
	const char *target;
	uint64_t span_ns;     /* length of the span of the tables; 0: nothing is there yet */
	uint64_t interval_ns; /* from one look to the next */
	int64_t end_wall_s;   /* CLOCK_REALTIME of the span's end */
	uint64_t end_wall_ms; /* milliseconds of that second */
};

enum top_look {
	TOP_PLAIN,
	TOP_BOLD,
	TOP_CHOSEN,
};

struct top_line {
	char *text;
	enum top_look look;
};

struct top_page {
	ARRAY(struct top_line) lines;
};

/* At most `height` lines of at most `width` columns. */
void top_page_make(struct top_page *page, struct top_view *view, const struct top_data *data, unsigned width,
		   unsigned height);
void top_page_free(struct top_page *page);

enum top_request top_view_key(struct top_view *view, const struct top_data *data, uint32_t key);

/*
 * A text that occurs in all folded stacks of the chosen row, and of which time these stacks are; the caller frees it.
 * NULL: the row has no stacks.
 */
char *top_row_needle(const struct top_view *view, const struct top_data *data, enum top_time *time);

void top_view_free(struct top_view *view);

/* Without a terminal: prints the first rows of each table marked in_block (tabs.c). */
void top_block_put(FILE *out, const struct top_data *data, unsigned width);
