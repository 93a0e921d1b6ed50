/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The line of a backward pass on the threads that run it, without BPF: PyTorch passes a thread's
 * c10::ThreadLocalDebugInfo on to each thread that works for its backward(). The stack of the caller is stored there.
 *
 * Only for a collector that shares memory (share/).
 */
#pragma once

#include "agent/torch/torch.h"

/* Finds the PyTorch functions that it needs. */
void backward_lines_find(const struct torch *torch);

/* A pass begins on the calling thread; ends there, by a return or an exception. */
void backward_lines_enter(void);
void backward_lines_leave(void);
