/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What torch.cuda.memory._snapshot() returns, pickled as by its _dump_snapshot() (.pickle): for pytorch.org/memory_viz
 * and torch/cuda/_memory_viz.py.  Made from the allocations that --memory records; GPU memory only.
 */
#pragma once

#include "export/file/format.h"

/* -ENODATA: all processes were asked for, and none has allocations of PyTorch on a GPU. */
export_write_fn snapshot_write;
