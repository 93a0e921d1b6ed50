/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collectives that have not finished, by the Flight Recorders of all processes that were looked at: in each group of
 * each job the first one of them, and what every rank of the group did with it.
 */
#ifndef GPUTRACE_DUMP_COLLECTIVES_H
#define GPUTRACE_DUMP_COLLECTIVES_H

#include "dump/ranks.h"

enum part {
	PART_HAS_NOT_COME, /* it has recorded others in this group, and not this one */
	PART_NOTHING,	   /* it has recorded nothing in this group */
	PART_OTHER,	   /* it has called another operation in its place */
	PART_WAITS,	   /* it has called it, and it has not finished there */
	PART_FINISHED,
	PART_GIVEN_UP, /* PyTorch no longer waits for it there */
	PART_UNKNOWN,  /* it has called it, and whether it has finished is not recorded */
	PARTS,
};

/* A word for programs. */
const char *part_name(enum part part);

struct collective_rank {
	const struct dump_process *process;
	int64_t rank; /* of the job, -1: not known */
	enum part part;
	const struct dump_work *work;  /* the one in question, or its last one; NULL: PART_NOTHING */
	const struct dump_frame *line; /* of work: the innermost frame that is of no library, NULL: not known */
	uint64_t waited_ns;	       /* since it was called there, 0: it has finished, or the clock was set */
	unsigned later;		       /* that were called after it and have not finished either */
	size_t alike;		       /* index of the first of its collective that says the same, may be its own */
};

/* A collective, or a send or receive of one process. */
struct collective {
	const struct dump_process *process; /* one in which it waits, */
	const struct dump_group *group;	    /* and its group there */
	const char *name;		    /* as most have it */
	uint64_t number;
	bool is_p2p;
	ARRAY(struct collective_rank) ranks; /* as ranks_find sorts them */
	unsigned not_looked_at;		     /* members of the group; 0 for a send or receive */
};

typedef ARRAY(struct collective) collective_list;

/* Free with collectives_free; what is in them is the looks'. */
void collectives_find(collective_list *list, const look_list *looks, const rank_list *ranks);
void collectives_free(collective_list *list);

#endif
