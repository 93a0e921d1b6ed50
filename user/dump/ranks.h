/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ranks of distributed jobs among the processes that were looked at: by its Python stack, each rank is in a
 * collective of torch.distributed or at some other line.
 */
#pragma once

#include "dump/process/look.h"

struct dump_rank {
	const struct dump_process *process;
	const struct dump_thread *thread;    /* in a collective, else the process's first one; NULL: none was seen */
	const struct dump_frame *collective; /* the collective's frame, NULL: in none */
	const struct dump_frame *line;	     /* the innermost frame outside libraries, NULL: none */
	int64_t number;			     /* RANK, -1: not known */
	size_t alike;			     /* index of the job's first rank in the same place, may be its own */
};

typedef ARRAY(struct dump_rank) rank_list;

/* Sorted by job, then by rank.  Free with array_free; the looks own the processes. */
void ranks_find(rank_list *ranks, const look_list *looks);

/* The process's parent, if that was looked at, too; else NULL. */
const struct dump_process *rank_parent(const look_list *looks, const struct dump_process *process);

/* The innermost frame outside libraries, NULL: none. */
const struct dump_frame *rank_line(const struct dump_frame *frames, unsigned count);

/* NULL equals NULL. */
bool is_same_frame(const struct dump_frame *a, const struct dump_frame *b);

/* Whether both belong to one job.  Without MASTER_ADDR, the children of one parent process are one job. */
bool rank_is_of_job(const struct dump_process *a, const struct dump_process *b);
