/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Folded stacks, for flamegraph.pl, speedscope and inferno: one line per different stack, root first, and how
 * many GPU nanoseconds (or launches) it has.  Sorted, so equal traces make equal files.
 */
#ifndef GPUTRACE_FOLDED_H
#define GPUTRACE_FOLDED_H

#include "export/format.h"

export_write_fn folded_write;

#endif
