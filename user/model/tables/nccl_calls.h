/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls by which NCCL launches kernels, and for which collective: model.nccl_calls while it is made. */
#ifndef GPUTRACE_MODEL_NCCL_CALLS_H
#define GPUTRACE_MODEL_NCCL_CALLS_H

#include "base/array.h"
#include "model/model.h"

struct nccl_calls {
	ARRAY(struct model_collective) list;
	bool unordered;
};

void nccl_calls_add(struct nccl_calls *calls, const struct model_collective *call);

/* By time and thread; of a long trace those of parts that are long over are evicted. */
void nccl_calls_order(struct nccl_calls *calls);

#endif
