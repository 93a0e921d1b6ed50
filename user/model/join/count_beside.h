/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receipt's counts of a long log (receipt.h), made by another thread while whoever asked for a part looks at
 * it: both only read it.
 *
 *	count_beside_add(&count, part);		for each part, in order of time
 *	count_beside_wait(&count);		before the part changes
 */
#ifndef GPUTRACE_MODEL_COUNT_BESIDE_H
#define GPUTRACE_MODEL_COUNT_BESIDE_H

#include "base/workers.h"
#include "model/join/receipt.h"

/* Starts zeroed. */
struct count_beside {
	struct receipt_count count; /* complete when nothing runs */
	const struct model *part;
	struct work work;
};

/* A small part is counted before this returns. */
void count_beside_add(struct count_beside *beside, const struct model *part);
void count_beside_wait(struct count_beside *beside);
void count_beside_free(struct count_beside *beside);

#endif
