/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verdict, with which a report begins: how busy GPUs were, the three largest losses by culprit with what to try,
 * the lines that own most GPU time, how complete that is, and the next command.  It is made of the account and the
 * words of `why`; where nothing can be said, it says what is missing.
 */
#pragma once

#include "analyze/analyze.h"

#define VERDICT_LINES 10u

struct verdict {
	char *lines[VERDICT_LINES];
	size_t loss[VERDICT_LINES]; /* of a line that names a loss: its number from 1 on, in the order of findings */
	size_t count;
	size_t command; /* the line with the next command, which is typed as it is; VERDICT_LINES: none */
};

/* all: the analyses of the report.  width: columns that sentences are fitted into; names may stick out. */
void verdict_make(struct verdict *verdict, const struct analyses *all, unsigned width);

/*
 * For a screen: only the losses without advice, or that there are none, or what is missing.  Lines are at most `width`
 * columns; what is shortened are names and causes, never the number of a line.
 */
void verdict_make_brief(struct verdict *verdict, const struct analyses *all, unsigned width);
void verdict_free(struct verdict *verdict);
