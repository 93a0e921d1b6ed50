/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums over GPU operations.  Operations without times come with the part of the trace in which they arrived; their sums
 * are put first here, so that the order of sums does not depend on parts.
 */
#pragma once

#include "base/tally.h"
#include "model/model.h"

struct gpu_tally {
	struct tally untimed, timed;
};

/* As tally_at. */
static inline struct tally_entry *gpu_tally_at(struct gpu_tally *sums, const struct model_gpu *op, struct tally_key key)
{
	return tally_at(op->start_ns ? &sums->timed : &sums->untimed, key);
}

/* Merges all sums into one tally, which sums keeps. */
static inline const struct tally *gpu_tally_all(struct gpu_tally *sums)
{
	struct tally all = sums->untimed;

	if (!all.count)
		return &sums->timed;
	for (size_t i = 0; i < sums->timed.count; i++) {
		const struct tally_entry *sum = &sums->timed.entries[i];
		struct tally_entry *entry = tally_at(&all, sum->key);

		entry->ns += sum->ns;
		entry->count += sum->count;
		entry->more += sum->more;
	}
	tally_free(&sums->timed);
	sums->timed = all;
	sums->untimed = (struct tally){0};
	return &sums->timed;
}

static inline void gpu_tally_free(struct gpu_tally *sums)
{
	tally_free(&sums->untimed);
	tally_free(&sums->timed);
}
