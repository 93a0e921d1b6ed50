/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The args of a slice: Kineto's names and types, because HTA and the TensorBoard plugin read them, and a few of our
 * own. HTA takes a row for GPU work when its args have `stream`, so what a call was given is named "launch stream" and
 * so on.
 */
#ifndef GPUTRACE_CHROME_ARGS_H
#define GPUTRACE_CHROME_ARGS_H

#include "export/chrome/file.h"

/*
 * The "External id" of the one step that each file has.  Those of PyTorch's ops follow where there are any, else those
 * of NVTX ranges, which begin at CHROME_RANGE_ID beside ops.
 */
#define CHROME_STEP_ID 1u
#define CHROME_RANGE_ID (1ull << 40)

/* All of them with commas in front; the first has none when `bare`. */
void chrome_put_args(struct chrome *chrome, const struct timeline_slice *slice, bool bare);

#endif
