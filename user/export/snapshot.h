/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What torch.cuda.memory._snapshot() returns, as its _dump_snapshot() pickles it (.pickle): for pytorch.org/memory_viz
 * and torch/cuda/_memory_viz.py.  Made of the allocations that --memory records; those of GPUs only.
 */
#ifndef GPUTRACE_SNAPSHOT_H
#define GPUTRACE_SNAPSHOT_H

#include "export/format.h"

/* -ENODATA: it is of all processes, and none has allocations of PyTorch on a GPU in it. */
export_write_fn snapshot_write;

#endif
