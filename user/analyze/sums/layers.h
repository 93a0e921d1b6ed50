/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time by module of PyTorch, made of the sums by stack (line_sums.h).  A layer's own part is what was launched
 * while it was the innermost module that was called.  Its total is all that was launched while it was called.  The own
 * parts of all rows add up to the GPU time.
 */
#pragma once

#include "analyze/sums/line_sums.h"

/* Roots of one class in a process that have separate rows; more are one, whose rows are added up. */
#define LAYER_ROOTS_SEPARATE 8u

enum layer_kind {
	LAYER_MODULE,
	LAYER_UNNAMED,	/* modules of a class that have no name */
	LAYER_BACKWARD, /* a backward pass, the forward op of which is not known, and no module around its caller */
	LAYER_NONE,	/* Python called no module */
	LAYER_MISSING,	/* the innermost module may be among frames that were left out */
	LAYER_NO_STACK, /* no Python frame is known */
};

struct layer_row {
	enum layer_kind kind;
	uint32_t module;  /* one of model.modules, NONE: of LAYER_BACKWARD and so on */
	uint32_t root;	  /* of several roots of one class: its number; 0 */
	uint32_t roots;	  /* whose rows are added up here; 0 for rows without a root */
	uint32_t process; /* PROCESS_MANY: several */
	uint32_t number;  /* in the order of names */
	uint64_t self, total;
	uint64_t launches; /* of its own part */
};

struct layers {
	const struct model *model;
	uint64_t sum;		/* as line_sums.sum */
	struct layer_row *rows; /* largest own part first; none if no stack has a module */
	size_t count;
	uint32_t modules, unnamed; /* on stacks with GPU time; those without a name */
};

/* sums: of GPU time. */
void layers_finish(struct layers *layers, const struct model *model, struct line_sums *sums);
void layers_free(struct layers *layers);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_LAYERS(X)                                                                                             \
	X(LAYERS, finish, layers_finish(&all->layers, all->model, &all->gpu_lines))                                    \
	X(LAYERS, free, layers_free(&all->layers))
