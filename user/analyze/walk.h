/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Feeds analyses with the parts of a trace, one after the other: each event in its part, with what it was joined
 * with, in the order of events.h over all parts.  Of a part nothing is kept but what analyses keep.
 */
#ifndef GPUTRACE_ANALYZE_WALK_H
#define GPUTRACE_ANALYZE_WALK_H

#include "analyze/analyses.h"
#include "base/array.h"

enum walk_kind {
#define WALK_KIND(kind, ...) WALK_##kind,
	EVENT_ROWS(WALK_KIND, WALK_KIND)
#undef WALK_KIND
		WALK_KINDS,
};

struct walk {
	struct analyses *all;
	const struct model *part;
	uint32_t next[WALK_KINDS], end[WALK_KINDS]; /* in the array of that kind */
	uint64_t next_ns[WALK_KINDS];		    /* when that begins, UINT64_MAX: there are no more in this part */
	uint64_t until_ns;			    /* nothing of a later part begins before this */
	uint32_t *exits;			    /* processes that ended, by that time; of the whole trace */
	uint32_t *spans;			    /* model.pyspans by start; of the whole trace */
	uint32_t exit_count, span_count;
	uint32_t *ranges;		/* model.ranges that begin in this part, by start */
	uint32_t *ops;			/* the same of model.ops */
	uint8_t *wait_reported;		/* by model.calls; NULL: of none */
	ARRAY(uint64_t) reported_ahead; /* numbers of calls of later parts that CUPTI has reported already */
};

/* With the first part, which must be added, too. */
void walk_begin(struct walk *walk, struct analyses *all, const struct model *first);
void walk_add_part(struct walk *walk, const struct model *part);
void walk_free(struct walk *walk);

/* To the analyses one event and what it was joined with.  The index: in this part, of its kind; it is taken already. */
void walk_feed(struct walk *walk, enum walk_kind kind, uint32_t index);

#endif
