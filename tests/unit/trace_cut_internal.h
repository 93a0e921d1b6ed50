/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is common to placing events in parts (trace_cut.c) and making a part (trace_cut_part.c). */
#ifndef GPUTRACE_TRACE_CUT_INTERNAL_H
#define GPUTRACE_TRACE_CUT_INTERNAL_H

#include "base/array.h"
#include "model/totals.h"
#include "trace_cut.h"

enum kind {
	CALLS,
	GPU,
	JITS,
	SYNCS,
	MEMORIES,
	OVERHEADS,
	SAMPLES,
	WAITS,
	KINDS,
};

/* Where in struct model a kind is, and where in an event its time. */
struct cut_kind {
	size_t items, count, in_part, size, time;
};
extern const struct cut_kind cut_kinds[KINDS];

struct block {
	void *bytes;
	size_t size;
};

struct cut {
	struct trace trace;
	const struct model *whole;
	ARRAY(uint64_t) times;	  /* where it is cut */
	uint32_t *part_of[KINDS]; /* by the whole's events: the part */
	size_t at;		  /* part that was given last */
	struct model part;
	struct model_source source;
	struct totals totals;
	ARRAY(struct block) blocks;			  /* of the part */
	uint8_t *needed[KINDS];				  /* by the whole's events: the part holds it */
	uint32_t *place[KINDS];				  /* and where */
	uint32_t strings, codes, frames, stacks, natives; /* how many have been seen */
};

static inline const char *cut_item(const struct cut *cut, enum kind kind, uint32_t index)
{
	return *(char *const *)((const char *)cut->whole + cut_kinds[kind].items) + index * cut_kinds[kind].size;
}

static inline uint32_t cut_count(const struct model *model, enum kind kind)
{
	return *(const uint32_t *)((const char *)model + cut_kinds[kind].count);
}

static inline uint64_t cut_time(const struct cut *cut, enum kind kind, uint32_t index)
{
	return *(const uint64_t *)(cut_item(cut, kind, index) + cut_kinds[kind].time);
}

/* The part at cut->at, in place of the one before; and that one's end. */
const struct model *cut_make_part(struct cut *cut);
void cut_drop_part(struct cut *cut);

#endif
