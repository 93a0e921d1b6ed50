/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files that hand slices over: the visitor, whether it wants more, the functions that call it, and state
 * that is kept from one part of the trace to the next.
 */
#pragma once

#include "base/array.h"
#include "base/tally.h"
#include "model/model.h"
#include "timeline/rows/op_links.h"
#include "timeline/python_slices.h"
#include "timeline/rows/slice_rows.h"
#include "timeline/timeline.h"

#define ARGS_MAX 56 /* more than any slice has */

/* The number of stacks whose frames are kept: calls of several threads, each with few lines, alternate. */
#define VISIT_STACKS 256u

struct stack_frames {
	ARRAY(struct timeline_frame) frames; /* empty: no stack yet */
	uint32_t stack;			     /* of the model */
};

struct visit {
	const struct timeline *timeline;
	const struct timeline_visitor *visitor;
	bool ended;		     /* the visitor stopped */
	bool first, last;	     /* of the parts */
	struct python_slices python; /* open functions */
	struct tally held;	     /* allocated memory, by counter; `ns` counts bytes */
	struct op_links links;	     /* of forward ops of PyTorch */
	/* Storage to which the current slice points. */
	struct stack_frames stacks[VISIT_STACKS]; /* by index of the stack */
	ARRAY(const char *) names;
	ARRAY(uint64_t) flows;
	uint64_t highest; /* in a shared file: the highest number of an op, or of an arrow to a backward op */
};

/* A slice under construction, with its arguments. */
struct draft {
	struct timeline_slice slice;
	struct timeline_arg args[ARGS_MAX];
};

static inline void draft_begin(struct draft *draft, enum timeline_category category, uint32_t track, uint64_t start_ns,
			       uint64_t end_ns)
{
	draft->slice = (struct timeline_slice){.track = track,
					       .category = category,
					       .start_ns = start_ns,
					       .end_ns = end_ns,
					       .flow_from_track = TIMELINE_NONE,
					       .name = {.before = "", .text = "", .code = TIMELINE_NONE},
					       .args = draft->args};
}

/* Adds an argument to the slice; the caller fills in its value. */
static inline struct timeline_arg *draft_arg(struct draft *draft, enum timeline_arg_key key)
{
	struct timeline_arg *arg = &draft->args[draft->slice.arg_count++];

	arg->key = key;
	return arg;
}

static inline void draft_number(struct draft *draft, enum timeline_arg_key key, uint64_t value)
{
	draft_arg(draft, key)->number = value;
}

static inline void draft_signed(struct draft *draft, enum timeline_arg_key key, int64_t value)
{
	draft_arg(draft, key)->integer = value;
}

static inline void draft_fraction(struct draft *draft, enum timeline_arg_key key, double value)
{
	draft_arg(draft, key)->fraction = value;
}

static inline void draft_text(struct draft *draft, enum timeline_arg_key key, const char *text)
{
	draft_arg(draft, key)->text = text;
}

static inline void draft_triple(struct draft *draft, enum timeline_arg_key key, const uint32_t *values)
{
	draft_arg(draft, key)->triple = values;
}

/* Calls visit_one with the index of each slice that has a row, until the visitor stops. */
static inline void visit_placed(struct visit *visit, const struct placed *placed,
				void (*visit_one)(struct visit *visit, uint32_t index))
{
	for (uint32_t i = placed->from; i < placed->end && !visit->ended; i++)
		if (placed_row(placed, i) != ROW_NONE)
			visit_one(visit, i);
}

/* Like visit_slice and visit_memory, in a shared file: on its clock, with numbers of this timeline's own. */
void visit_slice_among(struct visit *visit, const struct timeline_slice *slice);
void visit_memory_among(struct visit *visit, const struct timeline_memory *memory);

/* The first number that this timeline does not use. */
uint64_t visit_numbers_end(const struct visit *visit);

static inline void visit_slice(struct visit *visit, const struct timeline_slice *slice)
{
	if (visit->timeline->among.is_one)
		visit_slice_among(visit, slice);
	else
		visit->ended = !visit->visitor->slice(visit->visitor->context, slice);
}

static inline void visit_memory(struct visit *visit, const struct timeline_memory *memory)
{
	if (visit->timeline->among.is_one)
		visit_memory_among(visit, memory);
	else
		visit->ended = !visit->visitor->memory(visit->visitor->context, memory);
}
