/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks of PyTorch's memory that stay: handed out in the trace and not freed at its end.  By the line that asked for
 * them, with its caller in the user's own code; and by the Python object that holds them, where the process's objects
 * were searched (model_holder).  A storage that was found is a block that stays if the block has its address and is
 * older than the search: nothing else had that address from then on.
 */
#pragma once

#include "analyze/memory/torch_memory.h"
#include "base/lookup.h"

struct torch_block {
	uint64_t address, bytes, time_ns; /* bytes 0: none */
	uint32_t place, op_name, process; /* as in torch_memory_event */
	uint32_t space;			  /* index in torch_memory_sums.spaces */
};

/* Why no holder is known. */
enum torch_held_by {
	TORCH_HELD_BY_OBJECT,
	TORCH_HELD_BY_NONE,    /* all objects were read, and none of them has it */
	TORCH_HELD_BY_UNREAD,  /* none of those that were read before a limit was reached */
	TORCH_HELD_LATER,      /* it is younger than the search */
	TORCH_HELD_UNSEARCHED, /* the process was not searched */
};

struct torch_held_row {
	uint32_t line, user_line; /* as in torch_memory_row */
	uint32_t caller;	  /* the line of the user's own code that called that one; NONE */
	uint32_t space;
	uint64_t bytes, blocks;
	double per_step; /* average growth after each step, bytes; NAN: there are no steps */
	bool grows;
	enum torch_held_by by; /* of most of its bytes; an object, if any was found */
	uint32_t holder;       /* as in torch_holder_row */
	uint64_t by_bytes;     /* of those */
};

struct torch_holder_row {
	enum torch_held_by by;
	uint32_t holder; /* model.holders, NONE: `by` says why */
	uint32_t process;
	uint32_t line, user_line, caller; /* of most of its bytes */
	uint64_t bytes, blocks;
	uint64_t line_bytes; /* the part of that line */
};

struct torch_held {
	const struct torch_memory_sums *memory;
	struct lookup by_address; /* index in blocks */
	ARRAY(struct torch_block) blocks;
	ARRAY(uint32_t) unused;	     /* of blocks */
	struct torch_held_row *rows; /* most bytes first */
	size_t count;
	struct torch_holder_row *holders; /* likewise */
	size_t holder_count;
};

/* memory: has had each event before; must outlive the sums. */
void torch_held_free(struct torch_held *all);
void torch_held_add(struct torch_held *all, const struct torch_memory_event *event);
void torch_held_finish(struct torch_held *all, struct lines *lines, uint64_t end_ns);

/* What stays of a row of memory that grows: of its line, where most growth is; NULL: nothing of it stays. */
const struct torch_held_row *torch_held_of_growing(const struct torch_held *all, const struct torch_memory_row *row);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_TORCH_HELD(X)                                                                                         \
	X(TORCH_HELD, begin, all->torch_held.memory = &all->torch_memory)                                              \
	X(TORCH_HELD, torch_memory, torch_held_add(&all->torch_held, event))                                           \
	X(TORCH_HELD, finish, torch_held_finish(&all->torch_held, event->lines, all->window.end_ns))                   \
	X(TORCH_HELD, free, torch_held_free(&all->torch_held))
