/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lets go of the events of a model that are no longer needed: the arrays shrink to those that stay, in the order that
 * struct model_due wants, and all cross references follow.  For a long trace, whose parts come and go, and for slices,
 * which leave out what lies outside.
 *
 *	retain_begin(&retain, model);
 *	retain.calls.marks[i] = RETAIN_DUE; ...
 *	retain_apply(&retain, model);
 *	(retain.calls.places[i] is where call i is now)
 *	...
 *	retain_free(&retain);
 *
 * What a marked event refers to stays as well, not due, if it has no mark of its own, and so does what that refers to:
 * an operation's call, a call's operations, the call that captured it or recorded an event, a release's allocation.
 * Only an allocation does not keep its release; then it has none.  So every reference in the model is good.  The time
 * it takes is linear in the arrays; its memory is kept between uses.
 */
#ifndef GPUTRACE_MODEL_RETAIN_H
#define GPUTRACE_MODEL_RETAIN_H

#include "base/array.h"
#include "model/model.h"

enum retain_mark {
	RETAIN_NOT,   /* goes, unless something that stays refers to it */
	RETAIN_KEPT,  /* stays, before what is due */
	RETAIN_DUE,   /* stays */
	RETAIN_LATER, /* stays, behind what is due */
	RETAIN_MARKS,
};

/* One array of events. */
struct retain_events {
	uint8_t *marks;	  /* enum retain_mark of each event */
	uint32_t *places; /* once applied: its new index, NONE: it is gone */
	size_t room;
};

/* Arrays of events that no one uses, and what they have room for. */
struct retain_arrays {
#define RETAIN_ARRAY(one, many, ...) ARRAY(struct model_##one) many;
	MODEL_EVENTS(RETAIN_ARRAY)
#undef RETAIN_ARRAY
	ARRAY(struct model_args) args;
};

/* Zeroed, or left as it was by the last use. */
struct retain {
#define RETAIN_EVENTS(one, many, ...) struct retain_events many;
	MODEL_EVENTS(RETAIN_EVENTS)
#undef RETAIN_EVENTS
	struct retain_events args; /* made of the calls' */
	ARRAY(uint32_t) pending;
	uint8_t *aside; /* events on their way */
	size_t aside_bytes;
};

/* Room for a mark for each event; all are RETAIN_NOT. */
void retain_begin(struct retain *retain, const struct model *model);

/*
 * Events with equal marks keep their order.  Sets the counts of the arrays, and of each struct model_due what is before
 * and behind what is due; its number stays the caller's.  The arrays stay where they are in memory.
 */
void retain_apply(struct retain *retain, struct model *model);

/* The same, but what stays goes to those arrays, which the model has then; who reads the old ones is not disturbed. */
void retain_apply_into(struct retain *retain, struct model *model, struct retain_arrays *arrays);

void retain_free(struct retain *retain);
void retain_arrays_free(struct retain_arrays *arrays);

#endif
