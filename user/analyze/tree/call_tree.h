/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that was traced as one tree of calls: processes and threads, Python functions, ops of PyTorch, and what ran: GPU
 * operations, or on the CPU CUDA calls; or the memory of PyTorch that they held at the peak.  Its sums are kept while
 * events come, by path of functions, path of ops and what ran; the nodes are made at the end (call_tree_nodes.h).
 *
 *  - GPU work is put where it was launched (attribution.h); that of other threads' backward passes under the thread
 *    whose Python stack they inherit.
 *  - Where an op stands among the functions is known where its stack was taken as it began.  Else: what the program
 *    named itself (record_function) stands under the functions that did not return between the CUDA calls before
 *    and after its start, or its end; another op under those that all CUDA calls in it have in common.
 *  - A node of a backward pass is one with the op that evaluates it, and knows the forward op that made it.  Python
 *    that runs in one, on a thread of its own, stands under the functions that called backward(), where these are
 * known.
 *
 * What is kept besides sums: the ops that are open on each thread; which op the latest numbers of autograd's are of.
 */
#ifndef GPUTRACE_ANALYZE_CALL_TREE_H
#define GPUTRACE_ANALYZE_CALL_TREE_H

#include "analyze/events.h"
#include "analyze/operation_pack.h"
#include "analyze/tree/python_paths.h"
#include "analyze/sums/torch_memory.h"
#include "base/array.h"
#include "base/tally.h"

enum tree_by {
	TREE_BY_GPU,	/* GPU time of what was launched */
	TREE_BY_CPU,	/* time in CUDA calls and ops, on their threads */
	TREE_BY_MEMORY, /* bytes at the peak, of GPUs where they have any, else of the CPU */
};

/* In the place of a thread, with a process: the one whose Python stack it is; no one is known. */
#define TREE_THREAD_INHERITED 0x80000000u
#define TREE_THREAD_UNSEEN 0x40000000u
/* In the place of a path of functions: an enum gpt_stack_state says why there is none; the call is not known. */
#define TREE_NO_STACK 0x80000000u
#define TREE_UNSEEN (NONE - 1)
#define TREE_BEFORE (NONE - 2)

/* What ran by CPU time, beside CUDA calls by their API number; by GPU time it is an operation_pack_label(), and of
 * memory the innermost op (model.strings, NONE). */
#define TREE_SELF NONE /* an op itself */

#define OP_PATH_NONE 0u /* in no op */

/* An op that is open on its thread, or an annotation of which the call after its end is awaited. */
struct tree_op {
	uint64_t start_ns, end_ns;
	uint64_t inside_ns; /* CPU time of ops and calls directly inside */
	uint64_t number;    /* model_op.number */
	uint32_t path;	    /* op_paths */
	uint32_t before;    /* path of functions of the thread's call before it; NONE: none */
	uint32_t level;	    /* path of functions that it stands under as far as is known; NONE */
	uint32_t stack;	    /* exact: that of its own stack, without those around a node that it is in */
	uint32_t last;	    /* that of the latest call inside, NONE: none yet */
	uint32_t slot;	    /* in call_tree.numbers, NONE */
	bool annotated;	    /* named by the program */
	bool exact;	    /* level is that of its own stack */
	bool inherited;	    /* its functions are another thread's */
};

struct tree_thread {
	ARRAY(struct tree_op) open;  /* outermost first */
	ARRAY(struct tree_op) ended; /* annotations since the latest call */
	uint32_t last;		     /* path of functions of the latest call, NONE: none yet */
	uint64_t cpu_ns;	     /* of the tree's time, what went by on it */
};

/* The forward op that had a number of autograd's: the last one that began with it. */
struct tree_number {
	uint64_t torch_thread, op;
	int64_t sequence; /* -1: free */
	uint32_t process;
	uint32_t thread;  /* model.threads */
	uint32_t forward; /* call_tree.forwards, NONE: the op goes on */
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
	struct tally levels;   /* path of ops, path of functions that its innermost one stands under */
	struct tally forwards; /* path of ops, path of functions, owner: a forward op with a number */
	struct tally owners;   /* process, outermost function; more: 1 + its thread */
	struct tally sums;     /* thread, path of ops, path of functions, what ran; of memory more: bytes not freed */
	ARRAY(double) growth;  /* of memory: of each of the sums, as torch_holder's; none: steps are not known */
	struct tree_number *numbers; /* NULL: no op has one */
	uint64_t sum_ns;	     /* of memory: bytes */
	bool is_of_gpu_memory;	     /* TREE_BY_MEMORY */
};

void call_tree_init(struct call_tree *tree, const struct model *first, const struct attribution *attribution,
		    enum tree_by by);
void call_tree_free(struct call_tree *tree);
void call_tree_add_op(struct call_tree *tree, const struct op_event *event);
void call_tree_add_call(struct call_tree *tree, const struct call_event *event);
void call_tree_add_gpu(struct call_tree *tree, const struct gpu_event *event);

/* Ops that are still open end. */
void call_tree_finish(struct call_tree *tree);

/* Of TREE_BY_MEMORY, after that: who held it at the peak.  memory: finished. */
void call_tree_add_memory(struct call_tree *tree, const struct torch_memory_sums *memory);

/* A path of ops: that around it, its innermost op's name (model.strings, NONE), and that one's forward op, NONE. */
struct op_path {
	uint32_t around, name, forward;
};

static inline struct op_path op_path_of(const struct call_tree *tree, uint32_t path)
{
	const uint32_t *part = tree->op_paths.entries[path - 1].key.part;

	return (struct op_path){part[0], part[1], part[2] - 1};
}

/* What it does with a trace (analyses.h). */
#define ANALYSIS_CALL_TREE(X)                                                                                          \
	X(CALL_TREE, begin, call_tree_init(&all->tree, event->first, &all->attribution, event->options->tree_by))      \
	X(CALL_TREE, part, all->tree.model = event->part)                                                              \
	X(CALL_TREE, call, call_tree_add_call(&all->tree, event))                                                      \
	X(CALL_TREE, gpu, call_tree_add_gpu(&all->tree, event))                                                        \
	X(CALL_TREE, op, call_tree_add_op(&all->tree, event))                                                          \
	X(CALL_TREE, finish,                                                                                           \
	  (call_tree_finish(&all->tree),                                                                               \
	   all->tree.by == TREE_BY_MEMORY ? call_tree_add_memory(&all->tree, &all->torch_memory) : (void)0))           \
	X(CALL_TREE, free, call_tree_free(&all->tree))

#endif
