/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Chrome trace in Kineto's dialect, which Perfetto, chrome://tracing, HTA and the TensorBoard plugin read: a
 * timeline as JSON.  docs/formats.md says what each part holds.
 */
#pragma once

#include "export/file/format.h"
#include "export/file/merged.h"

export_write_fn chrome_write;

/* Several traces in one Chrome trace. */
merged_write_fn chrome_write_merged;
