/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lanes for slices that must not overlap on one track: the slices of a stream, of a thread's compilations.  What
 * overlaps goes to another lane of the same key, as concurrent kernels of a graph do.  Knows times and keys and nothing
 * else.
 */
#ifndef GPUTRACE_TIMELINE_LANES_H
#define GPUTRACE_TIMELINE_LANES_H

#include <stdint.h>

#include "base/array.h"
#include "base/tally.h"

#define LANE_NONE UINT32_MAX

/* A GPU runs at most 128 kernels at once (CUDA C++ guide, table of technical specifications). */
#define LANES_MAX 256

struct lane {
	struct tally_key key;
	uint32_t number; /* 0: where slices of the key go unless they overlap */
	uint32_t first;	 /* lane 0 of the same key */
	uint32_t next;	 /* LANE_NONE: none */
	uint64_t last_end_ns;
};

/* Starts zeroed. */
struct lanes {
	ARRAY(struct lane) all;
	struct tally by_key; /* more: index of lane 0 + 1 */
};

/*
 * The lane for a slice; slices of one key come by start time.  LANE_NONE: more than LANES_MAX overlap.  The end of one
 * that is still open is UINT64_MAX until lanes_end.
 */
uint32_t lanes_place(struct lanes *lanes, struct tally_key key, uint64_t start_ns, uint64_t end_ns);
void lanes_end(struct lanes *lanes, uint32_t lane, uint64_t end_ns);

/* Lane 0 of a key, for slices that may come. */
uint32_t lanes_reserve(struct lanes *lanes, struct tally_key key);

/* The same, LANE_NONE: nothing was placed under it. */
uint32_t lanes_first(struct lanes *lanes, struct tally_key key);

void lanes_free(struct lanes *lanes);

#endif
