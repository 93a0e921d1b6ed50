/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Python stacks of ops with the ops' own time on the CPU or GPU, as torch.profiler's export_stacks() writes them:
 * "train.py(97):_main;model.py(42):_forward 200", whole microseconds of each op.
 */
#ifndef GPUTRACE_FOLDED_OPS_H
#define GPUTRACE_FOLDED_OPS_H

#include "export/format.h"

export_write_fn folded_ops_write;

#endif
