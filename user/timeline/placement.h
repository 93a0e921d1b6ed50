/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which row everything goes to that may overlap: GPU operations, waits, compilations, NVTX ranges, CUPTI's overhead,
 * samples. One pass over each in its order of start, part after part of the trace, before slices of the part are handed
 * over. Which slice is on which row is kept for the current part only.
 */
#ifndef GPUTRACE_TIMELINE_PLACEMENT_H
#define GPUTRACE_TIMELINE_PLACEMENT_H

#include "timeline/slice_rows.h"
#include "timeline/open_ranges.h"
#include "timeline/timeline.h"

/* What the first operation on a row says of its stream; a row may be there before that. */
struct stream_nature {
	bool known;
	uint8_t flags;
	int8_t priority;
};

struct timeline_placement {
	/* keys: beside THREADS process and tid, beside THREADS_KNOWN the thread, beside GPUS process, device and stream
	 * or NONE; RANGES: thread, domain or NONE, started or not */
#define TIMELINE_PLACED_KIND(one, many, ...) struct placed many;
	TIMELINE_PLACED(TIMELINE_PLACED_KIND)
#undef TIMELINE_PLACED_KIND
	ARRAY(struct stream_nature) natures; /* by row of GPU operations */
	struct open_ranges open_ranges;
	uint64_t next_range;	 /* number of the next NVTX range */
	uint64_t *range_numbers; /* of those in the current part, by index in the model */
	size_t range_room;
	struct tally gpus;     /* by device: in `more` its group */
	struct tally counters; /* that were met, as timeline_counter_key has them */
	/* The overheads of the timeline in this part by start; the model has them as they came. */
	ARRAY(uint32_t) overhead_order;
	ARRAY(uint64_t) sample_starts;	   /* of the samples in this part */
	ARRAY(uint64_t) known_until;	   /* by thread: of its samples and waits so far, the latest end */
	struct timeline_omissions omitted; /* so far */
};

struct timeline_placement *timeline_placement_new(void);
void timeline_placement_free(struct timeline_placement *placement);

/* Places what is in the part that is the timeline's model now. */
void timeline_place_part(struct timeline *timeline);

/* After that: widens the timeline's end_ns, and with the first part start_ns. */
void timeline_span_part(struct timeline *timeline, bool first);

/* Each places what the part has of its kind. */
#define PLACE(one, many, ...) void place_##many(struct timeline *timeline, struct timeline_placement *placement);
TIMELINE_PLACED(PLACE)
#undef PLACE

/* What a track of each kind is called; before: " of python3 41330 (overlap 1)", of what is not the only one of its
 * name.
 */
void label_row(const struct timeline *timeline, const struct timeline_track *track, bool of_gpu, char *text,
	       size_t size);
#define LABEL(one, many, ...)                                                                                          \
	void label_##many(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size);
TIMELINE_PLACED(LABEL)
#undef LABEL

#endif
