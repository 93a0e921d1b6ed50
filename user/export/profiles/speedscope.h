/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A profile for speedscope (.speedscope.json): one list of stacks for each of its values. */
#ifndef GPUTRACE_SPEEDSCOPE_H
#define GPUTRACE_SPEEDSCOPE_H

#include "export/format.h"

export_write_fn speedscope_write;

#endif
