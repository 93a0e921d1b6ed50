/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time by op of PyTorch.  An op has the GPU work that was launched while it was the innermost open op of its thread;
 * its total includes that of the ops inside it.  On the CPU its own time is what remains between the ops and CUDA calls
 * inside it.
 *
 * Kept besides sums: the open ops of each thread.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "base/tally.h"

/* Open ops per thread; a target cannot make this slow. */
#define OPS_OPEN_MAX 1024u

struct op_row {
	uint32_t name;	/* model.strings, NONE: not known */
	bool annotated; /* named by the program (record_function) */
	bool hidden;	/* not in PyTorch's tables: treated as if it were not there */
	uint64_t calls;
	uint64_t cpu_ns, gpu_ns; /* an op inside another op of its name counts again, as in PyTorch's tables */
	uint64_t cpu_self_ns, gpu_self_ns; /* launched or spent in it, but in no op inside */
	uint64_t gpu_once_ns;		   /* gpu_ns, where nested ops of the name count once */
	uint64_t last_call;		   /* 1 + number of the call counted last */
};

struct op_open {
	uint64_t end_ns;
	uint32_t row;
};

struct op_thread {
	ARRAY(struct op_open) open; /* outermost first */
};

struct ops_by_name {
	const struct model *model;
	struct tally keys;	   /* name, annotated; numbered like rows until those are sorted */
	ARRAY(struct op_row) rows; /* most own GPU time first, then most own CPU time */
	struct op_thread *threads; /* by model.threads; NULL: no op was recorded */
	uint32_t thread_count;
	uint64_t gpu_inside_ns; /* GPU time launched inside some op */
	uint64_t cpu_self_ns;	/* of all rows */
	uint64_t left_out;	/* ops beyond OPS_OPEN_MAX */
};

void ops_by_name_init(struct ops_by_name *all, const struct model *model);
void ops_by_name_free(struct ops_by_name *all);
void ops_by_name_add_op(struct ops_by_name *all, const struct op_event *event);
void ops_by_name_add_call(struct ops_by_name *all, const struct call_event *event);

/* Whether some thread has ops, in any part. */
static inline bool ops_by_name_has_ops(const struct ops_by_name *all)
{
	return all->threads != NULL;
}
void ops_by_name_finish(struct ops_by_name *all);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_OPS(X)                                                                                                \
	X(OPS, begin, ops_by_name_init(&all->ops, event->first))                                                       \
	X(OPS, part, all->ops.model = all->collectives.model = event->part)                                            \
	X(OPS, call, ops_by_name_add_call(&all->ops, event))                                                           \
	X(OPS, gpu, collective_sums_add_gpu(&all->collectives, event))                                                 \
	X(OPS, op, ops_by_name_add_op(&all->ops, event))                                                               \
	X(OPS, finish, (ops_by_name_finish(&all->ops), collective_sums_finish(&all->collectives, event->lines)))       \
	X(OPS, free, (ops_by_name_free(&all->ops), group_free(&all->collectives.group)))
