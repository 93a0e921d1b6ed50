/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Assigns rows to slices that may overlap: GPU operations, waits, compilations, NVTX ranges, CUPTI's overhead, samples.
 * Makes one pass over each kind in order of start, part by part, before the part's slices are handed over.  The rows of
 * slices are kept for the current part only.
 */
#pragma once

#include "timeline/rows/slice_rows.h"
#include "timeline/rows/open_ranges.h"
#include "timeline/timeline.h"

/* Properties of a row's stream, taken from the row's first operation; a row can exist before that. */
struct stream_nature {
	bool known;
	uint8_t flags;
	int8_t priority;
};

struct timeline_placement {
	/*
	 * keys, by `beside`: THREADS: process, tid; THREADS_KNOWN: thread; GPUS: process, device, stream or NONE;
	 * RANGES: thread, domain or NONE, whether started
	 */
#define TIMELINE_PLACED_KIND(one, many, ...) struct placed many;
	TIMELINE_PLACED(TIMELINE_PLACED_KIND)
#undef TIMELINE_PLACED_KIND
	ARRAY(struct stream_nature) natures; /* by row of GPU operations */
	struct open_ranges open_ranges;
	uint64_t next_range;	 /* the number for the next NVTX range */
	uint64_t *range_numbers; /* of ranges in the current part, by index in the model */
	size_t range_room;
	struct tally gpus;     /* by device; `more` is its group */
	struct tally counters; /* keys seen so far (timeline_counter_key) */
	/* Overheads of the timeline in this part, by start. */
	ARRAY(uint32_t) overhead_order;
	ARRAY(uint64_t) sample_starts;	   /* of the samples in this part */
	ARRAY(uint64_t) known_until;	   /* by thread: the latest end of its samples and waits so far */
	struct timeline_omissions omitted; /* so far */
};

struct timeline_placement *timeline_placement_new(void);
void timeline_placement_free(struct timeline_placement *placement);

/* Places the slices of the current part, the timeline's model. */
void timeline_place_part(struct timeline *timeline);

/* After that: extends the timeline's end_ns, and with the first part start_ns. */
void timeline_span_part(struct timeline *timeline, bool first);

/* Each places the part's slices of its kind. */
#define PLACE(one, many, ...) void place_##many(struct timeline *timeline, struct timeline_placement *placement);
TIMELINE_PLACED(PLACE)
#undef PLACE

/*
 * Labels of tracks of each kind.  label_row: the suffix " of python3 41330 (overlap 1)" of tracks whose name is not
 * unique.
 */
void label_row(const struct timeline *timeline, const struct timeline_track *track, bool of_gpu, char *text,
	       size_t size);
#define LABEL(one, many, ...)                                                                                          \
	void label_##many(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size);
TIMELINE_PLACED(LABEL)
#undef LABEL
