/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What torch.distributed says about a collective when its op begins: which collective, how many elements, which process
 * group.  PyTorch stores it per thread (c10::ThreadLocalDebugInfo) for torch.profiler; here it becomes a text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/torch.h"

#define COLLECTIVE_OP "record_param_comms" /* the op that stands for a collective (at::kParamCommsCallName) */
#define COLLECTIVE_TEXT_MAX 4096u

/* False: this PyTorch does not store it, or stores it in another layout than its headers have; then it is not read. */
bool collectives_open(const struct torch *torch);

/* The text of gpt_agent_op.collective for the calling thread's collective.  Returns its length; 0: no collective. */
size_t collectives_text(char text[COLLECTIVE_TEXT_MAX], int64_t *sequence);
