/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whom idle time is charged to, from a place (caller_place): the innermost line, the user's own line around it, and who
 * called that.  A line that is called from several places is told apart by its callers.  Those that have too little
 * time for that are a part together, or, where even that is too little, with the caller that has most.
 */
#pragma once

#include "analyze/events/lines.h"

struct culprit {
	uint32_t line;	 /* the innermost */
	uint32_t own;	 /* the innermost that is no library's; `line` where there is none */
	uint32_t caller; /* the innermost around `own` that is no library's, in another function; NONE */
};

/* own_frame: model.frames: the frame to take `own` from; NONE: the innermost that is no library's. */
struct culprit culprit_at(struct lines *lines, uint32_t place, uint32_t own_frame);

/* Sums of lines by caller; starts zeroed. */
struct line_callers {
	struct tally sums;  /* line, caller: ns */
	struct tally lines; /* line; count: callers that are told apart, ns: of all others */
	struct tally most;  /* line; more: its caller with most time */
	uint64_t least_ns;
};

/* In place of a caller: all that are not told apart. */
#define CALLERS_TOGETHER (NONE - 1)

void line_callers_add(struct line_callers *callers, uint32_t line, uint32_t caller, uint64_t ns);

/* When all are added.  least_ns: callers with less are not told apart. */
void line_callers_finish(struct line_callers *callers, uint64_t least_ns);
void line_callers_free(struct line_callers *callers);

/* Whether the line is divided by its callers. */
bool line_callers_divide(struct line_callers *callers, uint32_t line);

/* The part of the line that the caller is in, named by a caller, or CALLERS_TOGETHER. */
uint32_t line_callers_part(struct line_callers *callers, uint32_t line, uint32_t caller);
