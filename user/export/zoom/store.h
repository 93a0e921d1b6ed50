/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of zoom/ alone: the data that is kept. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/array.h"
#include "base/tally.h"
#include "export/file/texts.h"
#include "export/zoom/zoom.h"
#include "timeline/timeline.h"

#define BLOCK_SLICES 256u
#define DEPTH_MAX 160u /* deeper slices are on the last row */

/* The data of a slice: packed in blocks, or not packed yet. */
struct zoom_slice {
	uint64_t start_ns, end_ns;
	uint64_t number; /* of a call and its GPU work: TIMELINE_ARG_CORRELATION; of memory: bytes held; else 0 */
	uint32_t label;
};

struct zoom_block {
	uint64_t first_ns, end_ns; /* the earliest start, the latest end */
	uint64_t busy_ns;
	uint64_t least_number, most_number;
	uint64_t at; /* offset in the file */
	uint32_t size;
	uint32_t label; /* of the longest slice */
	uint32_t count;
};

struct zoom_row {
	ARRAY(struct zoom_block) blocks; /* by start */
	struct zoom_slice open[BLOCK_SLICES];
	uint32_t open_count;
	ARRAY(struct zoom_summary) summaries; /* in sampled layers: one for each place with slices in it */
};

/* Sums over one row of a place that was read by itself. */
struct zoom_summary {
	uint32_t place; /* the place's number */
	uint32_t label; /* of the longest slice */
	uint64_t count, busy_ns, longest_ns;
};

/* Rows by depth, and the ends of slices open where the latest was added. */
struct zoom_layer {
	ARRAY(struct zoom_row *) rows;
	ARRAY(uint64_t) around;
};

/* Python functions and ranges that began before the part in which they ended; they nest. */
struct zoom_long_slice {
	struct zoom_slice slice;
	uint32_t depth;
	bool is_open; /* its end is not read yet: it is as long as known so far */
};

/* Keys that identify a group and a track in another pass, where their numbers differ. */
struct zoom_group_key {
	uint32_t kind, pid, device;
};
struct zoom_track_key {
	struct zoom_group_key group;
	uint32_t kind, pid, tid, device, stream, row, domain, started;
};

struct zoom_track {
	char *label, *group;
	char *thread; /* name of the thread that it is of; NULL: of none */
	struct zoom_track_key key;
	uint32_t kind, group_index, owner, order; /* sort order of the track */
	uint32_t process;			  /* model.processes; ZOOM_NONE: of none */
	uint32_t rank;				  /* of that process; ZOOM_NONE: none */
	bool on_gpu;
	bool is_hidden;				   /* gaps.c */
	bool is_known;				   /* the pass over the whole trace has it; else only samples have it */
	struct zoom_layer read;			   /* without the long slices */
	struct zoom_layer sampled;		   /* places that the pass over the whole trace has not reached yet */
	ARRAY(struct zoom_long_slice) long_slices; /* by start, outer ones first, once sorted */
	ARRAY(struct zoom_edge {
		uint64_t time_ns;
		uint32_t open; /* number of long slices open from here on */
	})
	edges;
	bool is_sorted;
};

struct zoom_label {
	uint32_t name, where;
	uint32_t category; /* enum timeline_category, or ZOOM_CATEGORY_GAPS and more */
	uint32_t leads_to; /* of a gap: a row of the thread that it is charged to; ZOOM_NONE */
	uint32_t stack;	   /* a text, "own,12,45": its frames' texts, innermost first; own: the user's own, or -1 */
};

/* The packed blocks: an unnamed file, the tail not yet written to it, and a piece that was read. */
struct zoom_file {
	int fd;
	int error;
	uint64_t written;
	struct sink tail;
	uint8_t *read; /* NULL: nothing was read yet */
	uint64_t read_at;
	size_t read_size;
};

struct zoom {
	pthread_mutex_t lock; /* protects all members but the next two */
	atomic_uint askers;   /* threads that wait for the lock: a mutex that is retaken at once would starve them */
	atomic_bool stopped;
	struct zoom_file file;
	struct texts texts;
	ARRAY(struct zoom_label) labels;
	struct tally label_ids;
	bool gap_labels; /* there are labels of gaps, from first_gap_label on, by reason */
	uint32_t first_gap_label;
	ARRAY(struct zoom_track) tracks;
	struct zoom_progress progress;
	ARRAY(struct zoom_place) places; /* places read by themselves, by start */
	uint32_t next_place;		 /* number of the next place */
	bool shows_samples;
	uint64_t expected_from_ns, expected_to_ns;
	double density[ZOOM_BINS]; /* records in each bin of that range */
	double records;		   /* in all bins */
};

/* The kind of a track that no timeline has: memory held. */
#define ZOOM_TRACK_MEMORY 100u
#define ZOOM_TRACK_GAPS 101u /* gaps of a GPU */

/* Categories of gaps, after those of slices: by color. */
#define ZOOM_CATEGORY_GAPS 100u
#define ZOOM_CATEGORY_COUNTER 99u /* clocks, power and temperature of GPUs */

/* Lock to answer a question.  Long work calls zoom_let_ask without the lock, so that waiting threads go first. */
static inline void zoom_lock_to_ask(struct zoom *zoom)
{
	atomic_fetch_add(&zoom->askers, 1);
	pthread_mutex_lock(&zoom->lock);
	atomic_fetch_sub(&zoom->askers, 1);
}

static inline void zoom_let_ask(struct zoom *zoom)
{
	while (atomic_load_explicit(&zoom->askers, memory_order_relaxed))
		sched_yield();
}

/* ---- store.c ---------------------------------------------------------------------------------------------------- */

void zoom_add(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice);

/* The same for a place that is read by itself; zoom_end_sampled packs the rest once all of it was added. */
void zoom_add_sampled(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice, uint32_t place);
void zoom_end_sampled(struct zoom *zoom, struct zoom_track *track);
void zoom_free_layer(struct zoom_layer *layer);
void zoom_add_long_slice(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice, bool is_open);
/* Drops the open slices; they are added again. */
void zoom_forget_open(struct zoom_track *track);

/* The number of long slices open on the track at a time; after zoom_sort_long_slices. */
void zoom_sort_long_slices(struct zoom_track *track);
uint32_t zoom_longs_at(const struct zoom_track *track, uint64_t time_ns);

/* Unpacks the slices of a block, at most BLOCK_SLICES; returns how many. */
uint32_t zoom_unpack(struct zoom *zoom, const struct zoom_block *block, struct zoom_slice *slices);

/*
 * The time from which samples stand for what is not read yet; UINT64_MAX: no samples.  Slices that begin before it come
 * from the pass over the whole trace, others from samples: each is drawn once.
 */
uint64_t zoom_sampled_from(const struct zoom *zoom);

/* Drops all samples; the caller holds the lock. */
void zoom_drop_samples(struct zoom *zoom);

/* ---- estimate.c ------------------------------------------------------------------------------------------------- */

/* Estimates of a row where nothing was read: boxes that each stand for several slices, passed to put in order. */
struct zoom_estimate {
	uint64_t start_ns, end_ns, busy_ns, count;
	uint32_t label;
};
void zoom_estimate(const struct zoom *zoom, const struct zoom_row *row, uint64_t from_ns, uint64_t to_ns,
		   void (*put)(void *context, const struct zoom_estimate *estimate), void *context);
