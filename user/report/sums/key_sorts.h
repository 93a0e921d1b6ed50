/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sort keys of the table of ops, under torch.profiler's names for them. */
#pragma once

#include "analyze/sums/key_averages.h"

struct key_sort {
	const char *name;
	double (*value)(const struct key_row *row);
};

/* NULL: there is no such key. */
const struct key_sort *key_sort_by_name(const char *name);

/* "cpu_time, cpu_time_total, ..." */
const char *key_sort_names(void);

/* Most first; equal rows keep their order, that of their first events. */
void key_rows_sort(struct key_averages *keys, const struct key_sort *sort);

/* By Self CUDA or, if there is none, by Self CPU. */
void key_rows_sort_as_usual(struct key_averages *keys);
