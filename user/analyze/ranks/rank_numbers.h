/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rank of a process, or of each of its GPUs, by the groups of its collectives.  A process that drives several GPUs
 * with collectives, and makes none with torch.distributed, is a rank for each of them.
 */
#pragma once

#include "base/array.h"
#include "model/collectives.h"

struct rank_number {
	uint32_t device; /* model_device.id; NONE: the process */
	bool is_known;	 /* a group was seen; rank may be -1 all the same */
	int64_t rank, world, largest;
	uint64_t unnumbered; /* as in arriving_rank */
};

struct rank_numbers {
	struct rank_number all;
	ARRAY(struct rank_number) gpus; /* as they came */
	bool has_ops;			/* a collective was one of torch.distributed */
};

/* A collective on a GPU. */
void rank_numbers_add(struct rank_numbers *numbers, uint32_t device, const struct collective *collective, bool is_op);

/* Counts one that has no number, of a GPU that was added. */
void rank_numbers_add_unnumbered(struct rank_numbers *numbers, uint32_t device);

/* How many GPUs are ranks; 0: the process is one. */
static inline size_t rank_numbers_gpus(const struct rank_numbers *numbers)
{
	return numbers->has_ops || numbers->gpus.count < 2 ? 0 : numbers->gpus.count;
}

void rank_numbers_free(struct rank_numbers *numbers);
