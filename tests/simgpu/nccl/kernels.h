/*
 * kernels.h: a kernel of NCCL: it begins when its stream lets it, spins until the kernels of the ranks
 * that it needs have begun, transfers, and ends on all ranks at nearly the same moment.
 */
#pragma once

#include "../core/sim.h"
#include "peers.h"

#define KERNEL_OPERATIONS_MAX 512

/* How long these bytes take. */
uint64_t kernels_transfer_ns(uint64_t bytes);

/* What the next launch is. It stays: a graph may have it as a node. */
const struct sim_meeting *kernels_meet(struct peers *peers, int ranks, int rank, const struct operation *operations,
				       int count);
