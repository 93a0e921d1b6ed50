/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timeline, kept so that any range of it can be drawn at once, however long it is.  One thread reads a trace into it
 * (zoom_read); others ask meanwhile, and get what was read so far.
 *
 * A row is one depth of a track; its slices follow each other.  They are in blocks of 256, packed to some bytes each in
 * an unnamed file; a summary of each block stays in memory.  A question about a short range unpacks its blocks.  For a
 * long range, where a block is narrower than what is drawn, the summaries suffice.  Slices too short to be drawn by
 * themselves come as one box with their number and total time.
 *
 * Places spread over a long trace can be read before the whole trace is (zoom_sample).  Where the pass has not arrived
 * yet the slices of these places are drawn, and between them estimates: the contents of the nearest place, scaled by
 * how much was recorded (zoom_expect_records).  Both disappear once everything is read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/file/sink.h"

struct zoom;
struct trace;

struct zoom *zoom_new(void);
void zoom_free(struct zoom *zoom);

/* The expected time range of the trace, before it is read. */
void zoom_expect(struct zoom *zoom, uint64_t start_ns, uint64_t end_ns);

#define ZOOM_BINS 256u /* bins of the expected range, for estimates */

/* Reports that so many records are in that range.  Call it after zoom_expect. */
void zoom_expect_records(struct zoom *zoom, uint64_t from_ns, uint64_t to_ns, uint64_t records);

/* A place of the trace that is read by itself: a time range, and the bytes of records in it. */
struct zoom_place {
	uint64_t from_ns, to_ns, records;
	uint32_t number; /* zoom_sample sets it */
};

/*
 * Reads a place; the trace has nothing but it.  Called by the thread of zoom_read, before zoom_read; not shown before
 * zoom_show_samples.  0 or -errno; -ECANCELED: zoom_stop.
 */
int zoom_sample(struct zoom *zoom, struct trace *trace, int process, const struct zoom_place *place);
void zoom_show_samples(struct zoom *zoom);

/* One pass over the trace.  process: index into model.processes, -1: all.  0 or -errno; -ECANCELED: zoom_stop. */
int zoom_read(struct zoom *zoom, struct trace *trace, int process);

/* Ends zoom_read early; from any thread. */
void zoom_stop(struct zoom *zoom);

struct zoom_progress {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; 0: nothing is known yet */
	uint64_t read_ns;	   /* everything before this is there */
	uint64_t slices;
	bool done;
	bool is_cut; /* once done: the trace has no end */
};
struct zoom_progress zoom_progress(struct zoom *zoom);

/* What to draw. */
struct zoom_question {
	uint64_t from_ns, to_ns;
	uint32_t width;		/* slices shorter than 1/width of the range are merged; 0: none are */
	const uint32_t *tracks; /* their ids in zoom_put_tracks; NULL: all */
	uint32_t track_count;
};

/* Part of a gap.  reason: what it is charged to, numbered from 0 on by the caller. */
struct zoom_gap_part {
	uint64_t from_ns, to_ns;
	uint32_t reason;
};

struct zoom_reason {
	const char *name, *where;
	uint32_t color;		   /* one of the page's colors of gaps */
	const char *const *frames; /* of the line's stack, innermost first */
	size_t frame_count;
	int own; /* which of them is the user's own, -1: none */
	uint32_t process,
		tid; /* model.processes, and the system's number: the thread that it leads to; ZOOM_NONE: none */
};

#define ZOOM_NONE UINT32_MAX

/*
 * Adds a gap of a GPU, after zoom_read; gaps of one GPU by time.  Their rows are shown by zoom_show_gaps, once each
 * reason has its name.
 */
void zoom_add_gap(struct zoom *zoom, uint32_t device, const struct zoom_gap_part *parts, size_t count);
void zoom_name_reason(struct zoom *zoom, uint32_t reason, const struct zoom_reason *as);
void zoom_show_gaps(struct zoom *zoom);

/* The row of a GPU's gaps, by its id in zoom_put_tracks; false: it has none. */
bool zoom_gap_row(struct zoom *zoom, uint32_t device, uint32_t *row);

#define ZOOM_WIDTH_MAX 4000u
#define ZOOM_BOXES_MAX 250000u /* in an answer; further ones are left out, and the answer says so */

/*
 * {"span":,"read":,"done":,"slices":,("cut":true,)("places":,"sampled":,)
 * "tracks":[[id,"label","group",depth,kind,owner,busy,"thread"]...]}: times in nanoseconds since the timeline's start;
 * tracks without slices are left out.  owner: the same for all rows of a thread; busy: the time of its slices, added
 * up; thread: its name. places: after `read`, what is drawn comes from this many places; sampled: their share of all
 * records.
 */
void zoom_put_tracks(struct zoom *zoom, struct sink *out);

/*
 * {"from":,"to":,"least":,"rows":[[track,depth,[start,length,label,count,busy,number,...]]...],("estimates":[as
 * rows...],)"labels":{"id":["name","where",category,stack(,leads
 * to)]},("stacks":{"id":[own,frame,...]},"frames":{"id":"text"},) "left_out":boxes}: times in nanoseconds, `from` and
 * `to` since the timeline's start, starts since `from`.  Slices shorter than `least` are merged.  number: what a call
 * and its GPU work share; for memory the most bytes held; 0: nothing.  leads to: of a gap, a row of the thread that it
 * is charged to.  stacks: innermost frame first, and which frame is the user's own, -1: none; only if the width is 0,
 * else zoom_put_stack gives each.  Returns the number of boxes.
 */
uint32_t zoom_put_answer(struct zoom *zoom, const struct zoom_question *question, struct sink *out);

/* {"own":,"frames":["text"...]} of a label's stack. */
void zoom_put_stack(struct zoom *zoom, uint32_t id, struct sink *out);

/* The number of slices in a range; blocks at its edges count as a whole. */
uint64_t zoom_count(struct zoom *zoom, uint64_t from_ns, uint64_t to_ns);

/* The next slice that starts after a time and has the text in its name or place; false: none. */
struct zoom_hit {
	uint32_t track, depth;
	uint64_t start_ns, end_ns;
	uint32_t label;
};
bool zoom_find(struct zoom *zoom, const char *text, uint64_t after_ns, struct zoom_hit *hit);

/* The first slice of that number on a GPU, or the call on a thread; only what was read so far. */
bool zoom_find_linked(struct zoom *zoom, uint64_t number, bool on_gpu, struct zoom_hit *hit);

/* ,"name":,"where": of a hit. */
void zoom_put_hit_label(struct zoom *zoom, const struct zoom_hit *hit, struct sink *out);
