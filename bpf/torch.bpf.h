/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack that a node of a backward pass passes to the thread that runs it, until the node returns. The stack pointer
 * shows whether it has: the engine's loop, which called the node, is below it, and whatever that loop calls next puts
 * its own return address where the node's was.
 */
#pragma once

#include "common.bpf.h"
#include "thread.bpf.h"

/* Whether a function with this stack pointer is called by the node that the thread entered last. */
static __always_inline bool backward_lasts(const struct gpt_thread_state *thread, __u64 sp)
{
	return call_lasts(sp, thread->backward_sp, thread->backward_return);
}

/* The stack for which a thread without Python frames works, 0: none. `state` is the result of walking its own stack. */
static __always_inline __u64 backward_stack(const struct gpt_thread_state *thread, __u64 sp, long state)
{
	if (!thread->backward_stack || (state != GPT_STACK_NO_THREAD && state != GPT_STACK_EMPTY))
		return 0;
	return backward_lasts(thread, sp) ? thread->backward_stack : 0;
}
