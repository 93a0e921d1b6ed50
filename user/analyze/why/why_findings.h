/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The losses of why.h by culprit: all time of a line together, whatever its causes are, so that one culprit is one
 * finding; a line that is told apart by its callers is one for each of them.  A line to which time is charged only as
 * the next that launched is no culprit: its finding is from one launch to the next.  Lines that are too small to be
 * named alone are one finding for each cause, like the lines of causes that are the program's as a whole: launches,
 * imports, garbage, requests, ranks.  Where a line imported or collected for most of its time, that it got no CPU is a
 * part of that; of data loading, that the loading thread got none is time of its own cause.
 */
#pragma once

#include "analyze/why/why.h"

struct why_finding {
	uint64_t ns;
	uint64_t of_cause[WHY_LOSSES];
	const struct why_loss *loss; /* of the cause with most of its time */
	const struct why_line *line; /* the line with most time of that cause */
	size_t lines, processes;     /* the number of different ones */
	size_t number;		     /* in why_findings.sorted */
};

struct why_findings {
	ARRAY(struct why_finding) all; /* most time first; their sum is that of all losses */
	struct tally alone;	       /* culprit: time */
	struct tally keys;	       /* culprit: numbered as findings were found */
	size_t *sorted;		       /* by such a number: the index in all */
	uint64_t least_ns;
};

/* least_ns: lines with less are too small to be named alone. */
void why_findings_make(struct why_findings *findings, const struct why *why, uint64_t least_ns);
void why_findings_free(struct why_findings *findings);

/* The finding that a line of a loss is part of, as an index; SIZE_MAX: of none. */
size_t why_findings_find(struct why_findings *findings, enum why_cause cause, const struct why_line *line);

/* Whether the line is to blame, or only the next that launched. */
bool why_is_culprit(enum why_cause cause, const struct why_line *line);
