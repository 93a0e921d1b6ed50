/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of all of a long trace as soon as its first part is at hand: its first reading has counted.  Whoever
 * writes a file while the parts come needs it where numbers must differ over the whole file.
 */
#ifndef GPUTRACE_OUTLOOK_H
#define GPUTRACE_OUTLOOK_H

#include "base/array.h"
#include "model/corr_set.h"

/* Of a process. */
struct model_prospect {
	bool has_calls, has_gpu_work; /* in some part */
	bool corrs_repeat;	      /* two of its calls may have one correlation id */
	uint32_t highest_corr;	      /* none of its calls has a higher one */
};

struct model_outlook {
	uint64_t calls, gpu_ops, syncs; /* at most as many are in all parts */
	struct model_prospect *processes;
};

/* ---- the first reading ------------------------------------------------------------------------------------------- */

struct outlook_process {
	struct model_prospect prospect;
	struct corr_set corrs;
};

/* Starts zeroed. */
struct outlook {
	struct model_outlook found; /* after outlook_finish */
	ARRAY(struct outlook_process) processes;
	uint32_t pages; /* of all sets */
};

/* A call: merged: the id may be that of a call before, which this one is part of. */
void outlook_add_call(struct outlook *outlook, uint32_t process, uint32_t corr, bool merged);
void outlook_add_gpu_work(struct outlook *outlook, uint32_t process);
void outlook_add_sync(struct outlook *outlook);

/* processes: how many there are. */
void outlook_finish(struct outlook *outlook, uint32_t processes);
void outlook_free(struct outlook *outlook);

#endif
