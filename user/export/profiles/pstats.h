/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A profile for Python's pstats and snakeviz (.prof): what cProfile writes, with time on GPUs in the place of time and
 * launches in the place of calls.
 */
#ifndef GPUTRACE_PSTATS_H
#define GPUTRACE_PSTATS_H

#include "export/format.h"

export_write_fn pstats_write;

#endif
