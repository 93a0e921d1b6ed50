/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a feed, and functions that its source files share.  For row_feed*.c alone. */
#pragma once

#include "input/rows/row_feed.h"

/* An op that evaluates a node of a backward pass: the first op inside it with the node's name is the node. */
struct evaluation {
	uint64_t end_ns;
	uint32_t node; /* text; ROW_NO_TEXT: none, or already found */
};

struct row_feed {
	const struct foreign_file *file;
	struct row_stacks *stacks;
	struct row_ranges *ranges;
	struct row_enclosing *enclosing;
	struct row_owners *owners;	/* NULL: there is only one process */
	uint64_t unsure;		/* GPU work that may be of several processes */
	uint8_t *given;			/* by text: bits of enum given_as, passed on in this pass */
	struct lookup contexts;		/* (context + 1, device) already passed on */
	struct lookup inputs;		/* (process + 1, text) already passed on, to whether the builder took them */
	struct evaluation *evaluations; /* by thread of the file: its latest evaluation */
	uint32_t main_pid;
	uint64_t sampled;			    /* number of the latest sampled stack */
	uint64_t later[ROW_MAX / sizeof(uint64_t)]; /* the current row, if its times are delayed (delay_of) */
};

enum given_as {
	GIVEN_OP = 1,
	GIVEN_KERNEL = 2,
};

/* Keys of texts; 0: no text. */
static inline uint32_t row_feed_key(uint32_t text)
{
	return text + 1;
}

static inline struct text row_feed_text(const struct row_feed *feed, uint32_t text)
{
	const struct rows *rows = &feed->file->rows;

	return text < rows->texts.count ? rows->texts.items[text] : (struct text){.bytes = "", .size = 0};
}

/* Passes on a text: once if there is one process, else each time, as keys belong to a process. */
void row_feed_put_text(struct row_feed *feed, struct builder *builder, struct process_image program, uint32_t text,
		       enum given_as as);

/* The process image of a pid; of 0 the first one. */
struct process_image row_feed_image(const struct row_feed *feed, struct builder *builder, uint32_t pid);

/* The sender of a row as a record. */
static inline struct sender row_feed_sender(struct process_image program)
{
	return (struct sender){.program = program, .time_ns = UINT64_MAX, .clock = SOURCE_CLOCK_MONOTONIC};
}

/* Feed rows of threads; false: a malformed memory event. */
void row_feed_op(struct row_feed *feed, struct builder *builder, const struct row_op *op);
void row_feed_call(struct row_feed *feed, struct builder *builder, const struct row_call *call);
bool row_feed_memory(struct row_feed *feed, struct builder *builder, const struct row_memory *memory);
