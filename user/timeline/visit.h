/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files that hand slices over share: the visitor, whether it wants more, the one way to it, and what must be
 * remembered from one part of the trace to the next.
 */
#ifndef GPUTRACE_TIMELINE_VISIT_H
#define GPUTRACE_TIMELINE_VISIT_H

#include "base/array.h"
#include "base/tally.h"
#include "model/model.h"
#include "timeline/op_links.h"
#include "timeline/python_slices.h"
#include "timeline/timeline.h"

#define ARGS_MAX 48 /* more than any slice has */

/* Stacks whose frames are kept: calls of some threads, each with few lines, alternate. */
#define VISIT_STACKS 256u

struct stack_frames {
	ARRAY(struct timeline_frame) frames; /* none: there is no stack yet */
	uint32_t stack;			     /* of the model */
};

struct visit {
	const struct timeline *timeline;
	const struct timeline_visitor *visitor;
	bool ended;		     /* the visitor has had enough */
	bool first, last;	     /* of the parts */
	struct python_slices python; /* what is open */
	struct tally held;	     /* memory, by counter; ns: bytes */
	struct op_links links;	     /* of forward ops of PyTorch */
	/* Memory for what the current slice points to. */
	struct stack_frames stacks[VISIT_STACKS]; /* by index of the stack */
	ARRAY(const char *) names;
	ARRAY(uint64_t) flows;
	uint64_t highest; /* number of an op, or of an arrow to a backward one, where there are others in the file */
};

/* A slice as it is put together, with its arguments. */
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

/* The next argument of the slice, of which the caller fills the value in. */
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

/* The same where there are others in the file: on its clock, with numbers of its own. */
void visit_slice_among(struct visit *visit, const struct timeline_slice *slice);
void visit_memory_among(struct visit *visit, const struct timeline_memory *memory);

/* The first number that this timeline leaves free. */
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

#endif
