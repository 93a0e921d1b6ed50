/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Folded stacks, for flamegraph.pl and inferno: one line per different stack, root first, with its GPU nanoseconds (or
 * launches).  Sorted, so equal traces make equal files.
 */
#pragma once

#include "analyze/steps/differences.h"
#include "export/file/format.h"

export_write_fn folded_write;

/*
 * Idle time of GPUs: the launch that ended a gap, what happened in the gap, and the line to blame.  Adds up to all idle
 * time.
 */
export_write_fn folded_idle_write;

/*
 * Python stacks of ops with the ops' own time on the CPU or GPU, as torch.profiler's export_stacks() writes them:
 * "train.py(97):_main;model.py(42):_forward 200", whole microseconds of each op.
 */
export_write_fn folded_ops_write;

/*
 * Modules of PyTorch that called each other, the tree of `report --layers`: "python3;Net;Net.blocks.0 60000", GPU time,
 * launches or idle time.
 */
export_write_fn folded_layers_write;

/*
 * Differential folded stacks, as difffolded.pl of FlameGraph makes them: each line ends in the stack's values in the
 * first and in the second trace, and flamegraph.pl colours by the difference.  Values are GPU nanoseconds per step (of
 * the whole trace if it has no steps); a stack is its functions and files, then the family of the kernel.  Writes to
 * fd, which stays open; returns 0 or -errno of writing.
 */
int folded_differences_write(int fd, const struct differences *all);
