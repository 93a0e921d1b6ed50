/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints everything that a trace hands over as text, kind by kind, each event with the text of what it refers to: so a
 * trace in parts can be compared with the same trace as a whole.
 */
#pragma once

#include <stdio.h>

#include "model/trace.h"

/* Returns the number of parts. */
unsigned trace_print(FILE *out, struct trace *trace);
