/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The line of a backward pass on the threads that run it, where there is no BPF: PyTorch gives what a thread has in its
 * c10::ThreadLocalDebugInfo to each thread that works for its backward().  There the stack of the caller goes along.
 *
 * Only for a collector that shares memory (share/).
 */
#ifndef GPUTRACE_AGENT_BACKWARD_LINES_H
#define GPUTRACE_AGENT_BACKWARD_LINES_H

#include "agent/torch/torch.h"

/* Finds the functions of PyTorch that it needs. */
void backward_lines_find(const struct torch *torch);

/* A pass begins on the calling thread, and ends: by a return, or by an exception that goes through. */
void backward_lines_enter(void);
void backward_lines_leave(void);

#endif
