/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time that threads were off the CPU (--off-cpu), by Python line, reason and waker.  A wait is in two sums: until it
 * was woken, for its reason; and from then on, while the thread was runnable and had no CPU.  So sums are exact.
 */
#pragma once

#include "analyze/events/line_tally.h"

/* In place of a reason: the thread was woken, and runnable. */
#define OFF_CPU_RUNNABLE GPT_WAIT_REASONS

/*
 * The numbers of a row: its reason (enum gpt_wait_reason, OFF_CPU_RUNNABLE), and its waker: a line, a name
 * (off_cpu.names, by the bits below), or one of these.
 */
#define OFF_CPU_WAKER_NAME 0x80000000u
#define OFF_CPU_WAKER_INTERRUPT (NONE - 1)
#define OFF_CPU_WAKER_UNKNOWN NONE

#define OFF_CPU_NAMES_MAX 256u /* distinct names of threads that woke others; further ones share the last */

struct off_cpu_name {
	char text[MODEL_WAKER_NAME];
};

struct off_cpu {
	const struct model *model; /* the latest part */
	struct tally sums;	   /* caller_place, reason, index in wakers, process */
	struct tally wakers;	   /* enum gpt_waker, caller or index in names */
	ARRAY(struct off_cpu_name) names;
	uint64_t ns;
	uint32_t process;	     /* of all; NONE, PROCESS_MANY */
	struct line_tally_row *rows; /* most time first */
	size_t count;
};

void off_cpu_free(struct off_cpu *off);
void off_cpu_add_wait(struct off_cpu *off, const struct wait_event *event);
void off_cpu_finish(struct off_cpu *off, struct lines *lines);

/* "GIL", "sleep", "no CPU (runnable)"; by the first number of a row. */
const char *off_cpu_reason(uint32_t reason);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_OFF_CPU(X)                                                                                            \
	X(OFF_CPU, begin, all->off_cpu = ((struct off_cpu){.model = event->first, .process = NONE}))                   \
	X(OFF_CPU, part, all->off_cpu.model = event->part)                                                             \
	X(OFF_CPU, wait, off_cpu_add_wait(&all->off_cpu, event))                                                       \
	X(OFF_CPU, finish, off_cpu_finish(&all->off_cpu, event->lines))                                                \
	X(OFF_CPU, free, off_cpu_free(&all->off_cpu))
