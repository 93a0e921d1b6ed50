/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which steps of training are recorded (--schedule).  Steps are counted here, on the thread of the program that makes
 * them, by what torch.profiler and optimizers tell of themselves as ops, or by backward passes; so a step is recorded
 * from its first op on.
 * Between the cycles all parts of the agent rest: ops are not observed but for those that tell of steps, events of
 * allocators are passed on, CUPTI records nothing and reports no calls.
 */
#ifndef GPUTRACE_AGENT_SCHEDULE_H
#define GPUTRACE_AGENT_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"

/* enum schedule_rest of this moment: read by whoever may have to rest, written here alone. */
extern _Atomic uint32_t schedule_resting;

/* Everything but the sight of steps rests. */
static inline bool schedule_rests(void)
{
	return atomic_load_explicit(&schedule_resting, memory_order_relaxed) != 0;
}

/* The same for CUPTI's part, which may be there before the session of ops: it rests until that has begun, too. */
bool schedule_cupti_rests(void);

/* ---- the session of ops ---- */

/* At its begin; false: there is no schedule. wake: has the step told soon, on any thread. */
bool schedule_begin(void (*wake)(void));
void schedule_end(void);

/* Another gputrace has come, which wants everything. */
void schedule_share(void);

/* Tells what there is to be told; true: at once, please. */
bool schedule_send(struct batch *batch);

/* In the child of a fork. */
void schedule_forked(void);

/* ---- ops, on threads of the program ---- */

/* An op of a name that the program gave begins or ends; true: what rests has changed. */
bool schedule_op_begins(const void *op, const char *name, uint32_t tid);
bool schedule_op_ends(const void *op, uint32_t tid);

/*
 * A backward pass begins or ends; mark: on the thread's stack, a number that no other pass has, for as long as the pass
 * goes on.  By it passes inside of one are known, and one that ended with an exception.  True: what rests has changed.
 */
bool schedule_pass_begins(const volatile uint64_t *mark, uint32_t tid);
bool schedule_pass_ends(const volatile uint64_t *mark, uint32_t tid);

/* Of the session of ops: steps are told by backward passes. */
bool schedule_wants_passes(void);

/* Ops need not be seen while all rests: none tells of a step, or all cycles are over. */
bool schedule_needs_no_ops(void);

/* ---- the session of CUPTI ---- */

/* There is one, and what to call when the rest begins or ends; NULL: no more. */
void schedule_watch_cupti(void (*wake)(void));

/* It does as schedule_cupti_rests said. */
void schedule_cupti_follows(bool rests);

#endif
