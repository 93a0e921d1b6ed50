/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `gputrace top` shows, as lines of text, and what keys do with it.  Knows no terminal: screen.c draws the lines,
 * block.c prints some of them where there is none.
 */
#ifndef GPUTRACE_TOP_PAGE_H
#define GPUTRACE_TOP_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "top/tables.h"

#define TOP_FILTER_MAX 64

enum top_mode {
	TOP_TABLE,
	TOP_FILTER, /* what is typed goes into the filter */
	TOP_STACKS, /* of the row that was chosen */
	TOP_HELP,
};

/* Keys that are no characters. */
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

/* What a key asks of others. */
enum top_request {
	TOP_NOTHING,
	TOP_QUIT,
	TOP_WRITE,	/* the last seconds into a file */
	TOP_OPEN_STACKS /* of the row: top_row_needle */
};

struct top_view {
	enum top_mode mode;
	unsigned tab;
	bool is_sorted; /* false: in the table's own order */
	bool is_reversed;
	unsigned sort; /* column */
	char filter[TOP_FILTER_MAX];
	size_t row, first; /* chosen; the first on the screen */
	bool paused;
	char *stacks; /* lines; NULL: none */
	char status[160];
};

/* What is shown, and when it was. */
struct top_data {
	const struct kept_tables *tables;
	const char *target;
	uint64_t span_ns;     /* that the tables are of; 0: nothing is there yet */
	uint64_t interval_ns; /* from one look to the next */
	int64_t end_wall_s;   /* CLOCK_REALTIME of the span's end */
	uint64_t end_wall_ms; /* of that second */
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

/* A part of a folded stack that all stacks of the chosen row have; to be freed, NULL: it is no row with stacks. */
char *top_row_needle(const struct top_view *view, const struct top_data *data);

/* The stacks of folded text that have it, most first, as lines to be freed. */
char *top_stacks(const char *folded, const char *needle);

void top_view_free(struct top_view *view);

/* Without a terminal: the first rows of each table that matters. */
void top_block_put(FILE *out, const struct top_data *data, unsigned width);

#endif
