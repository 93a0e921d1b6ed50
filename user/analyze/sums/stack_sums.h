/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time, or launches, by whole stack: process, Python, native frames, CUDA call, operation.  For flame graphs. */
#pragma once

#include "analyze/events/events.h"
#include "base/tally.h"

/* In place of a call's api. */
#define STACK_CALL_UNSEEN 0x10000u /* the launch was not seen */
#define STACK_CALL_BEFORE 0x10001u /* the launch was made before the trace began */
#define STACK_CALL_DRIVER 0x10003u /* none launched it: gpu_is_migration */
#define STACK_CALL_NONE 0x10002u   /* there is no call: the native frame, where there is one, is all of it */

struct stack_row {
	uint32_t process;
	uint32_t stack;	    /* model.stacks, NONE */
	uint32_t thread;    /* if there is no stack: model.threads, NONE: the call was not seen */
	uint32_t enclosing; /* in its place: as in model_call */
	bool is_backward;   /* the stack is of the call to backward(), or of the forward op of `node` */
	uint32_t node;	    /* model.strings: the backward node, where the stack is of its forward op; NONE */
	bool is_captured;   /* the stack is of the captured call, not of the graph's launch */
	bool is_unknown;    /* there is no stack here, but there may have been one */
	uint32_t native;    /* model.natives, NONE */
	uint32_t api;
	uint32_t captured_frame;    /* model.frames, NONE: innermost frame of the call that became a graph's node */
	bool has_operation;	    /* the operation is known: */
	struct model_gpu operation; /* only kind, name, memcpy_kind, from and to are set */
	uint64_t value;
	uint64_t count; /* operations, or calls, in value */
};

struct stack_sums {
	const struct model *model;
	const struct attribution *attribution;
	struct tally places; /* process, stack, thread if there is no stack, native */
	struct tally sums;   /* place, api, operation, captured frame */
};

void stack_sums_init(struct stack_sums *all, const struct model *model, const struct attribution *attribution);
void stack_sums_free(struct stack_sums *all);

/* Adds GPU time. */
void stack_sums_add_gpu(struct stack_sums *all, const struct gpu_event *event);
/* Adds a call that puts work on a GPU; a graph launch, which has many operations, counts once, without an operation. */
void stack_sums_add_call(struct stack_sums *all, const struct call_event *event);

/* Adds the CPU time of a sample. */
void stack_sums_add_sample(struct stack_sums *all, const struct sample_event *event);

/* The number of rows, in the order in which they first came, and each of them. */
static inline size_t stack_sums_count(const struct stack_sums *all)
{
	return all->sums.count;
}
struct stack_row stack_sums_row(const struct stack_sums *all, size_t index);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_GPU_STACKS(X)                                                                                         \
	X(GPU_STACKS, begin, stack_sums_init(&all->gpu_stacks, event->first, &all->attribution))                       \
	X(GPU_STACKS, part, all->gpu_stacks.model = event->part)                                                       \
	X(GPU_STACKS, gpu, stack_sums_add_gpu(&all->gpu_stacks, event))                                                \
	X(GPU_STACKS, free, stack_sums_free(&all->gpu_stacks))

#define ANALYSIS_CPU_STACKS(X)                                                                                         \
	X(CPU_STACKS, begin, stack_sums_init(&all->cpu_stacks, event->first, &all->attribution))                       \
	X(CPU_STACKS, part, all->cpu_stacks.model = event->part)                                                       \
	X(CPU_STACKS, sample, stack_sums_add_sample(&all->cpu_stacks, event))                                          \
	X(CPU_STACKS, free, stack_sums_free(&all->cpu_stacks))

#define ANALYSIS_CALL_STACKS(X)                                                                                        \
	X(CALL_STACKS, begin, stack_sums_init(&all->call_stacks, event->first, &all->attribution))                     \
	X(CALL_STACKS, part, all->call_stacks.model = event->part)                                                     \
	X(CALL_STACKS, call, stack_sums_add_call(&all->call_stacks, event))                                            \
	X(CALL_STACKS, free, stack_sums_free(&all->call_stacks))
