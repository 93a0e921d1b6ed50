/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by placing events in parts (trace_cut.c) and making a part (trace_cut_part.c). */
#pragma once

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
	GPU_SAMPLES,
	KINDS,
};

/* Offsets of a kind's array in struct model, and of the time in its events. */
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
	ARRAY(uint64_t) times;	  /* of the cuts */
	uint32_t *part_of[KINDS]; /* by index in the whole: the event's part */
	size_t at;		  /* the part that was returned last */
	struct model part;
	struct model_source source;
	struct totals totals;
	ARRAY(struct block) blocks;			  /* memory of the part */
	uint8_t *needed[KINDS];				  /* by index in the whole: the part holds the event */
	uint32_t *place[KINDS];				  /* and the event's index in the part */
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

/* Makes the part at cut->at in place of the previous one; cut_drop_part frees it. */
const struct model *cut_make_part(struct cut *cut);
void cut_drop_part(struct cut *cut);
