/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lines that tables count by.  Frames of different processes that execute the same line of the same function
 * of the same file are one line; calls without a Python frame get a line that says why.
 */
#ifndef GPUTRACE_REPORT_LINES_H
#define GPUTRACE_REPORT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "model/model.h"

struct line {
	const char *file, *function;
	uint32_t number;
	char *reason;	/* not NULL: no Python line, and why */
	bool ambiguous; /* another file has the same last component */
};

struct line_index {
	const struct model *model;
	ARRAY(struct line) lines;
	uint32_t *of_frame;  /* by model.frames */
	uint32_t *of_thread; /* by model.threads: its line without Python, NONE until needed */
	uint32_t unseen;     /* for GPU operations whose launch was not seen */
	uint32_t before;     /* for those launched before the trace began */
};

void lines_make(struct line_index *index, const struct model *model);
void lines_free(struct line_index *index);

/* The innermost Python line of a call, or the line that says why there is none. */
uint32_t line_of_call(struct line_index *index, const struct model_call *call);

/* The same for a GPU operation; of a graph: the line that was captured, where that was seen. */
uint32_t line_of_gpu(struct line_index *index, const struct model_gpu *op);

/* And for the index of a call, NONE: not seen. */
uint32_t line_of_index(struct line_index *index, uint32_t call);
/* The same where the call is the operation's; older ones have a line of their own. */
uint32_t line_of_launch(struct line_index *index, const struct model_gpu *op, uint32_t call);

/* "model.py:42", "nn/model.py:42" where model.py alone would be ambiguous; the caller frees it. */
char *line_place(const struct line_index *index, uint32_t line);

/* "model.py:42 Block.forward"; the caller frees it. */
char *line_label(const struct line_index *index, uint32_t line);

/* Function, or "" for a line without Python. */
const char *line_function(const struct line_index *index, uint32_t line);

#endif
