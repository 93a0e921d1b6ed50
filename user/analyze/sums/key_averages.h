/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * torch.profiler's key averages: a row for each name of an op (op_tree.h), a CUDA call or work on a GPU; or for each
 * name with shapes of inputs, and with innermost Python lines.  Work has no time on the CPU.  A call has no time on the
 * GPU: that counts for the op it was made in.
 */
#pragma once

#include "analyze/tree/op_tree.h"
#include "base/tally.h"
#include "model/string_pool.h"

/* What distinguishes rows, besides the name. */
struct key_grouping {
	bool by_shape;	       /* the dimensions of its inputs */
	unsigned stack_frames; /* number of innermost Python lines of ops */
};

enum key_kind {
	KEY_OP,
	KEY_ANNOTATION, /* named by the program (record_function) */
	KEY_CALL,	/* a CUDA call */
	KEY_GPU,	/* a kernel, memcpy or memset */
	KEY_MEMORY,	/* PyTorch's memory outside of ops, and when there was not enough */
	KEY_ON_GPU,	/* an annotation on a GPU: from its first to its last work, by stream */
};

struct key_row {
	enum key_kind kind;
	char *name;
	const char *shapes;	      /* NULL: rows are not split by them, or they are not recorded */
	uint32_t stack;		      /* key_averages.chains + 1, 0: no lines, or not grouped by them */
	uint64_t first_ns, first_end; /* of the first event, from which the next two are, too */
	bool inside;		      /* inside an op */
	bool async;
	uint64_t count, cpu_self_ns, cpu_ns, gpu_self_ns, gpu_ns;
	struct op_memory memory, memory_self;
	uint64_t flops; /* of all its ops that have a formula and recorded shapes */
};

struct key_averages {
	struct key_grouping grouping;
	struct op_tree tree;
	/*
	 * name; kind; shapes, or what distinguishes copies and fills; stack; numbered like rows until those are sorted
	 */
	struct tally keys;
	struct tally inputs;	      /* model.strings; more: 1 + index in shapes, 0: unreadable */
	struct string_pool shapes;    /* texts of dimensions */
	bool has_inputs;	      /* some op had recorded inputs */
	bool has_memory;	      /* events of PyTorch's allocators were recorded */
	struct tally chains;	      /* a frame and the chain of the frames inside it: an index + 1 each */
	ARRAY(struct key_row) rows;   /* in the order of their first events */
	uint64_t cpu_self_ns, gpu_ns; /* shares are shares of these */
};

/* Must not move while in use. */
void key_averages_init(struct key_averages *keys, const struct model *first, const struct key_grouping *grouping);
void key_averages_free(struct key_averages *keys);
void key_averages_add_op(struct key_averages *keys, const struct op_event *event);
void key_averages_add_call(struct key_averages *keys, const struct call_event *event);
void key_averages_add_gpu(struct key_averages *keys, const struct gpu_event *event);
void key_averages_add_memory(struct key_averages *keys, const struct torch_memory_event *event);
void key_averages_finish(struct key_averages *keys);

/* The frames of key_row.stack, innermost first: writes at most `most` of them, returns how many there are. */
size_t key_row_frames(const struct key_averages *keys, const struct key_row *row, uint32_t frames[], size_t most);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_KEY_AVERAGES(X)                                                                                       \
	X(KEY_AVERAGES, begin, key_averages_init(&all->keys, event->first, &event->options->keys))                     \
	X(KEY_AVERAGES, part, op_tree_begin_part(&all->keys.tree, event->part))                                        \
	X(KEY_AVERAGES, call, key_averages_add_call(&all->keys, event))                                                \
	X(KEY_AVERAGES, gpu, key_averages_add_gpu(&all->keys, event))                                                  \
	X(KEY_AVERAGES, torch_memory, key_averages_add_memory(&all->keys, event))                                      \
	X(KEY_AVERAGES, op, key_averages_add_op(&all->keys, event))                                                    \
	X(KEY_AVERAGES, finish, key_averages_finish(&all->keys))                                                       \
	X(KEY_AVERAGES, free, key_averages_free(&all->keys))
