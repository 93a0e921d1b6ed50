/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timeline in Perfetto's own format (.pftrace): Protocol Buffers, each name once, whole nanoseconds.  It holds the
 * same as the Chrome trace; docs/formats.md says how.
 */
#pragma once

#include "export/file/format.h"
#include "export/file/merged.h"

export_write_fn perfetto_write;

/* Several traces in one .pftrace: each is a sequence of packets of its own, with its own interned data and tracks. */
merged_write_fn perfetto_write_merged;
