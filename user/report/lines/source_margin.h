/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The margin of a source listing: the figures of a line in columns; columns without any figures are left out. */
#pragma once

#include "analyze/costs/line_costs.h"
#include "report/page/page.h"

#define MARGIN_COLUMNS 17u
#define MARGIN_CELL_BYTES 32u

struct margin_figures {
	char cells[MARGIN_COLUMNS][MARGIN_CELL_BYTES]; /* "" if there is no figure */
};

/* The margin of one function. */
struct margin {
	struct time_unit unit;
	uint64_t whole_ns;		 /* shares are shares of it */
	unsigned widths[MARGIN_COLUMNS]; /* 0: the column is left out */
};

struct margin_figures margin_figures(const struct margin *margin, const struct line_cost_row *row, uint32_t number);
struct margin_figures margin_titles(const struct margin *margin);

/* Makes room for the figures, and for the titles of their columns. */
void margin_widen(struct margin *margin, const struct margin_figures *figures);

/* Returns the number of columns written. */
unsigned margin_put(const struct report *report, const struct margin *margin, const struct margin_figures *figures);

/* Writes a whole line, with the source after the figures. */
void margin_put_row(const struct report *report, const struct margin *margin, const struct margin_figures *figures,
		    const char *text);
