/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several traces in one .pftrace: each is a sequence of packets of its own, with what it interns and its tracks. */
#ifndef GPUTRACE_PERFETTO_MERGED_H
#define GPUTRACE_PERFETTO_MERGED_H

#include "export/merged.h"

merged_write_fn perfetto_write_merged;

#endif
