/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which steps of training are recorded (--schedule). Steps are counted here, on the program's thread that runs them, by
 * the ops of torch.profiler and of optimizers, or by backward passes; so a step is recorded from its first op on.
 * Between the cycles all parts of the agent rest: only ops that mark steps are observed, events of allocators are
 * passed on unrecorded, CUPTI records nothing and reports no calls.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"

/* The current enum schedule_rest: read by every part that can rest, written only in schedule.c. */
extern _Atomic uint32_t schedule_resting;

/* Everything but the counting of steps rests. */
static inline bool schedule_rests(void)
{
	return atomic_load_explicit(&schedule_resting, memory_order_relaxed) != 0;
}

/* The same for CUPTI's part, which also rests until the session of ops has started.  turn: for schedule_cupti_follows.
 */
bool schedule_cupti_rests(uint32_t *turn);

/* ---- the session of ops ---- */

/* At its start; false: there is no schedule. wake: called on any thread to have a step sent soon. */
bool schedule_begin(void (*wake)(void));
void schedule_end(void); /* also where there was none */

/* Another gputrace has come, which wants everything. */
void schedule_share(void);

/* Sends the schedule and the pending steps; true: there were some, flush the batch now. */
bool schedule_send(struct batch *batch);

/* In the child of a fork. */
void schedule_forked(void);

/* ---- ops, on threads of the program ---- */

/* An op with a name given by the program begins or ends; true: what rests has changed. */
bool schedule_op_begins(const void *op, const char *name, uint32_t tid);
bool schedule_op_ends(const void *op, uint32_t tid);

/*
 * A backward pass begins or ends. mark: a unique number on the thread's stack, valid while the pass runs. It shows
 * nested passes, and passes that ended with an exception. True: what rests has changed.
 */
bool schedule_pass_begins(const volatile uint64_t *mark, uint32_t tid);
bool schedule_pass_ends(const volatile uint64_t *mark, uint32_t tid);

/*
 * The program calls cudaProfilerStart or cudaProfilerStop (--capture-range), on any thread. A start inside a range and
 * a stop outside one change nothing. True: what rests has changed.
 */
bool schedule_capture(bool starts, uint32_t tid);

/* True if steps are the ranges of these calls. */
bool schedule_is_capture(void);

/* The session of ops counts steps by backward passes. */
bool schedule_wants_passes(void);

/* True if no op must be observed during rest: no op marks a step, or all cycles are over. */
bool schedule_needs_no_ops(void);

/* ---- the session of CUPTI ---- */

/* Such a session begins; wake is called when the rest starts or ends. NULL: the session has ended. */
void schedule_watch_cupti(void (*wake)(void));

/* The session now follows the result of schedule_cupti_rests of that turn, which may be outdated by now. */
void schedule_cupti_follows(bool rests, uint32_t turn);
