/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Call stacks as text: a training loop has the same few at millions of calls, so the latest ones are kept as written.
 * Memory is bounded, however many stacks there are.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"

#define CHROME_STACKS 1024u
#define CHROME_STACK_TEXT_MAX 16384u /* longer stacks are formatted each time */

struct chrome_stack {
	uint32_t id; /* timeline_stack.id */
	ARRAY(char) text;
};

/* Starts zeroed. */
struct chrome_stacks {
	struct chrome_stack slots[CHROME_STACKS]; /* by id, the latest one; without a text: empty */
};

/* The slot for a stack of that id, whatever it holds now. */
static inline struct chrome_stack *chrome_stack_slot(struct chrome_stacks *stacks, uint32_t id)
{
	return &stacks->slots[id % CHROME_STACKS];
}

void chrome_stack_keep(struct chrome_stack *slot, uint32_t id, const char *text, size_t length);
void chrome_stacks_free(struct chrome_stacks *stacks);
