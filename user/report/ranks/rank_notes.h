/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What stands below the table of ranks: which are missing or silent, ended before others, or have a clock that was set.
 */
#pragma once

#include "analyze/ranks/ranks.h"
#include "report/page/page.h"

void report_rank_notes(struct report *report, const struct ranks *ranks);
