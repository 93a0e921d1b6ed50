/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of zoom/ alone: a reading under way, of all or of a place. */
#ifndef GPUTRACE_ZOOM_COLLECT_H
#define GPUTRACE_ZOOM_COLLECT_H

#include "export/zoom/store.h"
#include "timeline/nesting.h"

#define ARROWS (1u << 18)
#define RECENT_LABELS 1024u

struct collect {
	struct zoom *zoom;
	struct timeline *timeline;
	const struct zoom_place *place; /* that alone is read; NULL: all is */
	ARRAY(uint32_t) tracks;		/* of the timeline: which of the zoom's each is */
	struct nesting waiting;
	ARRAY(struct waiting_long {
		struct zoom_slice slice;
		uint32_t track;
		bool is_open;
	})
	longs;				/* the same; and what is still open */
	ARRAY(uint32_t) waiting_labels; /* as they came */
	uint64_t part_from_ns, next_from_ns;
	ARRAY(uint32_t) code_names; /* by code: number of its text + 1, 0: none yet */
	struct tally frames;	    /* more: number of the text + 1 */
	uint32_t nothing;	    /* the text "" */
	uint64_t end_ns;	    /* of the latest slice to end */
	struct recent_label {
		const char *text; /* of its name, NULL: none yet */
		uint32_t label;
	} recent[RECENT_LABELS];
	struct arrow {
		uint64_t flow;
		uint32_t where;
	} * arrows; /* from calls to their GPU work: which line launched it */
};

/* False: there is no timeline, and the trace's error says why. */
bool zoom_collect_begin(struct collect *collect, struct zoom *zoom, struct trace *trace, int process);
void zoom_collect_end(struct collect *collect);

/* What the slice is called, and where; its label. */
uint32_t zoom_label_of(struct collect *collect, const struct timeline_slice *slice);

/* ---- tracks.c --------------------------------------------------------------------------------------------------- */

/* Those that the timeline has by now; under the lock. */
void zoom_learn_tracks(struct collect *collect);

#endif
