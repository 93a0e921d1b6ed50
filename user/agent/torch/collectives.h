/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What torch.distributed tells of a collective while its op begins: which one, of how many elements, in which process
 * group.  PyTorch keeps it for the thread (c10::ThreadLocalDebugInfo), for torch.profiler; here it becomes a text.
 */
#ifndef GPUTRACE_AGENT_COLLECTIVES_H
#define GPUTRACE_AGENT_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/torch.h"

#define COLLECTIVE_OP "record_param_comms" /* the op that stands for a collective (at::kParamCommsCallName) */
#define COLLECTIVE_TEXT_MAX 4096u

/* False: this PyTorch does not tell it, or keeps it in another way than its headers say; then it is not looked at. */
bool collectives_open(const struct torch *torch);

/* Of the calling thread's collective: the text of gpt_agent_op.collective, returns its length; 0: it has none. */
size_t collectives_text(char text[COLLECTIVE_TEXT_MAX], int64_t *sequence);

#endif
