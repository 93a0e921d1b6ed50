/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A loss (analyze/why/why.h) in words: what it is, where, what of the log shows it, what to try. */
#ifndef GPUTRACE_REPORT_WHY_WORDS_H
#define GPUTRACE_REPORT_WHY_WORDS_H

#include "analyze/analyze.h"

/* Less than this share of the time looked at is not worth a word: one part in this many. */
#define WHY_LEAST_SHARE 100u

/* And where all that was lost is less than this, there is nothing to mend. */
#define WHY_MEND_SHARE 20u

/* A line that reads no more than that at once reads one number: .item() and the like. */
#define WHY_NUMBER_BYTES 8u

/* Of a cause (why_causes.c): for programs ("python", "data", ...), and for people. */
const char *why_cause_name(enum why_cause cause);
const char *why_title(const struct analyses *all, enum why_cause cause); /* of a loss */
const char *why_short(enum why_cause cause);

static inline const char *why_name(const struct analyses *all, uint32_t name)
{
	return name == NONE || name >= all->model->string_count ? "?" : all->model->strings[name];
}

/* One of its lines; all that follow are the caller's to free. */
char *why_where(const struct analyses *all, const struct why_loss *loss, const struct why_line *line);

/* The figures of the log that show it. */
char *why_evidence(const struct analyses *all, const struct why_loss *loss);

/* "12 times, 3.1 ms at the longest" */
char *why_how_often(const struct why_loss *loss);

/* As why_evidence, of causes that samples and waits of threads show (why_waits.c). */
char *why_ran_evidence(const struct analyses *all, const struct why_loss *loss);
char *why_waits_evidence(const struct analyses *all, const struct why_loss *loss);

char *why_advice(const struct analyses *all, const struct why_loss *loss);

/* Why nothing can be said, and what to record; NULL: something can. */
char *why_unsaid(const struct analyses *all);

/* What makes the answer less sure, a sentence each; NULL: there is no more. */
char *why_caution(const struct analyses *all, unsigned index);

/* Losses that are worth a word, of all->why.losses the first ones. */
size_t why_worth(const struct analyses *all);

#endif
