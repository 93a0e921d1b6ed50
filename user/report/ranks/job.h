/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of a job as a whole: its steps on all ranks, what they compute unlike each other, its communicators. */
#ifndef GPUTRACE_REPORT_RANKS_JOB_H
#define GPUTRACE_REPORT_RANKS_JOB_H

#include "report/page/page.h"
#include "report/ranks/ranks.h"

/* "rank 3", "a rank whose number is not known"; the caller frees it. */
char *rank_name(const struct rank_row *row);

/* A line of the verdict: how much steps spread, and how many of them each rank has. */
void report_job_steps_line(struct report *report, const struct report_job *job);

/* Of these a page has what says something; all of them: job->is_whole. */
void report_job_tables(struct report *report, const struct report_job *job);

#endif
