/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frames that show a row of GPU time or launches by stack (analyze/sums/stack_sums.h), the same in all formats: the
 * process, Python, native functions, the CUDA call, what ran.  Root first.
 */
#pragma once

#include "analyze/sums/stack_sums.h"

enum stack_frame_kind {
	STACK_FRAME_PROCESS,
	STACK_FRAME_PYTHON,
	STACK_FRAME_NOTE, /* about the stack: "[cut]", "thread NAME (no Python)" */
	STACK_FRAME_NATIVE,
	STACK_FRAME_CALL,
	STACK_FRAME_OPERATION, /* GPU work */
};

struct stack_frame {
	enum stack_frame_kind kind;
	const char *before; /* prefix of a Python frame: "captured at "; else "" */
	const char *name;
	const char *file; /* of a Python frame, else "" */
	uint32_t line;	  /* the line being executed, 0: not known, or not Python */
	uint32_t first_line;
};

/* The texts are valid until the function returns. */
typedef void stack_frame_fn(void *context, const struct stack_frame *frame);

void stack_row_frames(const struct model *model, const struct stack_row *row, stack_frame_fn *take, void *context);

/* Only the Python frames; stack: index into model.stacks. */
void stack_python_frames(const struct model *model, uint32_t stack, stack_frame_fn *take, void *context);
