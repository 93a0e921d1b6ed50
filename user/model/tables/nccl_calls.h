/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls by which NCCL launches kernels, with their collective: becomes model.nccl_calls. */
#pragma once

#include "base/array.h"
#include "model/model.h"

struct nccl_calls {
	ARRAY(struct model_collective) list;
	bool unordered;
};

void nccl_calls_add(struct nccl_calls *calls, const struct model_collective *call);

/* Sorts by time and thread; evicts calls of long past parts of a long trace. */
void nccl_calls_order(struct nccl_calls *calls);
