/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One call of a function by a thread of another process, which notices nothing. */
#ifndef GPUTRACE_ATTACH_INJECT_REMOTE_CALL_H
#define GPUTRACE_ATTACH_INJECT_REMOTE_CALL_H

#include <stdbool.h>

#include "attach/inject/result.h"
#include "attach/inject/addresses.h"
#include "attach/inject/safe_point.h"

/* dlopen takes 0.2 ms; it takes longer only where another thread holds the loader's lock. */
#define REMOTE_CALL_MAX_NS 100000000ULL

struct remote_call {
	const struct inject_addresses *addresses;
	const struct entered_process *process;
	uint64_t function;
	const char *path; /* first argument, NULL: that; the second is RTLD_NOW */
	bool loads;	  /* it may leave something for dlerror() */
	uint64_t max_ns;  /* how long the call is waited for before it is left to itself; 0: REMOTE_CALL_MAX_NS */
};

/*
 * 0: it was called and has returned; -EINPROGRESS: it was called, takes long and comes back by itself; -EAGAIN: the
 * thread was no longer where it had been seen, nothing was done (thread->call.pc: where a running one was); -ESRCH;
 * other -errno: nothing was done.
 */
int remote_call(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result);

/*
 * The signal that leads a thread back, for a process that handles these (bit 0 is signal 1); 0 none: it cannot be
 * entered, and nothing is stopped for it.
 */
int remote_signal(uint64_t caught);

#endif
