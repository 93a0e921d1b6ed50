/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An archive for Perfetto (.tar): a .pftrace of each rank with its own clock, and a manifest of how these clocks stand
 * to each other (perfetto.dev/docs/reference/perfetto-manifest).  A manifest has offsets and no drift: that is taken
 * out of a trace's times.
 */
#ifndef GPUTRACE_MERGE_TAR_H
#define GPUTRACE_MERGE_TAR_H

#include "analyze/ranks/ranks.h"
#include "cmd/options/options.h"

/* fd: can seek.  0 or -errno. */
int merge_write_tar(const struct options *options, const struct ranks *ranks, int fd);

#endif
