/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Hearing of another client of CUPTI's activity API before CUPTI does.  A library that is linked with CUPTI calls it
 * through its table of addresses (the PLT's); there the addresses of two functions are replaced by gputrace's, which
 * call what was asked for and then jump to CUPTI's: no gputrace frame stays on the stack.  Knows nothing of sessions.
 */
#ifndef GPUTRACE_AGENT_INTERCEPT_H
#define GPUTRACE_AGENT_INTERCEPT_H

#include "cupti/cupti_abi.h"

/*
 * The agent's thread, at each tick: libraries that have come are looked at.  Only those that are linked with a
 * libcupti, and only entries that lead, or will lead, to the functions of this one.  On the threads of the
 * application, in the middle of its call: before_buffers as it is about to register buffers, before_clock a clock.
 */
void intercept_follow(const struct cupti *cupti, void (*before_buffers)(void), void (*before_clock)(void));

/* Puts back what was there, wherever ours still stands. */
void intercept_end(void);

#endif
