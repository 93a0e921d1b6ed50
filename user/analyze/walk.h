/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Feeds analyses with the parts of a trace, one after the other: each event in its part, with what it was joined with,
 * in the order of events.h over all parts.  Nothing of a part outlives it but what analyses keep.
 */
#pragma once

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
	uint64_t next_ns[WALK_KINDS];		    /* start of that event, UINT64_MAX: no more in this part */
	uint64_t until_ns;			    /* all events of later parts begin at or after this */
	uint32_t *exits;			    /* processes that ended, by exit time; of the whole trace */
	uint32_t *spans;			    /* model.pyspans by start; of the whole trace */
	uint32_t exit_count, span_count;
	ARRAY(struct model_crossing) crossings; /* found so far, by start */
	uint32_t *ranges;			/* model.ranges that begin in this part, by start */
	uint32_t *ops;				/* model.ops that begin in this part, by start */
	uint8_t *wait_reported;			/* by model.calls: CUPTI reported the wait; NULL: of none */
	ARRAY(uint64_t) reported_ahead; /* numbers of calls of later parts whose waits CUPTI has reported already */
};

/* first: the first part, which walk_add_part must still add. */
void walk_begin(struct walk *walk, struct analyses *all, const struct model *first);
void walk_add_part(struct walk *walk, const struct model *part);
void walk_free(struct walk *walk);

/*
 * Feeds the analyses one event with what it was joined with.  index: in this part, by kind; already taken off
 * walk->next.
 */
void walk_feed(struct walk *walk, enum walk_kind kind, uint32_t index);
