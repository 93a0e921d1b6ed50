/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Evicts the events of a model that are no longer needed: the arrays shrink to the events that stay, in the order that
 * struct model_in_part requires, and all cross references are updated.  Used for a long trace, whose parts come and go,
 * and for slices, which drop the events outside of them.
 *
 *	keep_begin(&keep, model);
 *	keep.calls.marks[i] = KEEP_IN_PART; ...
 *	keep_apply(&keep, model);
 *	(keep.calls.places[i] is where call i is now)
 *	...
 *	keep_free(&keep);
 *
 * Events that a marked event refers to, directly or not, stay as well, outside of the part unless they are marked
 * themselves: an operation's call, a call's operations, the call that captured it or recorded an event, a release's
 * allocation.  Only an allocation does not keep its release; it then has none.  So every reference in the model stays
 * valid.  The time taken is linear in the arrays; the memory is kept between uses.
 */
#pragma once

#include "base/array.h"
#include "model/model.h"

enum keep_mark {
	KEEP_NOT,      /* is evicted, unless an event that stays refers to it */
	KEEP_REFERRED, /* stays, before the events of the part */
	KEEP_IN_PART,  /* stays */
	KEEP_LATER,    /* stays, after the events of the part */
	KEEP_MARKS,
};

/* One array of events. */
struct kept_events {
	uint8_t *marks;	  /* enum keep_mark of each event */
	uint32_t *places; /* after keep_apply: its new index, NONE: evicted */
	size_t room;
};

/* Spare arrays of events, and their capacities. */
struct kept_arrays {
#define KEEP_ARRAY(one, many, ...) ARRAY(struct model_##one) many;
	MODEL_EVENTS(KEEP_ARRAY)
#undef KEEP_ARRAY
	ARRAY(struct model_args) args;
};

/* Zeroed, or as the last use left it. */
struct keep {
#define KEEP_EVENTS(one, many, ...) struct kept_events many;
	MODEL_EVENTS(KEEP_EVENTS)
#undef KEEP_EVENTS
	struct kept_events args; /* derived from the calls' marks */
	ARRAY(uint32_t) pending;
	uint8_t *scratch; /* events being moved */
	size_t scratch_bytes;
};

/* Makes room for one mark per event; all are KEEP_NOT. */
void keep_begin(struct keep *keep, const struct model *model);

/*
 * Events with equal marks keep their order.  Sets the counts of the arrays and, in each struct model_in_part, `from`
 * and `later`; the caller sets `number`.  The arrays keep their addresses.
 */
void keep_apply(struct keep *keep, struct model *model);

/*
 * The same, but moves the events that stay to `arrays`, which become the model's; readers of the old arrays are not
 * disturbed.
 */
void keep_apply_into(struct keep *keep, struct model *model, struct kept_arrays *arrays);

void keep_free(struct keep *keep);
void kept_arrays_free(struct kept_arrays *arrays);
