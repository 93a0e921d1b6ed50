/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of zoom/ alone: what is kept. */
#ifndef GPUTRACE_ZOOM_STORE_H
#define GPUTRACE_ZOOM_STORE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/array.h"
#include "base/tally.h"
#include "export/texts.h"
#include "export/zoom/zoom.h"
#include "timeline/timeline.h"

#define BLOCK_SLICES 256u
#define DEPTH_MAX 160u /* deeper slices are on the last row */

/* Of a slice: packed in blocks, or waiting to be. */
struct zoom_slice {
	uint64_t start_ns, end_ns;
	uint64_t number; /* of a call and its GPU work: TIMELINE_ARG_CORRELATION; of memory: bytes that are held; 0 */
	uint32_t label;
};

struct zoom_block {
	uint64_t first_ns, end_ns; /* the earliest begin, the latest end */
	uint64_t busy_ns;
	uint64_t least_number, most_number;
	uint64_t at; /* in the file */
	uint32_t size;
	uint32_t label; /* of the longest */
	uint32_t count;
};

struct zoom_row {
	ARRAY(struct zoom_block) blocks; /* by start */
	struct zoom_slice open[BLOCK_SLICES];
	uint32_t open_count;
	ARRAY(struct zoom_summary) summaries; /* where it is of samples: one for each that has slices in it */
};

/* What a place of a log that was read by itself has in one row. */
struct zoom_summary {
	uint32_t place; /* the number of it */
	uint32_t label; /* of the longest */
	uint64_t count, busy_ns, longest_ns;
};

/* Rows by depth, and ends of slices that are open where the latest was put. */
struct zoom_layer {
	ARRAY(struct zoom_row *) rows;
	ARRAY(uint64_t) around;
};

/* Python functions and ranges that began in an earlier part than the one they ended in; they nest. */
struct zoom_long_slice {
	struct zoom_slice slice;
	uint32_t depth;
	bool is_open; /* its end is still to come: it is as long as is known */
};

/* By what a group and a track are known again in another reading, whose numbers are others. */
struct zoom_group_key {
	uint32_t kind, pid, device;
};
struct zoom_track_key {
	struct zoom_group_key group;
	uint32_t kind, pid, tid, device, stream, row, domain, started;
};

struct zoom_track {
	char *label, *group;
	struct zoom_track_key key;
	uint32_t kind, group_index, owner, order; /* where it stands: by these */
	bool on_gpu;
	bool is_known;				   /* by the reading of all; else by samples alone */
	struct zoom_layer read;			   /* without those long ones around them */
	struct zoom_layer sampled;		   /* of places of which the reading of all is still to come */
	ARRAY(struct zoom_long_slice) long_slices; /* by start, outer ones first, once sorted */
	ARRAY(struct zoom_edge {
		uint64_t time_ns;
		uint32_t open; /* long slices from here on */
	})
	edges;
	bool is_sorted;
};

struct zoom_label {
	uint32_t name, where;
	uint32_t category;
	uint32_t stack; /* a text: "own,12,45", its frames' texts innermost first, and which is the user's own or -1 */
};

/* The packed blocks: a file without a name, what is still to be written there, and a stretch that was read. */
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
	pthread_mutex_t lock; /* of all below but these */
	atomic_uint askers;   /* who wait for the lock: a mutex that is taken again at once would not be theirs */
	atomic_bool stopped;
	struct zoom_file file;
	struct texts texts;
	ARRAY(struct zoom_label) labels;
	struct tally label_ids;
	ARRAY(struct zoom_track) tracks;
	struct zoom_progress progress;
	ARRAY(struct zoom_place) places; /* that were read by themselves, by start */
	uint32_t next_place;		 /* their numbers */
	bool shows_samples;
	uint64_t expected_from_ns, expected_to_ns;
	double density[ZOOM_BINS]; /* records in each part of that */
	double records;		   /* of all parts */
};

/* The kind of a track that no timeline has: how much memory is held. */
#define ZOOM_TRACK_MEMORY 100u

/* For an answer; and what goes on for long lets those go first who want one, without the lock. */
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

/* The same of a place that is read by itself; then, when all of it was put, what is still open is packed. */
void zoom_add_sampled(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice, uint32_t place);
void zoom_end_sampled(struct zoom *zoom, struct zoom_track *track);
void zoom_free_layer(struct zoom_layer *layer);
void zoom_add_long_slice(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice, bool is_open);
/* Those that are open are put again. */
void zoom_forget_open(struct zoom_track *track);

/* How many long slices are open on the track at a time; after zoom_sort_long_slices. */
void zoom_sort_long_slices(struct zoom_track *track);
uint32_t zoom_longs_at(const struct zoom_track *track, uint64_t time_ns);

/* The slices of a block, at most BLOCK_SLICES; how many. */
uint32_t zoom_unpack(struct zoom *zoom, const struct zoom_block *block, struct zoom_slice *slices);

/*
 * From here on samples stand for what is not read yet; UINT64_MAX: there are none.  Slices that begin before it are
 * those of the reading, others those of samples: each is drawn once.
 */
uint64_t zoom_sampled_from(const struct zoom *zoom);

/* What samples have goes; under the lock. */
void zoom_drop_samples(struct zoom *zoom);

/* ---- estimate.c ------------------------------------------------------------------------------------------------- */

/* What to expect of a row where nothing was read: boxes of some, in order, each handed to put. */
struct zoom_estimate {
	uint64_t start_ns, end_ns, busy_ns, count;
	uint32_t label;
};
void zoom_estimate(const struct zoom *zoom, const struct zoom_row *row, uint64_t from_ns, uint64_t to_ns,
		   void (*put)(void *context, const struct zoom_estimate *estimate), void *context);

#endif
