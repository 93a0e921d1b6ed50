/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ranks of distributed jobs among the processes that were looked at: which collective of torch.distributed each one
 * is in, by its Python stack, or at which line it is instead.
 */
#ifndef GPUTRACE_DUMP_RANKS_H
#define GPUTRACE_DUMP_RANKS_H

#include "dump/look.h"

struct dump_rank {
	const struct dump_process *process;
	const struct dump_thread *thread;    /* in a collective, else the process's first one; NULL: none was seen */
	const struct dump_frame *collective; /* the call's own frame, NULL: in none */
	const struct dump_frame *line;	     /* the innermost frame that is of no library, NULL: none */
	int64_t number;			     /* RANK, -1: not known */
	size_t alike; /* index of the first of its job that is in the same place, may be its own */
};

typedef ARRAY(struct dump_rank) rank_list;

/* By job, then by rank. Free with array_free; processes are those of looks. */
void ranks_find(rank_list *ranks, const look_list *looks);

/* Its parent, if that was looked at, too. */
const struct dump_process *rank_parent(const look_list *looks, const struct dump_process *process);

/* The innermost frame that is of no library, NULL: none. */
const struct dump_frame *rank_line(const struct dump_frame *frames, unsigned count);

/* NULL is the same as NULL. */
bool is_same_frame(const struct dump_frame *a, const struct dump_frame *b);

/* Whether both are of one job.  What has no MASTER_ADDR is of a job with what its parent has started. */
bool rank_is_of_job(const struct dump_process *a, const struct dump_process *b);

#endif
