/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of each collective's kernel on each rank, split: it waits until the last of the ranks that it needs has
 * begun, then transfers until it ends.  Both together are the kernel's time, to the nanosecond.  Dispatch, from its
 * launch until it began, comes before.  What cannot be known is no part of either, and has a reason.
 *
 * Kernels are counterparts by number (collective_kernels.h), and only if they ran at the same time: a kernel that ends
 * before another one begins has not waited for it.  Kernels known by name only are matched in their order: those that
 * run at the same time on all ranks and end together.
 */
#pragma once

#include "analyze/ranks/collective_kernels.h"
#include "analyze/ranks/ranks.h"

/* Why a kernel's time cannot be split. */
enum split_lack {
	SPLIT_KNOWN,
	SPLIT_NO_NUMBER,     /* nothing says which kernels of other ranks are its counterparts */
	SPLIT_RANKS_MISSING, /* not all of its ranks are in the logs, or their kernels are not */
	SPLIT_TWICE,	     /* a rank has its number twice */
	SPLIT_APART,	     /* those with its number, or name, did not run at the same time */
	SPLIT_CLOCK,	     /* a clock is not aligned */
	SPLIT_LACKS,
};

/* NULL: it can be. */
extern const char *const split_lack_words[SPLIT_LACKS];

struct kernel_split {
	uint64_t waiting_ns, transfer_ns;
	uint64_t error_ns; /* of where one ends and the other begins: the clocks are known to that */
	uint32_t last;	   /* collective_split.ranks: the rank that began last; NONE */
	uint32_t last_kernel;
	uint8_t lack; /* enum split_lack */
};

struct split_sum {
	uint64_t count, ns; /* of kernels */
	uint64_t waiting_ns, transfer_ns, unknown_ns;
	uint64_t error_ns;
	uint64_t dispatch_ns, dispatched; /* of those whose launch was seen */
	uint64_t last;			  /* how often the rank was the last */
	uint64_t lacking[SPLIT_LACKS];	  /* kernels */
};

struct split_rank {
	size_t log;
	const struct kernels_of_process *of;
	int64_t rank;		     /* -1: not known */
	struct kernel_split *splits; /* of each of its kernels */
	struct split_sum sum;
};

/* The kernels of one collective from one line, of a rank. */
struct split_row {
	size_t rank;	     /* collective_split.ranks */
	uint32_t name, line; /* texts of its log */
	enum collective_basis basis;
	struct split_sum sum;
};

/* A rank came last to collectives, at one line and of one cause. */
struct last_row {
	size_t rank;
	uint32_t name, line;	     /* texts of its log */
	uint32_t cause, cause_line;  /* as in collective_cause; WHY_CAUSES: its GPU was not idle; NONE: not known */
	uint64_t count, ns, most_ns; /* time after the median rank */
	uint64_t queued_ns;	     /* of that time: it was launched, but had not begun */
};

/* A communicator, or process group, of all logs. */
struct split_communicator {
	size_t log;			  /* the first with it */
	uint32_t of;			  /* communicators of that log; NONE: kernels of which it is not known */
	uint64_t most;			  /* kernels of the rank that has most: how many collectives there were */
	uint64_t bytes, of_unknown_bytes; /* bytes of all ranks; kernels of which they are not known */
	uint64_t rated_bytes, rated_ns;	  /* of kernels whose bytes and transfer are known */
	struct split_sum sum;
	struct {
		ARRAY(uint32_t) list; /* split.ranks */
	} ranks;
};

struct collective_split {
	ARRAY(struct split_rank) ranks;			/* by rank, those without a number last */
	ARRAY(struct split_row) rows;			/* by collective and line, most time first; then by rank */
	ARRAY(struct last_row) lasts;			/* most time first */
	ARRAY(struct split_communicator) communicators; /* most time first; unknown ones last */
	const struct collective_kernels *logs;
	uint64_t kernels, left_out;
	bool has_gpus; /* GPUs of one process are ranks */
};

/* ranks: aligned, and logs[i] the kernels of its i-th log.  Both must outlive the split. */
void collective_split_make(struct collective_split *split, const struct ranks *ranks,
			   const struct collective_kernels *logs);
void collective_split_free(struct collective_split *split);

static inline uint64_t kernel_duration(const struct collective_kernel *kernel)
{
	return kernel->end_ns - kernel->start_ns;
}

/* From its launch until it began; false: its launch was not seen. */
static inline bool kernel_dispatch(const struct collective_kernel *kernel, uint64_t *ns)
{
	*ns = kernel->start_ns > kernel->launch_ns ? kernel->start_ns - kernel->launch_ns : 0;
	return kernel->launch_ns != 0;
}

/*
 * The kernel of a process of a log that began then, with that number of its launch; NULL: there is none.  *split: its
 * time.
 */
const struct collective_kernel *collective_split_find(const struct collective_split *split, size_t log,
						      uint32_t process, uint64_t start_ns, uint32_t corr,
						      const struct kernel_split **found);
