/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of ranks whose logs are on one clock: all of them in one, or one for each. */
#ifndef GPUTRACE_MERGE_FILES_H
#define GPUTRACE_MERGE_FILES_H

#include "analyze/ranks/ranks.h"
#include "cmd/options/options.h"

/* Writes all outputs, going on after one that failed.  Prints what failed; 0 or the first -errno. */
int merge_write_files(const struct options *options, const struct ranks *ranks);

#endif
