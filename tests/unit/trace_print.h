/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that a trace hands over as text, kind after kind, each event with what it refers to in words: so that what came
 * in parts can be compared with the same as a whole.
 */
#ifndef GPUTRACE_TRACE_PRINT_H
#define GPUTRACE_TRACE_PRINT_H

#include <stdio.h>

#include "model/trace.h"

/* Returns how many parts there were. */
unsigned trace_print(FILE *out, struct trace *trace);

#endif
