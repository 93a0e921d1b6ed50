/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collectives without a sequence number, by their order: the n-th of a process group in a step of torch.profiler
 * (ProfilerStep#N).  All ranks make the collectives of a group in one order, and a step that is whole in the file has
 * all of its.  A key also has what all collectives of the group in that step are, so ranks that made others in it have
 * none in common there.
 */
#pragma once

#include "base/array.h"
#include "model/collectives.h"

struct step_position {
	uint64_t group; /* the same on every rank */
	uint64_t what;	/* op, type and, where all ranks have the same, size */
	uint64_t step;
	uint64_t launch_ns;
	size_t index; /* of its arrival */
};

struct step_positions {
	ARRAY(struct step_position) list;
};

void step_positions_add(struct step_positions *all, const struct collective *collective, uint64_t step,
			uint64_t launch_ns, size_t index);

/* Passes each one's key on, with its index. */
void step_positions_finish(struct step_positions *all, void (*take)(void *context, size_t index, uint64_t key),
			   void *context);
