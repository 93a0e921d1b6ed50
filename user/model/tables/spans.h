/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Begins and ends on threads, paired.  What nests with each other is in one track: what a thread's interpreter does, or
 * the NVTX ranges of a thread and domain.  Each span has a depth in its track, as an address on a stack that grows
 * downwards: what is deeper (lower) than something that begins or ends is over, and where its end did not come, that
 * was lost.  Knows nothing of what the spans are.
 *
 * A long source is read twice.  Pass 1 keeps no span: it learns which of them, in order of their begins,
 * were lost, and which never ended (struct span_fates).  The second has that from the start, so that at any time it can
 * hand over what began so far, and keeps only what may have more to come (spans_parts.c).
 */
#ifndef GPUTRACE_SPANS_H
#define GPUTRACE_SPANS_H

#include "base/array.h"
#include "model/events.h"
#include "model/tables/number_set.h"

struct open_span {
	uint64_t depth;
	uint64_t at; /* in the list; in pass 1: which begin it was; SPAN_NOWHERE */
};

#define SPAN_NOWHERE UINT64_MAX /* it has no place in the list, but pairs like the others */

struct span_track {
	ARRAY(struct open_span) open; /* the outermost first */
};

/* Of pass 1 or 2: one that is in no track and has not ended. */
struct loose_span {
	uint64_t at; /* as of struct open_span */
	uint64_t start_ns;
};

/* What became of the spans, by the order of their begins. */
struct span_fates {
	struct number_set lost, lasting; /* lasting: had not ended when the source did */
	ARRAY(uint64_t) kept;		 /* by track: how many were not lost */
	ARRAY(uint64_t) ends; /* by track, where the owner of the tracks has put it: when what lasts there is over */
};

/* Where the spans of a thread are in an ordered list. */
struct span_place {
	uint32_t first, count;
};

struct spans {
	/* In order of begins; those without an end are `truncated`.  Of pass 2 what may be handed over yet;
	 * until its end is known, end_ns says by when it is over at the latest (UINT64_MAX: not known). */
	ARRAY(struct model_span) list;
	ARRAY(struct span_track) tracks;
	uint64_t lost; /* begins whose end was not seen although it must have come */

	bool collecting;		/* pass 1 */
	struct span_fates fates;	/* what it learns */
	const struct span_fates *known; /* Pass 2: what the first has collected */
	uint64_t begun, numbered;	/* of either: begins so far; and those that are in the list, or were */
	uint64_t handed_over;		/* of the list, those that a part had already */
	ARRAY(struct loose_span) loose;
	ARRAY(uint32_t) loose_free; /* of these: whose span has ended */

	ARRAY(struct model_span) part; /* the latest that was handed over, by thread and begin */
	struct span_place *places;     /* of each thread in it */
};

#define SPAN_DEPTH_OUTERMOST UINT64_MAX

void spans_free(struct spans *spans); /* all but the list, which is the model's */

/* A depth below all that is open in the track, for what nests by its order alone; and that of the last one begun. */
uint64_t spans_next_depth(struct spans *spans, uint32_t track);
uint64_t spans_last_depth(struct spans *spans, uint32_t track);

/* A span begins at its start_ns.  False: there are more than can be.  See spans_next_fate. */
bool spans_begin(struct spans *spans, uint32_t track, uint64_t depth, const struct model_span *span);

/* What is open at that depth, and of that kind, ends; nothing where its begin was not seen. */
void spans_end(struct spans *spans, uint32_t track, uint64_t depth, enum model_span_kind kind, uint64_t time_ns);

/*
 * One that is in no track: what it is called here until it ends, and its end.  NONE: it is a moment, or nothing is to
 * be informed of it.  False: it would end before it began.
 */
uint32_t spans_add(struct spans *spans, const struct model_span *span);
bool spans_end_at(struct spans *spans, uint32_t added, uint64_t time_ns);

/* One that is in no track, and its end, which is not before its begin. */
void spans_add_whole(struct spans *spans, const struct model_span *span, uint64_t end_ns);

/* What is open in the track lasts until then, and is `truncated`. */
void spans_close_track(struct spans *spans, uint32_t track, uint64_t time_ns);

/*
 * After the last one: leaves out what was lost, puts each thread's together, in the order of the list; one place for
 * each thread, to be freed.
 */
struct span_place *spans_order_by_thread(struct spans *spans, size_t threads);

/* ---- two readings ------------------------------------------------------------------------------------------------ */

/* The first: before the first begin; and after the last event, instead of spans_order_by_thread. */
void spans_collect(struct spans *spans);
void spans_finish_collecting(struct spans *spans);

/* The second, which is fed with the same in the same order: before the first start. */
void spans_read_again(struct spans *spans, const struct spans *first);

enum span_fate {
	SPAN_ENDS,
	SPAN_LASTS, /* until the end of the source, or of its program */
	SPAN_LOST,
};

/*
 * What becomes of the next span that begins or is added; SPAN_ENDS where this is not pass 2.  In a second
 * reading that one's end_ns says when it is over, if it lasts, and else by when at the latest (UINT64_MAX: not known);
 * its `lost` says that it shall not be in the list for another reason.
 */
enum span_fate spans_next_fate(const struct spans *spans);

/*
 * Of pass 2, which was fed with all that was before until_ns: the part is what began before that and was
 * open since the last part; what is over goes out of the list.  last: all the rest.
 */
void spans_take_part(struct spans *spans, uint64_t until_ns, bool last, size_t threads);

/* How many wait for the next part. */
static inline uint64_t spans_waiting(const struct spans *spans)
{
	return spans->known ? spans->list.count - spans->handed_over : 0;
}

/* Where other parts may have more of a thread, of which the whole source has so many. */
bool spans_are_elsewhere(const struct spans *spans, uint32_t thread, uint64_t count);

/* For spans.c. */
bool spans_begin_twice(struct spans *spans, uint32_t track, uint64_t depth, const struct model_span *span);
uint32_t spans_add_twice(struct spans *spans, const struct model_span *span);
void spans_add_whole_twice(struct spans *spans, const struct model_span *span, uint64_t end_ns);
bool spans_end_twice(struct spans *spans, uint32_t added, uint64_t time_ns);
void spans_end_again(struct model_span *span, uint64_t time_ns);

#endif
