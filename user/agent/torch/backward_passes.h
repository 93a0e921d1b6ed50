/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * When a backward pass of PyTorch begins and ends, for a schedule whose steps are told by them (schedule.h).  Python
 * starts each through one call, of libtorch_python's to torch::autograd::Engine::execute, which is led through a detour
 * of ours; passes that C++ code starts by itself are not seen.
 */
#ifndef GPUTRACE_AGENT_BACKWARD_PASSES_H
#define GPUTRACE_AGENT_BACKWARD_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/torch/torch.h"

/*
 * On the thread of ops, again and again while there is a session.  False: libtorch_python is there, and calls the
 * engine in no way that is known.
 */
bool backward_passes_follow(const struct torch *torch, uint64_t now);

/* Puts the call back; passes that are under way end as they would. */
void backward_passes_end(void);

#endif
