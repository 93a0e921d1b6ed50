/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several traces in one Chrome trace. */
#ifndef GPUTRACE_CHROME_MERGED_H
#define GPUTRACE_CHROME_MERGED_H

#include "export/merged.h"

merged_write_fn chrome_write_merged;

#endif
