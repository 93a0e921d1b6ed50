/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes line tables of CPython 3.6 to 3.14: byte offset of an instruction to its line.  Pure functions; the table is
 * hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/values.h>

#include "base/array.h"

/* Offsets from the previous range's end up to, but not including, `end` are on this line. */
struct line_range {
	uint32_t end;
	uint32_t line; /* 0: the instructions have no line */
};

typedef ARRAY(struct line_range) line_ranges;

/* Appends the ranges of a table; whole: the table is not truncated.  An unknown kind has no ranges. */
void linetable_decode(enum gpt_linetable kind, const uint8_t *table, size_t bytes, bool whole, uint32_t first_line,
		      line_ranges *out);

/* The line of the instruction at a byte offset, 0: none or not known. */
uint32_t linetable_find(const struct line_range *ranges, size_t count, uint32_t offset);
