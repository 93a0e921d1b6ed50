/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What threads did (model.h): CPU samples taken by a timer (--cpu), and waits off the CPU (--off-cpu).  Both exist only
 * if the user asked for them, and only for followed processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/values.h>

#define MODEL_WAKER_NAME 16 /* bytes, with the NUL */

/* The thread had a CPU at that moment. */
struct model_sample {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t stack;	     /* of Python; model.stacks, NONE: see stack_state */
	uint32_t native;     /* the innermost function in user space; model.natives, NONE */
	uint32_t period_ns;  /* see sample_ns() */
	uint8_t stack_state; /* enum gpt_stack_state */
	uint8_t place;	     /* enum gpt_sample_place */
};

/* The CPU time that a sample stands for.  Samples of one trace may differ in it, so their number says nothing of time.
 */
static inline uint64_t sample_ns(const struct model_sample *sample)
{
	return sample->period_ns;
}

/*
 * The thread was off the CPU.  Waits of one thread do not overlap.  Sorted by end_ns: a wait belongs to the part in
 * which it ends, even if it began in an earlier one.
 */
struct model_wait {
	uint64_t start_ns;
	uint64_t woken_ns; /* runnable from then on, without a CPU; 0: not seen */
	uint64_t end_ns;
	uint64_t arg; /* a futex's address, else the file descriptor waited for; 0: none */
	uint32_t thread;
	uint32_t stack;	      /* of Python as it left the CPU; model.stacks, NONE: see stack_state */
	uint32_t native;      /* model.natives, NONE */
	uint32_t waker;	      /* the thread that woke it; model.threads, NONE: see woken_by */
	uint32_t waker_stack; /* the waker's Python stack at that time; model.stacks, NONE: see waker_stack_state */
	uint32_t waker_pid, waker_tid; /* set even if the waker's process is not followed; 0: no thread */
	uint32_t holder;	       /* GPT_WAIT_GIL: the thread that held the lock; model.threads, NONE: not known */
	int32_t syscall;	       /* -1: not in a system call */
	char waker_name[MODEL_WAKER_NAME]; /* ASCII, "": no thread */
	uint8_t reason;			   /* enum gpt_wait_reason */
	uint8_t woken_by;		   /* enum gpt_waker */
	uint8_t stack_state;		   /* enum gpt_stack_state */
	uint8_t waker_stack_state;
	bool open; /* it was still waiting when the recording ended */
};

/*
 * Where tasks of asyncio awaited, as read from outside in one wait of their loop's thread, which did not run from
 * time_ns to end_ns.  One for each stack of coroutines; those of one look have the same time_ns and thread.
 */
struct model_await {
	uint64_t time_ns, end_ns;
	uint32_t thread; /* that runs the loop */
	uint32_t stack;	 /* of coroutines; model.stacks, NONE: it was lost */
	uint32_t tasks;	 /* in this stack; they await something that is not a task */
	uint32_t all;	 /* in all stacks */
};

/* "GIL", "sleep" and so on. */
const char *wait_reason_name(enum gpt_wait_reason reason);

/* How long the thread was runnable without a CPU. */
static inline uint64_t wait_runnable_ns(const struct model_wait *wait)
{
	return wait->woken_ns && wait->woken_ns < wait->end_ns ? wait->end_ns - wait->woken_ns : 0;
}
