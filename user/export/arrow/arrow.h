/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a table of events in an Arrow IPC file (.arrow), which pyarrow, pandas, polars and others can map
 * directly.  Written by hand: Debian has no Arrow library for C, not even nanoarrow, and the format is buffers after a
 * small head.
 */
#pragma once

#include "export/file/format.h"

export_write_fn arrow_write;
