/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of zoom/ alone: what is kept. */
#ifndef GPUTRACE_ZOOM_STORE_H
#define GPUTRACE_ZOOM_STORE_H

#include <pthread.h>
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
	uint32_t label;
};

struct zoom_block {
	uint64_t first_ns, end_ns; /* the earliest begin, the latest end */
	uint64_t busy_ns;
	uint64_t at; /* in the file */
	uint32_t size;
	uint32_t label; /* of the longest */
	uint32_t count;
};

struct zoom_row {
	ARRAY(struct zoom_block) blocks; /* by begin */
	struct zoom_slice open[BLOCK_SLICES];
	uint32_t open_count;
};

/* Python functions and ranges that began in an earlier part than the one they ended in; they nest. */
struct zoom_long {
	struct zoom_slice slice;
	uint32_t depth;
};

struct zoom_track {
	char *label, *group;
	uint32_t kind, group_index, owner;
	bool on_gpu;
	ARRAY(struct zoom_row *) rows; /* by depth, without those long ones around them */
	ARRAY(uint64_t) around;	       /* ends of slices that are open where the latest was put */
	ARRAY(struct zoom_long) longs; /* by begin, outer ones first, once sorted */
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
	pthread_mutex_t lock; /* of all below */
	atomic_bool stopped;
	struct zoom_file file;
	struct texts texts;
	ARRAY(struct zoom_label) labels;
	struct tally label_ids;
	ARRAY(struct zoom_track) tracks;
	struct zoom_progress progress;
	uint64_t part_until_ns; /* 0: it is no part */
};

/* ---- store.c ---------------------------------------------------------------------------------------------------- */

void zoom_add(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice);
void zoom_add_long(struct zoom *zoom, uint32_t track, const struct zoom_slice *slice);

/* How many long slices are open on the track at a time; after zoom_sort_longs. */
void zoom_sort_longs(struct zoom_track *track);
uint32_t zoom_longs_at(const struct zoom_track *track, uint64_t time_ns);

/* The slices of a block, at most BLOCK_SLICES; how many. */
uint32_t zoom_unpack(struct zoom *zoom, const struct zoom_block *block, struct zoom_slice *slices);

#endif
