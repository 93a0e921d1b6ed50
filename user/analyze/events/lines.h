/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lines that tables count by: callers (callers.h) become lines once all events have been seen.  Frames of different
 * processes that execute the same line of the same function of the same file are one line; calls without a Python
 * frame get a line that says why.  Where only functions are known, as in traces of torch.profiler, a line stands for a
 * function, and shows the function's first line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/events/callers.h"
#include "base/array.h"
#include "base/tally.h"
#include "model/model.h"

struct line {
	const char *file, *function;
	uint32_t number;     /* 0: not known */
	uint32_t first_line; /* of the function, by which files of other tools know it where number is 0; else 0 */
	char *reason;	     /* why there is no Python line; NULL: there is one */
	bool ambiguous;	     /* another file has the same last component */
	bool library;	     /* see line_is_library */
	bool generated;	     /* by PyTorch's compiler */
	const struct model_generated_line *says; /* what its generated file says of it, NULL: nothing */
};

struct lines {
	const struct callers *callers;
	ARRAY(struct line) all;
	uint32_t *of_frame;  /* by model.frames */
	uint32_t *of_thread; /* by model.threads: its line without Python, NONE until needed */
	uint32_t *of_string; /* by model.strings: the line of that range or op, NONE until needed; NULL: no such line */
	bool *no_python;     /* by model.processes: its program has no Python, as was seen in another process */
	uint32_t unseen;     /* the lines of CALLER_UNSEEN, CALLER_BEFORE and CALLER_DRIVER, NONE until needed */
	uint32_t before, driver;
};

/* The number that a line is shown with; 0: none. */
static inline uint32_t line_shown(const struct line *line)
{
	return line->number ? line->number : line->first_line;
}

void lines_make(struct lines *lines, const struct callers *callers);
void lines_free(struct lines *lines);

/* Why a call has no Python frame, by its enum gpt_stack_state, e.g. "not a Python thread". */
const char *line_reason(uint32_t stack_state);

/*
 * All callers of a thread without a frame are one line, named by the first that is asked for here; so order matters.
 * Those in a range or an op, where no Python is known, are a line for each range or op.
 */
uint32_t line_of(struct lines *lines, uint32_t caller);

struct place_lines {
	uint32_t line;	    /* the innermost */
	uint32_t user_line; /* of a library's line: the innermost line around it that is no library's; NONE */
	uint32_t generated; /* the innermost line between those two that PyTorch compiled; NONE */
};

/* place: caller_place. */
struct place_lines lines_of_place(struct lines *lines, uint32_t place);

/*
 * The line of the user's own code that called the user's own line of a place (place_lines: user_line, or line where
 * that is no library's); NONE: none did.
 */
uint32_t lines_caller_of_place(struct lines *lines, uint32_t place);

/* Sums by line, made of sums by caller: the caller in part `part` of each key becomes its line. */
struct tally tally_by_line(struct lines *lines, const struct tally *sums, unsigned part);

/* "model.py:42" (line_shown), "nn/model.py:42" where model.py alone would be ambiguous; the caller frees it. */
char *line_place(const struct lines *lines, uint32_t line);

/* The same with the middle of a generated name left out: "cy3gisdm....py:153". */
char *line_short_place(const struct lines *lines, uint32_t line);

/*
 * What a generated line was made of: "sin, z (aten.sin, aten.mul)"; and what it launches, with the place of a kernel's
 * function: "triton_poi_fused_mul_sin_0 crtaxtbc....py:18".  NULL where its file does not say.  The caller frees them.
 */
char *line_made_of(const struct lines *lines, uint32_t line);
char *line_launches(const struct lines *lines, uint32_t line);

/* "model.py:42 Block.forward"; the caller frees it. */
char *line_label(const struct lines *lines, uint32_t line);

/* Function, or "" for a line without Python. */
const char *line_function(const struct lines *lines, uint32_t line);

/* How lines are named, longest first. */
enum line_brevity {
	LINE_WITH_FUNCTION, /* "functional.py:125 linear <- model.py:26 Block.forward" */
	LINE_WITH_METHOD,   /* "functional.py:125 linear <- model.py:26 forward" */
	LINE_WITH_CALLER,   /* "functional.py:125 <- model.py:26" */
	LINE_ALONE,	    /* "model.py:26" */
};

/* As line_label, as brief as that. */
char *line_name(const struct lines *lines, uint32_t line, enum line_brevity brevity);

/*
 * Whether a line is of installed code, of code that PyTorch compiled, or of code that the interpreter runs without a
 * file.
 */
static inline bool line_is_library(const struct lines *lines, uint32_t line)
{
	return lines->all.items[line].library;
}
