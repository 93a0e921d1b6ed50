/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of PyTorch's allocators: how much was held at most, by which lines and ops, what of that was never freed, and
 * who held it when there was not enough.  A line and an op are those of when a block was handed out.
 *
 * Blocks are not kept: each holder (a stack in an op of a process) has what it holds now, what it held at the latest
 * peak, and how that changed in each block of steps (step_blocks.h).
 */
#ifndef GPUTRACE_ANALYZE_TORCH_MEMORY_H
#define GPUTRACE_ANALYZE_TORCH_MEMORY_H

#include "analyze/events.h"
#include "analyze/lines.h"
#include "analyze/sums/step_blocks.h"

#define TORCH_MEMORY_GROWTH_LEAST                                                                                      \
	100u			 /* all steps made a row larger by one part in this many of the peak of its space */
#define TORCH_MEMORY_OUTS_MAX 3u /* times that there was not enough of which it is kept who held what */

/* The memory of a device that one process has. */
struct torch_space {
	uint32_t process;
	int32_t device;	     /* model_torch_memory.device */
	int32_t device_type; /* the same */
	uint64_t held;	     /* now, of what was handed out in the trace */
	uint64_t most;	     /* held at the peak, as the allocator says: older blocks are in it, too */
	uint64_t most_known; /* of it what was handed out in the trace */
	uint64_t reserved;   /* then, as the allocator says */
	uint64_t time_ns;    /* of the peak */
};

struct torch_memory_row {
	uint32_t line;	    /* NONE: the event had no stack */
	uint32_t user_line; /* as line_tally_row's, that with most blocks */
	uint32_t user_lines;
	uint32_t op_name;	/* model.strings, NONE: in no op */
	uint32_t space;		/* in spaces */
	uint64_t at_peak, held; /* bytes; held: when the trace ended */
	uint64_t blocks;	/* handed out */
	double per_step;	/* bytes that it holds more after each step, on average; NAN: there are no steps */
	bool grows;		/* by that, and not by chance */
};

/* There was not enough. */
struct torch_memory_out {
	uint64_t time_ns, asked, allocated, reserved;
	uint32_t place, op_name, space;
	uint32_t line;		       /* when it is finished; NONE */
	struct tally held;	       /* holder; ns: bytes */
	struct torch_memory_row *rows; /* who held: most first; only line, op_name, held */
	size_t count;
};

struct torch_holder {
	uint64_t now, at_peak, blocks;
	uint64_t changed_ns;
	double growth; /* its part of what a row of `growing` holds more after each step, bytes; 0: it is of none */
};

struct torch_memory_sums {
	struct tally by_space;	/* process, device type, device; more: in spaces */
	struct tally by_holder; /* place, op name, space; in the order of holders */
	struct tally changes;	/* holder, block of steps; ns: bytes handed out, more: bytes taken back */
	struct step_blocks *blocks;
	ARRAY(struct torch_space) spaces;
	ARRAY(struct torch_holder) holders;
	ARRAY(struct torch_memory_out) outs; /* the first of them */
	uint64_t out_count;
	struct torch_memory_row *rows; /* most at the peak first */
	size_t count;
	bool has_steps;	   /* of training: without them it is not known what grows */
	uint32_t *growing; /* rows that grow by enough to be named, most first */
	size_t growing_count;
};

/* The blocks have to stay where they are. */
void torch_memory_sums_init(struct torch_memory_sums *all, struct step_blocks *blocks);
void torch_memory_sums_free(struct torch_memory_sums *all);
void torch_memory_sums_add(struct torch_memory_sums *all, const struct torch_memory_event *event);
void torch_memory_sums_finish(struct torch_memory_sums *all, struct lines *lines);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_TORCH_MEMORY(X)                                                                                       \
	X(TORCH_MEMORY, begin, torch_memory_sums_init(&all->torch_memory, &all->blocks))                               \
	X(TORCH_MEMORY, torch_memory, torch_memory_sums_add(&all->torch_memory, event))                                \
	X(TORCH_MEMORY, finish, torch_memory_sums_finish(&all->torch_memory, event->lines))                            \
	X(TORCH_MEMORY, free, torch_memory_sums_free(&all->torch_memory))

#endif
