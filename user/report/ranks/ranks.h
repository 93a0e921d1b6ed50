/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ranks of a job, with their logs on one clock, as text or as tables for programs (table_writer.h): how, and how
 * well, the clocks were aligned, the ranks, which rank was late to which collective, and what collectives' time was.
 */
#pragma once

#include "analyze/ranks/collective_split.h"
#include "analyze/ranks/rank_lines.h"
#include "analyze/ranks/rank_steps.h"
#include "report/page/options.h"

/* All that is known of a job. */
struct report_job {
	const struct ranks *ranks;
	const struct collective_split *split;
	const struct rank_steps *steps;
	const struct rank_lines *lines;
	bool is_whole; /* all tables, and their rows; else a page has what says something */
};

/* Returns 0 or -errno of writing; -ENOENT: there is no table of the requested name. */
int report_write_ranks(FILE *out, const struct report_job *job, const struct report_options *options);
