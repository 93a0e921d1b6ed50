/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timeline for Perfetto in its own form (.pftrace): Protocol Buffers, names once each, whole nanoseconds.  What is in
 * it is what the Chrome trace has; docs/formats.md says how.
 */
#ifndef GPUTRACE_PERFETTO_H
#define GPUTRACE_PERFETTO_H

#include "export/format.h"
#include "export/merged.h"

export_write_fn perfetto_write;

/* Several traces in one .pftrace: each is a sequence of packets of its own, with what it interns and its tracks. */
merged_write_fn perfetto_write_merged;

#endif
