/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of a job as a whole: its steps on all ranks, and what these do unlike each other. */
#pragma once

#include "report/page/page.h"
#include "report/ranks/ranks.h"

/* The number of a rank by its row; -1: it is not known, or row is SIZE_MAX. */
static inline int64_t job_rank_at(const struct report_job *job, size_t row)
{
	return row == SIZE_MAX ? -1 : job->ranks->rows.items[row].of->rank;
}

/* A line of the verdict: how much steps spread, and how many of them each rank has. */
void report_job_steps_line(struct report *report, const struct report_job *job);

/* Tables of steps: a page has them only as a whole (job->is_whole). */
void report_job_steps(struct report *report, const struct report_job *job);

/* Computation by line, and what the late rank does unlike the others: a page has what says something. */
void report_job_lines(struct report *report, const struct report_job *job);
