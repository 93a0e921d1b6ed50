/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Detects another client of CUPTI's activity API before its call reaches CUPTI. A library that is linked with CUPTI
 * calls it through its address table (the PLT's). Some addresses there are replaced by gputrace's functions, which call
 * the given hook and then jump to CUPTI's: no gputrace frame stays on the stack. Independent of sessions.
 */
#pragma once

#include <stdbool.h>

#include "cupti/cupti_abi.h"

/* Called on the threads of the application, in the middle of its call. */
struct intercept_before {
	void (*buffers)(void);	  /* the client is about to register buffers */
	void (*clock)(void);	  /* to register a clock */
	void (*subscriber)(void); /* to subscribe */
};

/*
 * At the start of a session, and on the agent's thread at each tick: examines newly loaded libraries. Redirects only in
 * libraries linked with a libcupti, and only entries bound, or to be bound, to functions of this one.
 */
void intercept_follow(const struct cupti *cupti, const struct intercept_before *before);

/* Whether the subscribing call of torch.profiler's Kineto is intercepted. */
bool intercept_has_kineto_subscribe(void);

/* Restores every entry that still has gputrace's address. */
void intercept_end(void);
