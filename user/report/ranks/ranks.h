/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranks of a job whose logs were put on one clock, as text or as tables for programs (table_writer.h): how the clocks
 * were aligned and how well, the ranks, and who was late to which collective.
 */
#ifndef GPUTRACE_REPORT_RANKS_H
#define GPUTRACE_REPORT_RANKS_H

#include "analyze/ranks/ranks.h"
#include "report/report.h"

/* 0 or -errno of writing; -ENOENT: there is no table of the name that is wanted. */
int report_write_ranks(FILE *out, const struct ranks *ranks, const struct report_options *options);

#endif
