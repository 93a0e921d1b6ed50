/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks that a Kineto trace has as text, in an event's "Call stack": "file(line): function" joined by ';', innermost
 * first.  Each becomes a stack of the file once, however many events have it.
 */
#pragma once

#include "input/rows/foreign_file.h"
#include "base/json/json.h"

struct kineto_stacks {
	struct lookup known;  /* (1, hash of a text) to 1 + its stack; 0: no frames */
	struct lookup codes;  /* (1 + function, file) to foreign_file.codes */
	struct lookup firsts; /* (1 + function, file) to its first line; NONE: it has several */
	ARRAY(bool) noted;    /* by text of a function: it is in firsts */
};

void kineto_stacks_close(struct kineto_stacks *stacks);

/*
 * Notes a function that the file reports on its own, by the text of its name: stacks do not say where a function
 * begins.
 */
void kineto_stacks_note(struct kineto_stacks *stacks, struct foreign_file *file, uint32_t name);

/* The end of the file. */
void kineto_stacks_finish(struct kineto_stacks *stacks, struct foreign_file *file);

/* 1 + index of the stack in the file; 0: no stack.  scratch: for the text. */
uint32_t kineto_stack(struct kineto_stacks *stacks, struct foreign_file *file, const struct json_text *text,
		      text_buffer *scratch);
