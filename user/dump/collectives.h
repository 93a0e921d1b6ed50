/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collectives that have not finished, by the Flight Recorders of all processes that were looked at: the first one in
 * each group of each job, and what every rank of the group did with it.
 */
#pragma once

#include "dump/ranks.h"

enum part {
	PART_HAS_NOT_COME, /* the rank has recorded others in this group, but not this one */
	PART_NOTHING,	   /* the rank has recorded nothing in this group */
	PART_OTHER,	   /* the rank has called another operation in its place */
	PART_WAITS,	   /* called, not finished on this rank */
	PART_FINISHED,
	PART_GIVEN_UP, /* PyTorch no longer waits for it on this rank */
	PART_UNKNOWN,  /* called; whether it has finished is not recorded */
	PARTS,
};

/* The word in JSON (docs/formats.md). */
const char *part_name(enum part part);

struct collective_rank {
	const struct dump_process *process;
	int64_t rank; /* in the job, -1: not known */
	enum part part;
	const struct dump_work *work;  /* this collective, or the rank's last one; NULL: PART_NOTHING */
	const struct dump_frame *line; /* innermost frame of `work` outside libraries, NULL: not known */
	uint64_t waited_ns;	       /* since the call, 0: finished, or the clock was set */
	unsigned later;		       /* number of later ones that have not finished either */
	size_t alike;		       /* index of the collective's first rank that says the same, may be its own */
};

/* A collective, or a send or receive of one process. */
struct collective {
	const struct dump_process *process; /* a process in which it waits */
	const struct dump_group *group;	    /* its group in that process */
	const char *name;		    /* the name in most ranks */
	uint64_t number;
	bool is_p2p;
	ARRAY(struct collective_rank) ranks; /* in the order of ranks_find */
	unsigned not_looked_at;		     /* number of members not looked at; 0 for a send or receive */
};

typedef ARRAY(struct collective) collective_list;

/* Free with collectives_free; the looks own what the members point to. */
void collectives_find(collective_list *list, const look_list *looks, const rank_list *ranks);
void collectives_free(collective_list *list);
