/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the table of ops can be sorted by, under the names that torch.profiler has for them. */
#ifndef GPUTRACE_REPORT_KEY_SORTS_H
#define GPUTRACE_REPORT_KEY_SORTS_H

#include "analyze/sums/key_averages.h"

struct key_sort {
	const char *name;
	double (*value)(const struct key_row *row);
};

/* NULL: there is none of that name. */
const struct key_sort *key_sort_by_name(const char *name);

/* "cpu_time, cpu_time_total, ..." */
const char *key_sort_names(void);

/* Most first; what is equal stays in its order, that of what came first. */
void key_rows_sort(struct key_averages *keys, const struct key_sort *sort);

/* By Self CUDA, where there is none by Self CPU. */
void key_rows_sort_as_usual(struct key_averages *keys);

#endif
