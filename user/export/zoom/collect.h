/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of zoom/ alone: a pass in progress, over the whole trace or a place. */
#pragma once

#include "export/zoom/store.h"
#include "timeline/rows/nesting.h"

#define ARROWS (1u << 18)
#define RECENT_LABELS 1024u

/* How much memory an allocator holds, or a counter of a GPU, since when, and the row that shows it. */
struct held_memory {
	uint32_t kind, device;
	uint32_t track, label;
	uint64_t since_ns;
	uint64_t bytes;	    /* of a counter: its value */
	uint64_t latest_ns; /* of a counter: its latest sample */
};

struct collect {
	struct zoom *zoom;
	struct timeline *timeline;
	const struct zoom_place *place; /* only this place is read; NULL: everything */
	ARRAY(uint32_t) tracks;		/* by track of the timeline: the track of the zoom */
	struct nesting waiting;
	ARRAY(struct waiting_long_slice {
		struct zoom_slice slice;
		uint32_t track;
		bool is_open;
	})
	long_slices; /* waiting long slices; and those still open */
	ARRAY(struct waiting_slice {
		uint64_t number;
		uint32_t label;
	})
	waiting_rest; /* the rest of each waiting slice, in order of arrival */
	uint64_t part_from_ns, next_from_ns;
	ARRAY(uint32_t) code_names;	  /* by code: 1 + number of its text; 0: none yet */
	struct tally frames;		  /* more: 1 + number of the text */
	struct tally stacks;		  /* by timeline_stack.id; more: 1 + number of the text */
	uint32_t nothing;		  /* the text "" */
	ARRAY(struct held_memory) memory; /* memory.c */
	uint64_t end_ns;		  /* of the latest slice to end */
	struct recent_label {
		const char *text; /* its name, NULL: none yet */
		uint32_t label;
	} recent[RECENT_LABELS];
	struct arrow {
		uint64_t flow;
		uint32_t where, stack;
	} * arrows; /* from calls to their GPU work: which line launched it */
};

/* False: no timeline; the trace's error says why. */
bool zoom_collect_begin(struct collect *collect, struct zoom *zoom, struct trace *trace, int process);
void zoom_collect_end(struct collect *collect);

/* The label of a slice: its name and place. */
uint32_t zoom_label_of(struct collect *collect, const struct timeline_slice *slice);

/* The number that a call and its GPU work share, 0: none. */
uint64_t zoom_number_of(const struct timeline_slice *slice);

/* Queues a slice until the end of the part. */
void zoom_wait(struct collect *collect, uint32_t track, const struct zoom_slice *slice);
uint32_t zoom_text_id(struct collect *collect, const char *before, const char *text);
uint32_t zoom_label_id(struct collect *collect, const struct zoom_label *label);

/* ---- memory.c --------------------------------------------------------------------------------------------------- */

void zoom_see_cuda_memory(struct collect *collect, const struct timeline_memory *memory);
void zoom_see_torch_memory(struct collect *collect, const struct timeline_slice *slice);
void zoom_see_gpu_counter(struct collect *collect, const struct timeline_value *value);
void zoom_end_memory(struct collect *collect, uint64_t end_ns);

/* ---- tracks.c --------------------------------------------------------------------------------------------------- */

/* Adds the tracks that the timeline has so far; the caller holds the lock. */
void zoom_add_tracks(struct collect *collect);

/* The row for memory or a counter of a GPU, or of the host (device TIMELINE_NONE); kind distinguishes rows of one GPU.
 */
uint32_t zoom_memory_track(struct collect *collect, uint32_t kind, uint32_t device, const char *label);
