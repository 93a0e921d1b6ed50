/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of a timeline on which slices must not overlap: the stream of a GPU, the thread of an overhead.  What
 * overlaps goes to another lane of the same stream, as concurrent kernels of a graph do.
 */
#ifndef GPUTRACE_TRACKS_H
#define GPUTRACE_TRACKS_H

#include <stdint.h>

#include "base/array.h"
#include "base/tally.h"

#define TRACK_NONE UINT32_MAX

/* A GPU runs at most 128 kernels at once (CUDA C++ guide, table of technical specifications). */
#define TRACK_LANES_MAX 256

struct track {
	struct tally_key key;
	uint32_t lane;	    /* 0: where slices go unless they overlap */
	uint32_t first;	    /* lane 0 of the same key */
	uint32_t next_lane; /* TRACK_NONE: none */
	uint32_t tid;	    /* as written; the user of tracks fills it in */
	uint64_t last_end_ns;
};

/* Starts zeroed. */
struct tracks {
	ARRAY(struct track) all;
	struct tally by_key; /* more: index of lane 0 + 1 */
};

/*
 * The lane for a slice; slices of one key come by start time.  TRACK_NONE: more than TRACK_LANES_MAX overlap.
 */
uint32_t tracks_place(struct tracks *tracks, struct tally_key key, uint64_t start_ns, uint64_t end_ns);

void tracks_free(struct tracks *tracks);

#endif
