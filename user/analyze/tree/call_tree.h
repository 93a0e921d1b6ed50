/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that was traced as one tree of calls: processes and threads, Python functions, ops of PyTorch, and what ran: GPU
 * operations, or samples of the CPU, or CUDA calls on it; or the memory of PyTorch that they held at the peak.  Its
 * sums are kept while events come, by path of functions, path of ops and what ran; the nodes are made at the end
 * (call_tree_nodes.h).
 *
 *  - GPU work is put where it was launched (attribution.h); work of a backward pass on other threads is put under the
 *    thread whose Python stack they inherit.
 *  - The place of an op among the functions is known if its stack was taken when it began.  Otherwise a range named by
 *    the program (record_function) stands under the functions that did not return between the CUDA calls before and
 *    after its start, or its end; any other op stands under the functions that all CUDA calls in it have in common.
 *  - A node of a backward pass is merged with the op that evaluates it, and knows the forward op that made it.  Python
 *    that runs in a node on a thread of its own stands under the functions that called backward(), where these are
 *    known.
 *  - A sample of the CPU stands under the functions of its stack, the ops that were open on its thread at that time,
 * and the CUDA call in which the thread was.  The place of an op is found by samples in it as by calls.
 *
 * Kept besides sums: the open ops of each thread; the ops of the latest autograd sequence numbers.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/operation_pack.h"
#include "analyze/tree/python_paths.h"
#include "analyze/memory/torch_memory.h"
#include "base/array.h"
#include "base/tally.h"

enum tree_by {
	TREE_BY_GPU,	/* GPU time of what was launched */
	TREE_BY_CPU,	/* CPU time by samples; as TREE_BY_CALLS where there is no sample */
	TREE_BY_CALLS,	/* time in CUDA calls and ops, on their threads */
	TREE_BY_MEMORY, /* bytes at the peak: of GPUs if they have any, else of the CPU */
};

/* In place of a thread, with a process: the thread whose Python stack is inherited; an unknown thread. */
#define TREE_THREAD_INHERITED 0x80000000u
#define TREE_THREAD_UNSEEN 0x40000000u
/* In place of a path of functions: with the enum gpt_stack_state that says why there is none; the call is not known. */
#define TREE_NO_STACK 0x80000000u
#define TREE_UNSEEN (NONE - 1)
#define TREE_BEFORE (NONE - 2)
#define TREE_DRIVER (NONE - 3) /* no call launched it: gpu_is_migration */

/*
 * What ran, besides CUDA calls, which have their API number, by CPU time or calls.  By GPU time it is an
 * operation_pack_label(), by memory the innermost op (model.strings, NONE).
 */
#define TREE_SELF NONE /* the op itself, or the Python function */

#define OP_PATH_NONE 0u /* in no op */

/* An op that is open on its thread, or an annotation that waits for the call after its end. */
struct tree_op {
	uint64_t start_ns, end_ns;
	uint64_t inside_ns; /* CPU time of ops and calls directly inside */
	uint64_t number;    /* model_op.number */
	uint32_t path;	    /* op_paths */
	uint32_t before;    /* path of functions of the thread's previous call; NONE: none */
	uint32_t level;	    /* path of functions that it stands under, as far as is known; NONE */
	uint32_t stack;	    /* if exact: path of its own stack, without the functions around a node that it is in */
	uint32_t last;	    /* path of the latest call inside, NONE: none yet */
	uint32_t slot;	    /* in call_tree.numbers, NONE */
	bool annotated;	    /* named by the program */
	bool exact;	    /* level is the path of its own stack */
	bool inherited;	    /* its functions belong to another thread */
};

struct tree_thread {
	ARRAY(struct tree_op) open;  /* outermost first */
	ARRAY(struct tree_op) ended; /* annotations since the latest call */
	uint32_t last;		     /* path of functions of the latest call, NONE: none yet */
	uint64_t cpu_ns;	     /* the time in CUDA calls and ops that passed on it */
	uint64_t call_end_ns;	     /* of the latest call, or of the one around it; 0: not known */
	uint16_t call_api;	     /* of that call */
};

/* The forward op of an autograd sequence number: the latest op that began with it. */
struct tree_number {
	uint64_t torch_thread, op;
	int64_t sequence; /* -1: free */
	uint32_t process;
	uint32_t thread;  /* model.threads */
	uint32_t forward; /* call_tree.forwards, NONE: the op is still open */
};

struct call_tree {
	const struct model *model; /* the latest part */
	const struct attribution *attribution;
	enum tree_by by;
	struct python_paths functions;
	struct tree_thread *threads; /* by model.threads */
	uint32_t thread_count;
	bool has_ops;
	struct tally op_paths; /* path around, name, 1 + forward: index + 1 is the path */
	struct tally levels;   /* path of ops, path of functions that its innermost op stands under */
	struct tally forwards; /* path of ops, path of functions, owner: a forward op with a sequence number */
	struct tally owners;   /* process, outermost function; more: 1 + its thread */
	struct tally sums;     /* thread, path of ops, path of functions, what ran; for memory, more: bytes not freed */
	struct tally sampled;  /* the same of samples, with TREE_BY_CPU; replaces sums in the end, if there are any */
	ARRAY(double) growth;  /* for memory: growth of each sum (torch_holder); empty: no steps are known */
	struct tree_number *numbers; /* NULL: no op has a number */
	bool is_of_gpu_memory;	     /* TREE_BY_MEMORY */
};

void call_tree_init(struct call_tree *tree, const struct model *first, const struct attribution *attribution,
		    enum tree_by by);
void call_tree_free(struct call_tree *tree);
void call_tree_add_op(struct call_tree *tree, const struct op_event *event);
void call_tree_add_call(struct call_tree *tree, const struct call_event *event);
void call_tree_add_gpu(struct call_tree *tree, const struct gpu_event *event);
void call_tree_add_sample(struct call_tree *tree, const struct sample_event *event);

/* Ends the ops that are still open; by is TREE_BY_CALLS afterwards if there was no sample. */
void call_tree_finish(struct call_tree *tree);

/* With TREE_BY_MEMORY, after call_tree_finish: adds the holders at the peak.  memory: finished. */
void call_tree_add_memory(struct call_tree *tree, const struct torch_memory_sums *memory);

/* Whether time in CUDA calls and ops is summed up. */
static inline bool call_tree_counts_calls(const struct call_tree *tree)
{
	return tree->by == TREE_BY_CPU || tree->by == TREE_BY_CALLS;
}

/* The last element of a path of ops: the path around it, the op's name (model.strings, NONE), its forward op, NONE. */
struct op_path {
	uint32_t around, name, forward;
};

static inline struct op_path op_path_of(const struct call_tree *tree, uint32_t path)
{
	const uint32_t *part = tree->op_paths.entries[path - 1].key.part;

	return (struct op_path){part[0], part[1], part[2] - 1};
}

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_CALL_TREE(X)                                                                                          \
	X(CALL_TREE, begin, call_tree_init(&all->tree, event->first, &all->attribution, event->options->tree_by))      \
	X(CALL_TREE, part, all->tree.model = event->part)                                                              \
	X(CALL_TREE, call, call_tree_add_call(&all->tree, event))                                                      \
	X(CALL_TREE, gpu, call_tree_add_gpu(&all->tree, event))                                                        \
	X(CALL_TREE, op, call_tree_add_op(&all->tree, event))                                                          \
	X(CALL_TREE, sample, call_tree_add_sample(&all->tree, event))                                                  \
	X(CALL_TREE, finish,                                                                                           \
	  (call_tree_finish(&all->tree),                                                                               \
	   all->tree.by == TREE_BY_MEMORY ? call_tree_add_memory(&all->tree, &all->torch_memory) : (void)0))           \
	X(CALL_TREE, free, call_tree_free(&all->tree))
