/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Injections under way, each on a thread of its own, so that waiting for a stop, a file server or a loader does not
 * delay the others. ptrace(2) is between threads, so the thread that has stopped another stays until that one runs
 * again, whatever the result of the attempt.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "attach/inject/inject.h"

/*
 * Maximum at a time, including threads that still wait for a stop. A process that blocks one of them gets no second, so
 * many processes have to do so before they delay others.
 */
#define ENTERINGS_MAX 64

struct entering;

/* What to do, in terms of inject.h. */
struct entering_request {
	uint64_t start_ticks; /* of the process, from process_start_ticks */
	const char *asked;    /* as for inject_agent; NULL: none */
	bool unless_driver;   /* the result is -EALREADY if inject_driver_brings */
	bool driver;	      /* the driver should bring the agent: injects for ops only; -ENODATA if it does not */
	bool ops;	      /* observe PyTorch's ops, also if the driver brings the agent: inject_observer */
};

/*
 * Starts it in a thread; the file is not needed any more when this returns. -EAGAIN: not now, as there are too many, or
 * an earlier one into this process is not over; else -errno.
 */
int entering_begin(pid_t pid, int agent_fd, const struct entering_request *request, struct entering **out);

/* True when it is over, with inject_agent's result; *entering is freed then. */
bool entering_ended(struct entering **entering, int *error, struct inject_result *result);

/* Drops interest in the result; the attempt goes on. `entering` may be NULL. */
void entering_forget(struct entering **entering);

/*
 * Starts no more injections and waits (at most 0.5 s) for those that have borrowed a thread. Threads that still wait
 * for a stop go on doing so as long as gputrace runs.
 */
void enterings_finish(void);
