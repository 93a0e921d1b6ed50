/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of what the time of collectives was (analyze/ranks/collective_split.h). */
#pragma once

#include "analyze/ranks/collective_split.h"
#include "report/page/page.h"

/* is_whole: also what says nothing new on a page. */
void report_collective_split(struct report *report, const struct ranks *ranks, const struct collective_split *split,
			     bool is_whole);

/* The same of the report's trace, if it has several ranks. */
void report_split_of_log(struct report *report);
