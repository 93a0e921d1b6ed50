/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Python stacks as paths of functions, outermost first: stacks that differ only in lines are one path, and a common
 * beginning of several is a path, too.  For trees of calls.
 */
#pragma once

#include "base/array.h"
#include "base/tally.h"
#include "model/model.h"

#define PYTHON_PATH_ROOT 0u	   /* no function */
#define PYTHON_PATH_CUT (NONE - 1) /* in place of a code: frames are missing here */

struct python_path {
	uint32_t parent; /* the path without the innermost function */
	uint32_t code;	 /* model.codes: the innermost function, PYTHON_PATH_CUT */
	uint32_t depth;	 /* number of functions */
};

struct python_paths {
	struct tally children; /* parent, code; more: path */
	ARRAY(struct python_path) all;
	ARRAY(uint32_t) of_stack; /* by model.stacks: path + 1, 0: not looked up yet */
};

void python_paths_init(struct python_paths *paths);
void python_paths_free(struct python_paths *paths);

/* stack: model.stacks, of the latest part. */
uint32_t python_path_of_stack(struct python_paths *paths, const struct model *model, uint32_t stack);

/* The longest common beginning of both paths. */
uint32_t python_path_common(const struct python_paths *paths, uint32_t one, uint32_t other);

/* The path of outer's functions, followed by those of inner without its `without` outermost ones. */
uint32_t python_path_join(struct python_paths *paths, uint32_t outer, uint32_t inner, uint32_t without);

/* The path of the `depth` outermost functions. */
uint32_t python_path_cut(const struct python_paths *paths, uint32_t path, uint32_t depth);
