/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a GPU operation is communication between GPUs: a kernel that a call of NCCL launched, or one whose name is in
 * the table of communication kernels (comm_kernels.h) or among those that the user names.  The name alone decides in
 * files of other tools, in CUDA graphs whose captured calls were not seen, and where NCCL is part of another library.
 */
#pragma once

#include <stdbool.h>

#include "model/comm_kernels.h"
#include "model/model.h"

/* call: the call that launched it or, of a graph's operation, the captured one; NULL: it was not seen. */
bool gpu_is_communication(struct comm_names *names, const struct model *model, const struct model_gpu *op,
			  const struct model_call *call);

/*
 * What a communication kernel does, for people: "all-reduce"; "communication" where its name does not say.
 */
const char *communication_word(const char *name);
