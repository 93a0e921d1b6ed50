/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Launches that should have GPU times and have none, by Python line; and those that may not have ended. */
#pragma once

#include "analyze/sums/group.h"

/*
 * The launches of a process after its last one that has all its GPU times: what the GPU did about them is not known.
 * CUPTI reports an operation only once it has ended, so a kernel that hangs is one of them.
 */
struct unfinished {
	uint64_t launches, since_ns, until_ns; /* until_ns: the end of the process or of the recording */
	uint32_t line;			       /* of the first of them */
};

struct untimed {
	struct group launches;	   /* the launches without GPU times */
	struct tally firsts;	   /* process; ns: time of its first launch without GPU times */
	struct tally open;	   /* process; count: launches since one with all GPU times; ns, more: of the first, its
				      time and its caller */
	struct unfinished longest; /* of the process with the longest; launches 0: of none */
};

void untimed_free(struct untimed *untimed);
void untimed_add_call(struct untimed *untimed, const struct call_event *event);
/* The earliest time from which a process has GPU times. */
uint64_t untimed_end(struct untimed *untimed, const struct model *model, const struct window *window);

void untimed_finish(struct untimed *untimed, const struct model *model, const struct window *window,
		    struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_UNTIMED(X)                                                                                            \
	X(UNTIMED, call, untimed_add_call(&all->untimed, event))                                                       \
	X(UNTIMED, finish, untimed_finish(&all->untimed, all->model, &all->window, event->lines))                      \
	X(UNTIMED, free, untimed_free(&all->untimed))
