/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs starts and ends on threads.  Spans that nest share a track: the spans of a thread's interpreter, or the NVTX
 * ranges of a thread and domain.  Each span has a depth in its track, like an address on a stack that grows downwards.
 * When a span starts or ends, all deeper (lower) spans are over; if their end did not arrive, it was lost.  Independent
 * of what the spans stand for.
 *
 * A long source is read twice.  Pass 1 keeps no span; it collects which spans, in order of their starts, were lost, and
 * which never ended (struct span_fates).  Pass 2 has that from the start, so it can hand over the spans that began so
 * far at any time, and keeps only spans that may still end (spans_parts.c).
 */
#pragma once

#include "base/array.h"
#include "model/events.h"
#include "base/number_set.h"

struct open_span {
	uint64_t depth;
	uint64_t at; /* index in the list; in pass 1: the number of its start; SPAN_NOWHERE */
};

#define SPAN_NOWHERE UINT64_MAX /* not in the list, but pairs like the others */

struct span_track {
	ARRAY(struct open_span) open; /* the outermost first */
};

/* Pass 1 or 2: a span in no track that has not ended. */
struct loose_span {
	uint64_t at; /* as in struct open_span */
	uint64_t start_ns;
};

/* What became of the spans, numbered in order of their starts. */
struct span_fates {
	struct number_set lost, lasting; /* lasting: still open at the end of the source */
	struct number_set over;		 /* ended before the trace began: set by the tracks' owner */
	ARRAY(uint64_t) kept;		 /* by track: number of spans not lost */
	ARRAY(uint64_t) ends;		 /* by track, set by the tracks' owner: end time of its lasting spans */
};

/* The range of a thread's spans in a sorted list. */
struct span_place {
	uint32_t first, count;
};

struct spans {
	/*
	 * In order of starts; spans without an end are `truncated`.  In pass 2: spans that may still be handed over;
	 * until the end is known, end_ns is its upper bound (UINT64_MAX: not known).
	 */
	ARRAY(struct model_span) list;
	ARRAY(struct span_track) tracks;
	uint64_t lost; /* starts whose end was not seen although it must have happened */

	bool collecting;		/* pass 1 */
	struct span_fates fates;	/* collected by pass 1 */
	const struct span_fates *known; /* pass 2: the fates that pass 1 collected */
	uint64_t begun, numbered;	/* both passes: starts so far; of these, those that are or were in the list */
	uint64_t handed_over;		/* of the list: already in a part */
	ARRAY(struct loose_span) loose;
	ARRAY(uint32_t) loose_free; /* entries of `loose` whose span has ended */

	ARRAY(struct model_span) part; /* the part handed over last, by thread and start */
	struct span_place *places;     /* of each thread in it */
};

#define SPAN_DEPTH_OUTERMOST UINT64_MAX

void spans_free(struct spans *spans); /* all but the list, which is the model's */

/*
 * A depth below all open spans of the track, for spans that nest by order alone; and the depth of the span begun last.
 */
uint64_t spans_next_depth(struct spans *spans, uint32_t track);
uint64_t spans_last_depth(struct spans *spans, uint32_t track);

/* A span begins at its start_ns.  False: there are too many.  See spans_next_fate. */
bool spans_begin(struct spans *spans, uint32_t track, uint64_t depth, const struct model_span *span);

/* Ends the open span of that depth and kind, if its start was seen. */
void spans_end(struct spans *spans, uint32_t track, uint64_t depth, enum model_span_kind kind, uint64_t time_ns);

/*
 * Adds a span in no track and returns its handle until it ends; and ends it.  NONE: it is a moment, or its end is not
 * needed.  False: it would end before it began.
 */
uint32_t spans_add(struct spans *spans, const struct model_span *span);
bool spans_end_at(struct spans *spans, uint32_t added, uint64_t time_ns);

/* Adds a complete span in no track; its end is not before its start. */
void spans_add_whole(struct spans *spans, const struct model_span *span, uint64_t end_ns);

/* Open spans of the track last until time_ns, and are `truncated`. */
void spans_close_track(struct spans *spans, uint32_t track, uint64_t time_ns);

/*
 * After the last span: drops lost spans and groups the list by thread, else keeping its order.  Returns one place per
 * thread; the caller frees it.
 */
struct span_place *spans_order_by_thread(struct spans *spans, size_t threads);

/* ---- two passes -------------------------------------------------------------------------------------------------- */

/* Pass 1: before the first start; and after the last event, instead of spans_order_by_thread. */
void spans_collect(struct spans *spans);
void spans_finish_collecting(struct spans *spans);

/* Pass 2, which is fed the same events in the same order: before the first start. */
void spans_read_again(struct spans *spans, const struct spans *first);

enum span_fate {
	SPAN_ENDS,
	SPAN_LASTS, /* until the end of the source, or of its program */
	SPAN_LOST,
	SPAN_OVER, /* before the trace began */
};

/*
 * The fate of the next span that begins or is added; SPAN_ENDS if this is not pass 2.  In pass 2 the span's end_ns is
 * its end if it lasts, else an upper bound (UINT64_MAX: not known); its `lost` means that it is to be left out of the
 * list for another reason.
 */
enum span_fate spans_next_fate(const struct spans *spans);

/*
 * Pass 2, once it was fed all events before until_ns: the part is all spans that began before until_ns and were open
 * after the last part; ended spans leave the list.  last: takes all the rest.
 */
void spans_take_part(struct spans *spans, uint64_t until_ns, bool last, size_t threads);

/* The number of spans waiting for the next part. */
static inline uint64_t spans_waiting(const struct spans *spans)
{
	return spans->known ? spans->list.count - spans->handed_over : 0;
}

/* Whether other parts may have more spans of a thread that has `count` in the whole source. */
bool spans_are_elsewhere(const struct spans *spans, uint32_t thread, uint64_t count);

/* For spans.c. */
bool spans_begin_twice(struct spans *spans, uint32_t track, uint64_t depth, const struct model_span *span);
uint32_t spans_add_twice(struct spans *spans, const struct model_span *span);
void spans_add_whole_twice(struct spans *spans, const struct model_span *span, uint64_t end_ns);
bool spans_end_twice(struct spans *spans, uint32_t added, uint64_t time_ns);
void spans_end_again(struct model_span *span, uint64_t time_ns);
