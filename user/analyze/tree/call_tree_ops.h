/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of the tree of calls: the ops that are open on threads, and where they stand.  For the files of call_tree alone. */
#ifndef GPUTRACE_ANALYZE_CALL_TREE_OPS_H
#define GPUTRACE_ANALYZE_CALL_TREE_OPS_H

#include "analyze/tree/call_tree.h"

/* The Python functions of a call, and whose they are, as in the keys of sums. */
struct tree_place {
	uint32_t thread, functions;
};

/* A call is made there: returns the path of the ops around it, whose functions may stand around its own. */
uint32_t call_tree_enter_call(struct call_tree *tree, const struct model_call *call, struct tree_place *place);

/* Adds time to a sum; ops, what: as in its key. */
void call_tree_add(struct call_tree *tree, struct tree_place place, uint32_t ops, uint32_t what, uint64_t ns);

/* Notes that these functions are a thread's own. */
void call_tree_own(struct call_tree *tree, uint32_t thread, uint32_t functions);

/* The first thread of a process with that outermost function, NONE. */
uint32_t call_tree_owner(struct call_tree *tree, uint32_t process, uint32_t functions);

#endif
