/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a table of events in an Arrow IPC file (.arrow), which pyarrow, pandas, polars and others map as it is.
 * Written by hand: Debian has no Arrow for C, nanoarrow included, and the form is buffers after a small head.
 */
#ifndef GPUTRACE_ARROW_H
#define GPUTRACE_ARROW_H

#include "export/format.h"

export_write_fn arrow_write;

#endif
