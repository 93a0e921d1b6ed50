/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cells and words that tables of ranks share. */
#pragma once

#include <inttypes.h>

#include "analyze/ranks/ranks.h"
#include "report/page/row_table.h"

/* Below 0: not known. */
static inline void table_add_rank(struct table *table, const char *title, const char *key, int64_t rank)
{
	table_add_id(table, title, key, (uint64_t)rank);
	table_unset_unless(table, rank >= 0, "?");
}

static inline void table_add_ms(struct table *table, const char *title, const char *key, uint64_t ns)
{
	table_add_integer(table, title, key, UNIT_NS, number_tenths((double)ns / 1e6), ns);
}

static inline void table_add_ms_avg(struct table *table, const char *title, const char *key, double ns)
{
	table_add_value(table, title, key, UNIT_NS_AVG, number_tenths(ns / 1e6), ns);
}

/* A row for each rank. */
static inline struct row_list list_of_ranks(const struct ranks *ranks, const void *context)
{
	static const struct arriving_rank no_one = {.device = NONE};
	static const struct rank_row none = {.of = &no_one};

	return (struct row_list){ROWS_OF(&ranks->rows), .none = &none, .context = context, .has_all = true};
}

/* A rank and its GPU, where GPUs of one process are ranks; device: NONE: the rank is a process. */
static inline void table_add_rank_gpu(struct table *table, bool has_gpus, int64_t rank, uint32_t device)
{
	table_add_rank(table, "rank", "rank", rank);
	table_add_id(table, has_gpus ? "GPU" : NULL, "gpu", device);
	table_unset_unless(table, device != NONE, "-");
}

/* "rank 3", "GPU 1 of process 400", "a rank whose number is not known"; the caller frees it. */
static inline char *rank_name(const struct rank_row *row)
{
	if (row->of->rank < 0 && row->of->device != NONE)
		return xasprintf("GPU %" PRIu32 " of process %" PRIu32, row->of->device, row->of->pid);
	return row->of->rank < 0 ? xstrdup("a rank whose number is not known")
				 : xasprintf("rank %" PRId64, row->of->rank);
}
