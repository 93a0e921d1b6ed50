/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * When a backward pass of PyTorch begins and ends, for a schedule that counts steps by backward passes (schedule.h)
 * and, where there is no BPF, for their lines (backward_lines.h).  Python starts each pass by one call from
 * libtorch_python to torch::autograd::Engine::execute.  The agent puts a detour in front of that call.  Passes that C++
 * code starts are not seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/torch/torch.h"

/*
 * On the thread of ops, repeatedly while there is a session.  False: libtorch_python is loaded, but the way it calls
 * the engine is unknown.
 */
bool backward_passes_follow(const struct torch *torch, uint64_t now);

/* Removes the detour; passes that are running end as usual. */
void backward_passes_end(void);

/* On the agent's thread, repeatedly while there is a session: finds PyTorch, where --ops does not, and follows it. */
void backward_passes_follow_alone(uint64_t now);
void backward_passes_end_alone(void);
