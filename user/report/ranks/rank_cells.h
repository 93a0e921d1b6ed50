/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cells and words that tables of ranks share. */
#pragma once

#include <inttypes.h>

#include "analyze/ranks/ranks.h"
#include "report/page/page.h"

/* Below 0: not known. */
static inline void table_add_rank(struct table *table, int64_t rank)
{
	table_add_id(table, (uint64_t)rank);
	table_unset_unless(table, rank >= 0, "?");
}

static inline void table_add_ms(struct table *table, uint64_t ns)
{
	table_add_integer(table, number_tenths((double)ns / 1e6), ns);
}

static inline void table_add_ms_avg(struct table *table, double ns)
{
	table_add_value(table, number_tenths(ns / 1e6), ns);
}

/* "rank 3", "a rank whose number is not known"; the caller frees it. */
static inline char *rank_name(const struct rank_row *row)
{
	return row->of->rank < 0 ? xstrdup("a rank whose number is not known")
				 : xasprintf("rank %" PRId64, row->of->rank);
}
