/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A profile for pprof (.pb.gz): profile.proto of github.com/google/pprof, through gzip. */
#ifndef GPUTRACE_PPROF_H
#define GPUTRACE_PPROF_H

#include "export/format.h"

export_write_fn pprof_write;

#endif
