/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work in a child process, part by part.  What a traced program wrote can make gputrace crash or take all memory: then
 * only the child ends, the part that ended it is named, and another child goes on with the part after that.
 */
#pragma once

#include <stdbool.h>

struct child_work {
	struct child_shared *shared; /* NULL: without a child, as none could be started */
	unsigned part;		     /* from 1 on; 0: none has begun */
	unsigned first;		     /* the part with which this child begins */
};

struct child_job {
	int (*run)(struct child_work *work, void *context); /* in each child: all parts, in the same order */
	void (*clean)(void *context);			    /* after a child that did not return */
	void *context;
	const char *name; /* of the work outside of parts, for messages */
};

/* A part begins; its name is for messages.  False: leave it out, an earlier child has done it or was ended by it. */
bool child_work_begins(struct child_work *work, const char *name);

/* Returns what the last child's run returned, -1 if it did not.  *all: no child was ended. */
int child_work_run(const struct child_job *job, bool *all);
