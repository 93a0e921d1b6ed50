/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timeline that is kept so that any stretch of it can be drawn at once, however long it is.  One thread reads a trace
 * into it (zoom_read); others ask meanwhile, and get what was read so far.
 *
 * A row is what one track has at one depth, where slices follow each other.  Its slices are in blocks of 256, packed to
 * some bytes each in a file without a name; of each block a summary stays in memory.  A question about a short stretch
 * unpacks the blocks in it; of a long one, where a block is narrower than what is drawn, the summaries are enough.
 * Slices that are too short to be drawn by themselves come as one box with their number and the time that they took.
 *
 * Of a long trace places spread over it can be read before all is (zoom_sample).  Where the reading has not come yet
 * the slices of these places are drawn, and between them estimates: what the nearest place has, by how much was
 * recorded (zoom_expect_records).  Both go when all is read.
 */
#ifndef GPUTRACE_ZOOM_H
#define GPUTRACE_ZOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "export/sink.h"

struct zoom;
struct trace;

struct zoom *zoom_new(void);
void zoom_free(struct zoom *zoom);

/* What the trace is known to span before it is read. */
void zoom_expect(struct zoom *zoom, uint64_t start_ns, uint64_t end_ns);

#define ZOOM_BINS 256u /* of what is expected, for estimates */

/* That many things are known of that stretch.  After zoom_expect. */
void zoom_expect_records(struct zoom *zoom, uint64_t from_ns, uint64_t to_ns, uint64_t records);

/* A place of the trace that is read by itself: from one time to another, with the bytes of records that are in it. */
struct zoom_place {
	uint64_t from_ns, to_ns, records;
	uint32_t number; /* zoom_sample sets it */
};

/*
 * Reads a place, of which the trace has nothing else, by the thread of zoom_read and before that; is not shown before
 * zoom_show_samples.  0 or -errno; -ECANCELED: zoom_stop.
 */
int zoom_sample(struct zoom *zoom, struct trace *trace, int process, const struct zoom_place *place);
void zoom_show_samples(struct zoom *zoom);

/* One round over the trace.  process: index into model.processes, -1: all.  0 or -errno; -ECANCELED: zoom_stop. */
int zoom_read(struct zoom *zoom, struct trace *trace, int process);

/* Ends zoom_read early; from any thread. */
void zoom_stop(struct zoom *zoom);

struct zoom_progress {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; 0: nothing is known yet */
	uint64_t read_ns;	   /* before this all is there */
	uint64_t slices;
	bool done;
	bool is_cut; /* once done: the trace has no end */
};
struct zoom_progress zoom_progress(struct zoom *zoom);

/* What to draw. */
struct zoom_question {
	uint64_t from_ns, to_ns;
	uint32_t width;		/* slices shorter than one part in `width` are merged; 0: each by itself */
	const uint32_t *tracks; /* their ids in zoom_put_tracks; NULL: all */
	uint32_t track_count;
};

#define ZOOM_WIDTH_MAX 4000u
#define ZOOM_BOXES_MAX 250000u /* of an answer; what is beyond is left out, and the answer says so */

/*
 * {"span":,"read":,"done":,"slices":,("cut":true,)("places":,"sampled":,)"tracks":[[id,"label","group",depth,kind]...]}:
 * times in nanoseconds since the timeline's start; tracks without slices are left out.  places: from after `read` on
 * what is drawn is of this many places, which have that part of all records.
 */
void zoom_put_tracks(struct zoom *zoom, struct sink *out);

/*
 * {"from":,"to":,"least":,"rows":[[track,depth,[start,length,label,count,busy,number,...]]...],("estimates":[as
 * rows...],)"labels":{"id":["name","where",category,stack]},("stacks":{"id":[own,frame,...]},"frames":{"id":"text"},)
 * "left_out":boxes}: times in nanoseconds, `from` and `to` since the timeline's start, starts since `from`.  Slices
 * shorter than `least` are put together.  number: what a call and its GPU work have in common, of memory the bytes that
 * are held at most, 0: nothing.  stacks: innermost frame first, and which of them is the user's own, -1: none; only
 * where the width is 0, else zoom_put_stack has each.  Returns how many boxes there are.
 */
uint32_t zoom_put_answer(struct zoom *zoom, const struct zoom_question *question, struct sink *out);

/* {"own":,"frames":["text"...]} of a label's stack. */
void zoom_put_stack(struct zoom *zoom, uint32_t id, struct sink *out);

/* How many slices are in a stretch; blocks at its edges count as a whole. */
uint64_t zoom_count(struct zoom *zoom, uint64_t from_ns, uint64_t to_ns);

/* The next slice that begins after a time and has the text in its name or place; false: none. */
struct zoom_hit {
	uint32_t track, depth;
	uint64_t start_ns, end_ns;
	uint32_t label;
};
bool zoom_find(struct zoom *zoom, const char *text, uint64_t after_ns, struct zoom_hit *hit);

/* The first slice of that number on a GPU, or the call on a thread; of those that were read so far. */
bool zoom_find_linked(struct zoom *zoom, uint64_t number, bool on_gpu, struct zoom_hit *hit);

/* ,"name":,"where": of what was found. */
void zoom_put_hit_label(struct zoom *zoom, const struct zoom_hit *hit, struct sink *out);

#endif
