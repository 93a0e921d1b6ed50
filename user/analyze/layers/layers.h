/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time by module of PyTorch, made of the sums by stack (line_sums.h), and idle time of GPUs by the stack to blame
 * (idle.h).  A layer's own part is what was launched while it was the innermost module that was called.  Its total is
 * all that was launched while it was called.  The own parts of all rows add up to the GPU time, and to the idle time
 * between operations.  Work of a backward node belongs to the module in which its forward op ran, where that is known.
 */
#pragma once

#include "analyze/layers/layer_parts.h"
#include "analyze/layers/layer_tree.h"
#include "analyze/memory/torch_memory.h"
#include "analyze/sums/line_sums.h"
#include "analyze/why/idle.h"

enum layer_kind {
	LAYER_MODULE,
	LAYER_UNNAMED,	/* modules of a class that have no name */
	LAYER_BACKWARD, /* a backward pass: the forward op's stack is not known, and no module is around its caller */
	LAYER_NONE,	/* Python called no module */
	LAYER_MISSING,	/* the innermost module may be among frames that were left out */
	LAYER_NO_STACK, /* no Python frame is known */
	LAYER_NO_LINE,	/* idle time for which no line is to blame */
	LAYER_KINDS,
};

/* Whose an amount is. */
struct layer_owner {
	enum layer_kind kind;
	uint32_t module; /* one of model.modules: of LAYER_MODULE and LAYER_UNNAMED; NONE */
};

/*
 * place, replay: caller_place; of a graph's work also that of the graph's launch, NONE.  What was captured without a
 * module is of the module that launched the graph.  rest: of what has no module.
 */
struct layer_owner layer_owner_of(const struct model *model, uint32_t place, uint32_t replay, enum layer_kind rest);

/* Where the work of a call at that place (caller_place) belongs, by its pass (call_pass). */
struct layer_work {
	uint32_t place;
	enum layer_kind rest;
	bool is_backward, is_in_node;
};

static inline enum layer_kind layer_rest(uint32_t place)
{
	return place < CALLER_NO_FRAME ? LAYER_NONE : LAYER_NO_STACK;
}

static inline struct layer_work layer_work_of(uint32_t place, uint32_t pass)
{
	if (pass >= PASS_OF_FORWARD_OP)
		return (struct layer_work){pass - PASS_OF_FORWARD_OP, LAYER_NONE, true, false};
	return (struct layer_work){place, pass == PASS_FORWARD ? layer_rest(place) : LAYER_BACKWARD,
				   pass == PASS_BACKWARD, pass == PASS_IN_NODE};
}

struct layer_row {
	enum layer_kind kind;
	uint32_t module; /* one of model.modules, NONE: of LAYER_BACKWARD and so on */
	uint32_t roots;	 /* whose rows are added up here; 0 for rows without a root */
	uint32_t process;
	uint32_t number; /* in the order of names */
	uint32_t class;	 /* index in layers.classes, before these are sorted */
	struct layer_amount self, total;
};

/* All layers of a class, or a row that is no layer. */
struct layer_class {
	enum layer_kind kind;
	uint32_t module;  /* one of model.modules of that class, NONE: no layer */
	uint32_t layers;  /* modules of that class */
	uint32_t process; /* PROCESS_MANY: several */
	uint32_t number;
	struct layer_amount self, total;
};

struct layers {
	const struct model *model;
	uint64_t sum; /* as line_sums.sum */
	struct layer_amount all;
	struct layer_row *rows; /* largest own part first; none if no stack has a module */
	size_t count;
	struct layer_class *classes; /* largest total first */
	size_t class_count;
	struct layer_tree tree;
	uint32_t modules, unnamed; /* on stacks with GPU time or idle time; those without a name */
	/* of LAYER_PARTS alone */
	struct tally kernels;	    /* node of the tree, operation_pack.h: own GPU time, count of operations */
	struct tally steps;	    /* node, block (step_blocks.h): own GPU time */
	bool has_memory, has_flops; /* were recorded */
};

/* What layers are made of. */
struct layer_sources {
	const struct model *model;
	struct line_sums *gpu_time;
	const struct idle *idle;
	struct layer_parts *parts;		/* NULL: not wanted, and then neither is memory */
	const struct torch_memory_sums *memory; /* finished */
};

void layers_finish(struct layers *layers, const struct layer_sources *sources);
void layers_free(struct layers *layers);

const char *layer_kind_label(enum layer_kind kind);

/* "LlamaModel.layers.17.mlp", "LlamaModel#2.layers.17.mlp"; of what is no layer "[backward]". */
static inline const char *layer_label(const struct layers *layers, const struct layer_row *row)
{
	return row->kind == LAYER_MODULE ? layers->model->modules[row->module].label : layer_kind_label(row->kind);
}

/* The hooks of these analyses (analyses.h). */
#define ANALYSIS_LAYERS(X)                                                                                             \
	X(LAYERS, finish,                                                                                              \
	  layers_finish(&all->layers, &(struct layer_sources){all->model, &all->gpu_lines, &all->idle, NULL, NULL}))   \
	X(LAYERS, free, layers_free(&all->layers))

#define ANALYSIS_LAYER_PARTS(X)                                                                                        \
	X(LAYER_PARTS, begin, layer_parts_init(&all->layer_parts, &all->blocks, event->first))                         \
	X(LAYER_PARTS, part, layer_parts_begin_part(&all->layer_parts, event->part))                                   \
	X(LAYER_PARTS, call, op_tree_add_call(&all->layer_parts.tree, event))                                          \
	X(LAYER_PARTS, gpu, layer_parts_add_gpu(&all->layer_parts, event))                                             \
	X(LAYER_PARTS, op, op_tree_add_op(&all->layer_parts.tree, event))                                              \
	X(LAYER_PARTS, finish,                                                                                         \
	  (op_tree_finish(&all->layer_parts.tree),                                                                     \
	   layers_finish(&all->layers, &(struct layer_sources){all->model, &all->gpu_lines, &all->idle,                \
							       &all->layer_parts, &all->torch_memory})))               \
	X(LAYER_PARTS, free, layer_parts_free(&all->layer_parts))
