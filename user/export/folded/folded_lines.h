/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines of a folded file: frames joined by `;`, and the value after the last blank. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "export/file/sink.h"

struct folded_line {
	char *text;
	uint64_t value;
};

struct folded_lines {
	ARRAY(struct folded_line) list;
	struct sink frames; /* of the next line */
};

void folded_lines_begin(struct folded_lines *lines);
void folded_lines_end_line(struct folded_lines *lines, uint64_t value);

/* Writes the lines sorted, with equal ones merged; frees them. */
void folded_lines_put(struct sink *sink, struct folded_lines *lines);

/* Adds a frame to a line that a sink collects in memory; the separator of frames in text becomes `_`. */
void folded_put_frame(struct sink *out, const char *text);

struct stack_frame;

/* The same for a frame of a stack (stack_frame_fn); out: a struct sink. */
void folded_take_frame(void *out, const struct stack_frame *frame);
