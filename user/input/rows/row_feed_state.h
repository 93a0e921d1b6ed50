/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a feed keeps, and what its files have of each other.  For row_feed*.c alone. */
#ifndef GPUTRACE_INPUT_ROW_FEED_STATE_H
#define GPUTRACE_INPUT_ROW_FEED_STATE_H

#include "input/rows/row_feed.h"

/* What is needed of the latest calls to find whose GPU work is, where there are several processes: a power of two. */
#define RECENT_CALLS 65536u

struct recent_call {
	uint32_t corr, pid;
};

/* An op that evaluates a node of a backward pass: the first op inside of it with the node's name is that. */
struct evaluation {
	uint64_t end_ns;
	uint32_t node; /* text, ROW_NO_TEXT: none, or it was met */
};

struct row_feed {
	const struct foreign_file *file;
	struct row_stacks *stacks;
	struct row_ranges *ranges;
	struct recent_call *recent;	/* NULL: there is one process */
	uint8_t *given;			/* by text: enum given_as, of this round */
	struct lookup contexts;		/* (context + 1, device) that were given */
	struct lookup inputs;		/* (process + 1, text) that were given, to whether they were taken */
	struct evaluation *evaluations; /* by thread of the file: its latest */
	uint32_t main_pid;
	uint64_t sampled;			    /* number of the latest stack of an op */
	uint64_t later[ROW_MAX / sizeof(uint64_t)]; /* the current row, where all times are later (delay_of) */
};

enum given_as {
	GIVEN_OP = 1,
	GIVEN_KERNEL = 2,
};

/* Keys of texts: 0 is none. */
static inline uint32_t row_feed_key(uint32_t text)
{
	return text + 1;
}

static inline struct text row_feed_text(const struct row_feed *feed, uint32_t text)
{
	const struct rows *rows = &feed->file->rows;

	return text < rows->texts.count ? rows->texts.items[text] : (struct text){.bytes = "", .size = 0};
}

/* Texts are given to each program; of several all are, as keys are theirs. */
void row_feed_put_text(struct row_feed *feed, struct builder *builder, struct process_image program, uint32_t text,
		       enum given_as as);

/* Whose the work is where the file does not say: of its call, else of the first process. */
struct process_image row_feed_image(const struct row_feed *feed, struct builder *builder, const struct row *row);

/* Rows of threads; false: memory that makes no sense. */
void row_feed_op(struct row_feed *feed, struct builder *builder, const struct row_op *op);
void row_feed_call(struct row_feed *feed, struct builder *builder, const struct row_call *call);
bool row_feed_memory(struct row_feed *feed, struct builder *builder, const struct row_memory *memory);

#endif
