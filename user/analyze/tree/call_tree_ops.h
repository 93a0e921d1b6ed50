/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The open ops of threads and their places in the tree of calls.  For the files of call_tree alone. */
#pragma once

#include "analyze/tree/call_tree.h"

/* The Python functions of a call, and their thread, as in the keys of sums. */
struct tree_place {
	uint32_t thread, functions;
};

/* A call, or a sample, whose start is its end. */
struct tree_moment {
	uint32_t thread; /* model.threads */
	uint64_t start_ns, end_ns;
	bool of_caller; /* its functions are those that called backward(), also if the forward op's are wanted */
};

/* Notes a call or a sample at place, to which it may add functions of the ops around; returns the path of these ops. */
uint32_t call_tree_enter(struct call_tree *tree, struct tree_moment moment, struct tree_place *place);

/* Adds time to a sum; ops, what: as in the sum's key. */
void call_tree_add(struct tally *sums, struct tree_place place, uint32_t ops, uint32_t what, uint64_t ns);

/* Ends the ops that are still open. */
void call_tree_end_ops(struct call_tree *tree);

/* Notes that these functions are of the thread's own stack. */
void call_tree_own(struct call_tree *tree, uint32_t thread, uint32_t functions);

/* The first thread of a process with the outermost function of that path, NONE. */
uint32_t call_tree_owner(struct call_tree *tree, uint32_t process, uint32_t functions);
