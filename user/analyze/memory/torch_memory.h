/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of PyTorch's allocators: how much was held at most, by which lines and ops, what of it was never freed, and
 * who held it when there was not enough.  A block's line and op are those of its allocation.
 *
 * Blocks are not kept: each holder (a stack in an op, of a process and pass) has what it holds now, what it held at
 * the latest peak, and how that changed in each block of steps (step_blocks.h).
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "analyze/steps/step_blocks.h"

#define TORCH_MEMORY_GROWTH_LEAST                                                                                      \
	100u			 /* a row grows if all steps together added one part in this many of its space's peak */
#define TORCH_MEMORY_OUTS_MAX 3u /* out-of-memory events for which the holders are kept */

/* The memory of a device that one process uses. */
struct torch_space {
	uint32_t process;
	int32_t device;	     /* model_torch_memory.device */
	int32_t device_type; /* model_torch_memory.device_type */
	uint64_t held;	     /* now, of memory handed out in the trace */
	uint64_t most;	     /* held at the peak, as the allocator reports: includes older blocks */
	uint64_t most_known; /* the part of it that was handed out in the trace */
	uint64_t reserved;   /* at the peak, as the allocator reports */
	uint64_t time_ns;    /* of the peak */
};

struct torch_memory_row {
	uint32_t line;	    /* NONE: the event had no stack */
	uint32_t user_line; /* as in line_tally_row: the one with most blocks; of a row of `growing` with most growth */
	uint32_t user_lines;
	uint32_t op_name;	/* model.strings, NONE: in no op */
	uint32_t space;		/* index in spaces */
	uint64_t at_peak, held; /* bytes; held: at the end of the trace */
	uint64_t blocks;	/* handed out */
	double per_step;	/* average growth after each step, bytes; NAN: there are no steps */
	bool grows;		/* per_step is more than chance */
};

/* There was not enough memory. */
struct torch_memory_out {
	uint64_t time_ns, asked, allocated, reserved;
	uint32_t place, op_name, space;
	uint32_t line;		       /* set when finished; NONE */
	struct tally held;	       /* key: holder; ns: bytes */
	struct torch_memory_row *rows; /* the holders, most first; only line, op_name, held are set */
	size_t count;
};

struct torch_holder {
	uint64_t now, at_peak, blocks;
	uint64_t changed_ns;
	double growth; /* its part of the growth per step of a row of `growing`, bytes; 0: of no such row */
};

struct torch_memory_sums {
	struct tally by_space;	/* process, device type, device; more: index in spaces */
	struct tally by_holder; /* place, op name, space, memory_pass; numbered like holders */
	struct tally changes;	/* holder, block of steps; ns: bytes handed out, more: bytes taken back */
	struct step_blocks *blocks;
	ARRAY(struct torch_space) spaces;
	ARRAY(struct torch_holder) holders;
	ARRAY(struct torch_memory_out) outs; /* the first TORCH_MEMORY_OUTS_MAX */
	uint64_t out_count;
	struct torch_memory_row *rows; /* most at the peak first */
	size_t count;
	bool has_steps;	   /* of training; without them growth is not known */
	uint32_t *growing; /* rows that grow by TORCH_MEMORY_GROWTH_LEAST, most first */
	size_t growing_count;
};

/* The blocks must not move. */
void torch_memory_sums_free(struct torch_memory_sums *all);
void torch_memory_sums_add(struct torch_memory_sums *all, const struct torch_memory_event *event);
void torch_memory_sums_finish(struct torch_memory_sums *all, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_TORCH_MEMORY(X)                                                                                       \
	X(TORCH_MEMORY, begin, all->torch_memory.blocks = &all->blocks)                                                \
	X(TORCH_MEMORY, torch_memory, torch_memory_sums_add(&all->torch_memory, event))                                \
	X(TORCH_MEMORY, finish, torch_memory_sums_finish(&all->torch_memory, event->lines))                            \
	X(TORCH_MEMORY, free, torch_memory_sums_free(&all->torch_memory))
