/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What threads ran (samples, --cpu) and waited for (--off-cpu), and how a part of a gap is divided by it:
 *
 *  - Between two waits a thread had a CPU.  Each sample there owns the time around it: up to the middle to the next
 *    sample, at most one period to either side, not beyond the waits and not beyond the gap; for the launching thread
 *    also not beyond calls, collections and whatever else is known without samples.
 *  - Time that no sample owns goes to the samples of its gap (idle_settle_gap), or of gaps like it (idle_resolve.c).
 *  - Where that time is longer than a period it remains unknown: a thread that has a CPU is sampled.
 *  - A wait that another thread ended (a lock, a pipe, a child's end, ...) is divided by what that thread did
 *    meanwhile, in the same way, through at most RAN_STEPS threads; a wait for the GIL by what the thread did that held
 *    it.  Other waits are the thread's own.  From when it was woken until it ran, it had no CPU.
 *
 *  - While asyncio's loop waits, its thread has only the loop's frames.  What its tasks await was read from outside in
 *    some of these waits (GPT_AWAIT).
 *
 * Bounded: the latest RAN_KEPT samples and waits of each thread, RAN_KEPT_ALL of all threads together.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/why/causes.h"
#include "base/array.h"

#define RAN_STEPS 8u
#define RAN_KEPT 16384u
#define RAN_KEPT_ALL (1u << 21)

struct ran_sample {
	uint64_t time_ns;
	uint32_t place;	 /* caller_place */
	uint32_t native; /* model.natives, NONE */
	uint32_t period_ns;
};

struct ran_wait {
	uint64_t start_ns, woken_ns, end_ns; /* woken_ns: end_ns if it is not known */
	uint32_t place;			     /* caller_place */
	uint32_t by;			     /* model.threads: the thread whose time it is; NONE: no known thread */
	uint32_t other; /* ran_others: an untraced program woke it; NONE: none, or more than RAN_OTHERS are known */
	uint8_t reason; /* enum gpt_wait_reason */
};

/* Where tasks of the thread's loop awaited, in a wait that it lies in. */
struct ran_await {
	uint64_t time_ns, end_ns;
	uint32_t place; /* model.stacks */
	uint32_t tasks;
};

struct ran_thread {
	ARRAY(struct ran_sample) samples; /* by time */
	ARRAY(struct ran_await) awaits;	  /* by time */
	ARRAY(struct ran_wait) waits;	  /* by time; they do not overlap */
	size_t forget_at;
	uint64_t from_ns; /* earlier events are not kept */
};

#define RAN_OTHERS 256u

/* A program whose processes are not traced and woke traced threads. */
struct ran_other {
	uint32_t pid; /* of the first of its processes */
	bool several; /* there were more */
	char name[MODEL_WAKER_NAME];
};

struct ran_threads {
	struct ran_thread **all; /* by model.threads; NULL: nothing is known of it */
	uint32_t count;
	size_t kept;	    /* samples and waits of all */
	bool samples;	    /* some came so far */
	bool waits;	    /* some came so far */
	uint32_t period_ns; /* the longest that a sample stands for */
	ARRAY(struct ran_other) others;
};

void ran_threads_init(struct ran_threads *ran, uint32_t thread_count);
void ran_threads_free(struct ran_threads *ran);

/* from_ns: no gap that is still to be charged begins before it. */
void ran_add_sample(struct ran_threads *ran, const struct model *model, const struct sample_event *event,
		    uint64_t from_ns);
void ran_add_wait(struct ran_threads *ran, const struct model *model, const struct wait_event *event, uint64_t from_ns);

/* Whether anything is known of what threads ran. */
static inline bool ran_is_known(const struct ran_threads *ran)
{
	return ran->samples || ran->waits;
}

void ran_add_await(struct ran_threads *ran, const struct await_event *event, uint64_t from_ns);

struct ran_awaited {
	uint32_t place; /* model.stacks; NONE: not known */
	bool alone;	/* all tasks that may be meant await there; false: most of them */
};

/*
 * Where tasks of a loop awaited in a wait of its thread.  Only those tasks count whose outermost coroutine is in
 * `next`, the stack (caller_place) of what the thread launched next; CALLER_UNSEEN: all count.
 */
struct ran_awaited ran_find_awaited(const struct ran_threads *ran, const struct model *model, uint32_t thread,
				    const struct ran_wait *wait, uint32_t next);

/* A piece of a thread's time, in order: of a sample, of a wait, or of neither if it is not known. */
struct ran_piece {
	uint64_t from_ns, to_ns;
	const struct ran_sample *sample;
	const struct ran_wait *wait;
	bool no_cpu; /* of the wait: the thread was woken, or was runnable all the time */
};

/* A part of a thread's time. */
struct ran_span {
	uint64_t from_ns, to_ns;
	uint64_t least_ns, most_ns; /* samples between these count; least_ns <= from_ns, most_ns >= to_ns */
};

typedef void ran_take(void *context, const struct ran_piece *piece);

/* Hands over the pieces of a part of a thread's time, which add up to it. */
void ran_divide(const struct ran_threads *ran, const struct model *model, uint32_t thread, const struct ran_span *span,
		ran_take *take, void *context);

/*
 * The place of a thread in a span in which it did something known: where it was sampled or left a CPU in the span; else
 * where at the nearest such time, less than a period away and in [least_ns, most_ns).  CALLER_UNSEEN: not known.
 */
uint32_t ran_nearest_place(const struct ran_threads *ran, uint32_t thread, const struct ran_span *span);

/*
 * The thread that had the GIL during a wait for it that a timer ended (CPython asks for it every 5 ms,
 * sys.setswitchinterval): the thread that handed it over in the end, as each thread that drops it wakes one that waits.
 * NONE: another thread got it meanwhile, or it is not known.
 */
uint32_t ran_gil_holder(const struct ran_threads *ran, const struct model *model, uint32_t thread,
			const struct ran_wait *wait);

/* Whether another thread ended the wait, so that it is that thread's time. */
bool ran_is_followed(const struct ran_wait *wait);
