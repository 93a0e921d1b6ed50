/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Differential folded stacks, as difffolded.pl of FlameGraph makes them: each line ends in what a stack has in the
 * first trace and in the second, and flamegraph.pl colours by the difference.  GPU nanoseconds a step (without steps:
 * of all); a stack is its functions and files, then the family of the kernel.
 */
#ifndef GPUTRACE_EXPORT_FOLDED_DIFFERENCES_H
#define GPUTRACE_EXPORT_FOLDED_DIFFERENCES_H

#include "analyze/sums/differences.h"

/* To fd, which stays open; 0 or -errno of writing. */
int folded_differences_write(int fd, const struct differences *all);

#endif
