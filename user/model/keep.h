/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Evicts the events of a model that are no longer needed: the arrays shrink to those that stay, in the order that
 * struct model_in_part wants, and all cross references follow.  For a long trace, whose parts come and go, and for
 * slices, which leave out what lies outside.
 *
 *	keep_begin(&keep, model);
 *	keep.calls.marks[i] = KEEP_IN_PART; ...
 *	keep_apply(&keep, model);
 *	(keep.calls.places[i] is where call i is now)
 *	...
 *	keep_free(&keep);
 *
 * What a marked event refers to stays as well, outside of the part, if it has no mark of its own, and so does what that
 * refers to: an operation's call, a call's operations, the call that captured it or recorded an event, a release's
 * allocation. Only an allocation does not keep its release; then it has none.  So every reference in the model is good.
 * The time it takes is linear in the arrays; its memory is kept between uses.
 */
#ifndef GPUTRACE_MODEL_KEEP_H
#define GPUTRACE_MODEL_KEEP_H

#include "base/array.h"
#include "model/model.h"

enum keep_mark {
	KEEP_NOT,      /* goes, unless something that stays refers to it */
	KEEP_REFERRED, /* stays, before what is in the part */
	KEEP_IN_PART,  /* stays */
	KEEP_LATER,    /* stays, after what is in the part */
	KEEP_MARKS,
};

/* One array of events. */
struct kept_events {
	uint8_t *marks;	  /* enum keep_mark of each event */
	uint32_t *places; /* once applied: its new index, NONE: it is gone */
	size_t room;
};

/* Arrays of events that no one uses, and what they have room for. */
struct kept_arrays {
#define KEEP_ARRAY(one, many, ...) ARRAY(struct model_##one) many;
	MODEL_EVENTS(KEEP_ARRAY)
#undef KEEP_ARRAY
	ARRAY(struct model_args) args;
};

/* Zeroed, or left as it was by the last use. */
struct keep {
#define KEEP_EVENTS(one, many, ...) struct kept_events many;
	MODEL_EVENTS(KEEP_EVENTS)
#undef KEEP_EVENTS
	struct kept_events args; /* made of the calls' */
	ARRAY(uint32_t) pending;
	uint8_t *scratch; /* events on their way */
	size_t scratch_bytes;
};

/* Room for a mark for each event; all are KEEP_NOT. */
void keep_begin(struct keep *keep, const struct model *model);

/*
 * Events with equal marks keep their order.  Sets the counts of the arrays, and of each struct model_in_part what is
 * before and after what is in the part; its number stays the caller's.  The arrays stay where they are in memory.
 */
void keep_apply(struct keep *keep, struct model *model);

/* The same, but what stays goes to those arrays, which the model has then; who reads the old ones is not disturbed. */
void keep_apply_into(struct keep *keep, struct model *model, struct kept_arrays *arrays);

void keep_free(struct keep *keep);
void kept_arrays_free(struct kept_arrays *arrays);

#endif
