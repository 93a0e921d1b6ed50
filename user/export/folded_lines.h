/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines of a folded file: what is equal becomes one. */
#ifndef GPUTRACE_FOLDED_LINES_H
#define GPUTRACE_FOLDED_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "export/sink.h"

struct folded_line {
	char *text;
	uint64_t value;
};

/* Sorted, and frees their texts. */
void folded_lines_put(struct sink *sink, struct folded_line *lines, size_t count);

#endif
