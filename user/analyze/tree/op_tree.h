/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ops of PyTorch with the CUDA calls made in them, as torch.profiler sums them (torch/autograd/profiler_util.py): an op
 * is reported when it is over, with its own time and the time of what is inside it.
 *
 *  - GPU work belongs to the innermost op at its launch that is no annotation (record_function).
 *  - An op with exactly one child, which is an op of the same name, is merged with it.
 *  - An asynchronous op is inside nothing, and has no own time.
 *  - An op has the memory that was handed out and taken back while it was open, on any thread of its process.
 *  - An op of a backward pass has the Python stack of the forward op that made its node, where that is known.
 *
 * Kept: the open ops of each thread.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"

/* Open ops per thread; a target cannot make this slow. */
#define OP_TREE_OPEN_MAX 1024u

#define OP_NAME_STEPS (NONE - 1) /* in place of a name: ProfilerStep#N, for any N */

/* The time from the first to the last work of an annotation on a stream. */
struct op_gpu_span {
	uint64_t start_ns, end_ns;
	uint32_t device, context, stream;
};

struct op_gpu_spans {
	ARRAY(struct op_gpu_span) list;
};

/* Per annotation; work on further streams counts for the last of them. */
#define OP_GPU_SPANS_MAX 64u

/* Bytes handed out minus bytes taken back; negative values are in two's complement, so that sums are right. */
struct op_memory {
	uint64_t cpu, gpu;
};

static inline void op_memory_add(struct op_memory *sum, struct op_memory memory)
{
	sum->cpu += memory.cpu;
	sum->gpu += memory.gpu;
}

struct op_node {
	uint64_t start_ns, end_ns;
	struct op_memory memory, memory_inside; /* inside: of ops directly inside */
	uint64_t inside_ns;			/* CPU time of ops and calls directly inside */
	uint64_t gpu_self_ns;			/* of work launched in it, but in no op inside */
	uint64_t gpu_ns;			/* of all work launched in it */
	uint32_t children;			/* ops and calls directly inside */
	uint32_t name;				/* model.strings, NONE: not known, OP_NAME_STEPS */
	uint32_t inputs;			/* model.strings (op_inputs.h), NONE */
	uint32_t stack;		   /* model.stacks: at its start, else that of the first call inside; NONE */
	uint32_t thread;	   /* model.threads */
	bool annotated;		   /* named by the program */
	bool inside;		   /* inside another op */
	bool async;		   /* asynchronous, or overlapping other ops of its thread */
	bool called;		   /* a call was made in it */
	uint32_t place, pass;	   /* of the first call inside: caller_place, call_pass */
	struct op_node *only;	   /* its only child so far, an op of the same name; NULL */
	struct op_gpu_spans spans; /* of an annotation: work launched in it, but in no annotation inside */
};

static inline uint64_t op_node_cpu_ns(const struct op_node *node)
{
	return node->end_ns - node->start_ns;
}

static inline uint64_t op_node_self_ns(const struct op_node *node)
{
	uint64_t ns = op_node_cpu_ns(node);

	return node->async || node->inside_ns > ns ? 0 : ns - node->inside_ns;
}

typedef void op_tree_fn(void *context, const struct op_node *node);

static inline struct op_memory op_node_self_memory(const struct op_node *node)
{
	return (struct op_memory){node->memory.cpu - node->memory_inside.cpu,
				  node->memory.gpu - node->memory_inside.gpu};
}

struct op_tree_thread {
	ARRAY(struct op_node) open; /* outermost first */
	bool is_busy;		    /* in op_tree.busy */
};

struct op_tree {
	const struct model *model;	/* the latest part */
	struct op_tree_thread *threads; /* by model.threads; NULL: no op was recorded */
	uint32_t thread_count;
	ARRAY(uint32_t) busy; /* all threads with open ops, and some without */
	uint64_t left_out;    /* ops beyond OP_TREE_OPEN_MAX: reported at once, not part of the tree */
	op_tree_fn *take;
	void *context;
};

/* take: gets each op when it is over. */
void op_tree_init(struct op_tree *tree, const struct model *first, op_tree_fn *take, void *context);
void op_tree_free(struct op_tree *tree);
void op_tree_begin_part(struct op_tree *tree, const struct model *part);
void op_tree_add_op(struct op_tree *tree, const struct op_event *event);

/* Returns whether the call was made inside an op. */
bool op_tree_add_call(struct op_tree *tree, const struct call_event *event);

/* Returns whether an op of the process was open. */
bool op_tree_add_memory(struct op_tree *tree, const struct torch_memory_event *event, struct op_memory memory);

/* Whether some thread has ops, in any part. */
static inline bool op_tree_has_ops(const struct op_tree *tree)
{
	return tree->threads != NULL;
}

/* Reports the ops that are still open. */
void op_tree_finish(struct op_tree *tree);

/* Whether PyTorch's tables leave out ops of that name. */
bool op_name_is_hidden(const char *name);

/* Whether it is a ProfilerStep#N of torch.profiler. */
bool op_name_is_step(const char *name);
