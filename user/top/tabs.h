/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tabs of `gputrace top`: which table each shows, and which rows of it, in which order. */
#pragma once

#include "top/page.h"

#define TOP_TABS 10u

extern const struct top_tab {
	const char *id, *other; /* other: used if there is no table `id` */
	const char *name;
	bool in_block; /* shown without a terminal, too */
	enum top_time stacks_of;
} top_tabs[TOP_TABS];

/* NULL: there is none. */
const struct kept_table *top_tab_table(const struct top_data *data, unsigned tab);

/* The shown rows, in their order; the caller frees them. */
size_t *top_shown_rows(const struct top_view *view, const struct kept_table *table, size_t *count);

/* The cell of the column with that key; "", 0: there is none. */
const char *top_cell_text(const struct kept_table *table, size_t row, const char *key);
double top_cell_value(const struct kept_table *table, size_t row, const char *key);
