/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ways into processes that are under way, each on a thread of its own: one that waits for a stop, a lender or a loader
 * keeps no one else waiting.  ptrace(2) is between threads, so the one that has stopped a thread stays until that runs
 * again, whatever has become of the attempt.
 */
#ifndef GPUTRACE_ATTACH_INJECT_ENTERING_H
#define GPUTRACE_ATTACH_INJECT_ENTERING_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/inject/inject.h"

/*
 * At once, threads that still wait for a stop included: a process that keeps one has no second, so many processes have
 * to do so before others are kept waiting.
 */
#define ENTERINGS_MAX 64

struct entering;

/* What to do, by inject.h. */
struct entering_request {
	uint64_t start_ticks; /* of the process, as process_start_ticks */
	const char *asked;    /* as inject_agent; NULL: none */
	bool unless_driver;   /* the answer is -EALREADY where inject_driver_brings */
	bool driver;	      /* it should: nothing is done but for ops; -ENODATA where it does not */
	bool ops;	      /* PyTorch's, also where the driver brings the agent: inject_observer */
};

/*
 * Begins it in a thread; the file is not needed any more when this returns.  -EAGAIN: not now, as there are too many,
 * or an earlier one into this process is not over; else -errno.
 */
int entering_begin(pid_t pid, int agent_fd, const struct entering_request *request, struct entering **out);

/* True when it is over, with inject_agent's answer; *entering is gone then. */
bool entering_ended(struct entering **entering, int *error, struct inject_result *result);

/* Its answer is not wanted; it goes on. NULL is fine. */
void entering_forget(struct entering **entering);

/*
 * The end: no one is entered any more; waits (at most 0.5 s) for those that have borrowed a thread.  Who still waits
 * for a stop goes on doing so as long as gputrace runs.
 */
void enterings_finish(void);

#endif
