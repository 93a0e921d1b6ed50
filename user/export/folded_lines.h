/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines of a folded file, whose frames are joined by `;` and whose value stands after the last blank. */
#ifndef GPUTRACE_FOLDED_LINES_H
#define GPUTRACE_FOLDED_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "export/sink.h"

struct folded_line {
	char *text;
	uint64_t value;
};

/* Sorted, what is equal becomes one; frees their texts. */
void folded_lines_put(struct sink *sink, struct folded_line *lines, size_t count);

/* One more frame of a sink that collects a line in memory: what separates frames becomes `_`. */
void folded_put_frame(struct sink *out, const char *text);

struct stack_frame;

/* The same of a frame of a stack (stack_frame_fn); out: a struct sink. */
void folded_take_frame(void *out, const struct stack_frame *frame);

#endif
