/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The margin of a listing of source: the figures of a line in columns, of which those are there that have any. */
#ifndef GPUTRACE_REPORT_SOURCE_MARGIN_H
#define GPUTRACE_REPORT_SOURCE_MARGIN_H

#include "analyze/sums/line_costs.h"
#include "report/page.h"

#define MARGIN_COLUMNS 15u
#define MARGIN_CELL_BYTES 32u

struct margin_figures {
	char cells[MARGIN_COLUMNS][MARGIN_CELL_BYTES]; /* "" where there is nothing */
};

/* Of one function. */
struct margin {
	struct time_unit unit;
	uint64_t whole_ns;		 /* of which shares are */
	unsigned widths[MARGIN_COLUMNS]; /* 0: nothing stands there */
};

struct margin_figures margin_figures(const struct margin *margin, const struct line_cost_row *row, uint32_t number);
struct margin_figures margin_titles(const struct margin *margin);

/* There is room for them, and for the titles of their columns. */
void margin_widen(struct margin *margin, const struct margin_figures *figures);

/* Returns how many columns it took. */
unsigned margin_put(const struct report *report, const struct margin *margin, const struct margin_figures *figures);

/* A whole line, with the source after the figures. */
void margin_put_row(const struct report *report, const struct margin *margin, const struct margin_figures *figures,
		    const char *text);

#endif
