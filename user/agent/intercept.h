/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Hearing of another client of CUPTI's activity API before CUPTI does.  A library that is linked with CUPTI calls it
 * through its table of addresses (the PLT's); there the addresses of some functions are replaced by gputrace's, which
 * call what was asked for and then jump to CUPTI's: no gputrace frame stays on the stack.  Knows nothing of sessions.
 */
#ifndef GPUTRACE_AGENT_INTERCEPT_H
#define GPUTRACE_AGENT_INTERCEPT_H

#include <stdbool.h>

#include "cupti/cupti_abi.h"

/* Called on the threads of the application, in the middle of its call. */
struct intercept_before {
	void (*buffers)(void);	  /* it is about to register buffers */
	void (*clock)(void);	  /* a clock */
	void (*subscriber)(void); /* to subscribe */
};

/*
 * At the start of a session, and the agent's thread at each tick: libraries that have come are looked at.  Only those
 * that are linked with a libcupti, and only entries that lead, or will lead, to the functions of this one.
 */
void intercept_follow(const struct cupti *cupti, const struct intercept_before *before);

/* Whether the call by which torch.profiler's Kineto subscribes is among those that are heard of. */
bool intercept_has_kineto_subscribe(void);

/* Puts back what was there, wherever ours still stands. */
void intercept_end(void);

#endif
