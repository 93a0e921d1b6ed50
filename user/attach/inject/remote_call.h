/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a thread of another process call a function once, which the thread does not notice. */
#pragma once

#include <stdbool.h>

#include "attach/inject/result.h"
#include "attach/inject/addresses.h"
#include "attach/inject/safe_point.h"

/* dlopen takes 0.2 ms, and longer only if another thread holds the loader's lock. */
#define REMOTE_CALL_MAX_NS 100000000ULL

struct remote_call {
	const struct inject_addresses *addresses;
	const struct entered_process *process;
	uint64_t function;
	const char *path; /* first argument, may be NULL; the second is RTLD_NOW */
	bool loads;	  /* it may leave an error for dlerror() */
	bool joins;	  /* the agent joins a collector without BPF: its filter must allow that, too */
	uint64_t max_ns;  /* how long to wait for the call before leaving it to itself; 0: REMOTE_CALL_MAX_NS */
};

/*
 * 0: the function was called and has returned; -EINPROGRESS: it was called, takes long and the thread comes back by
 * itself; -EAGAIN: the thread was no longer where it had been seen, nothing was done (thread->call.pc: where a running
 * one was); -ESRCH; other -errno: nothing was done.
 */
int remote_call(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result);

/*
 * The signal that leads a thread back, for a process that handles the signals `caught` (bit 0 is signal 1). 0: none,
 * the process cannot be entered, and nothing is stopped for it.
 */
int remote_signal(uint64_t caught);
