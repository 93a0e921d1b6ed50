/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which line lets a GPU idle.  A gap ends with an operation that some call launched:
 *  - the call came after the gap began: the CPU was late.  What its thread spent waiting in CUDA calls meanwhile is
 *    charged to the lines of those, the rest to the line of the launch;
 *  - the call came before: the GPU had the work and did not start it (launch latency, a dependency on another
 *    stream): charged to the line of the launch as the GPU's side.
 *
 * What is kept besides sums: of each thread the calls in which it can have waited since the device that has been idle
 * longest ended its last operation.
 */
#ifndef GPUTRACE_ANALYZE_IDLE_H
#define GPUTRACE_ANALYZE_IDLE_H

#include "analyze/events.h"
#include "analyze/lines.h"

enum idle_cause {
	IDLE_LATE,
	IDLE_WAITED, /* in a call of the row's api */
	IDLE_GPU,
	IDLE_SHORT,  /* gaps of less than 5 us; this and what follows has no line */
	IDLE_BEFORE, /* before the first operation of a device */
	IDLE_AFTER,  /* after its last */
};

/* Time about which the trace cannot say who is to blame. */
static inline bool idle_is_edge(uint32_t cause)
{
	return cause == IDLE_BEFORE || cause == IDLE_AFTER;
}

struct idle_row {
	uint32_t line;			/* NONE: the cause has none */
	uint32_t process;		/* as line_tally_row's */
	uint32_t user_line, user_lines; /* as line_tally_row's */
	uint32_t cause;			/* enum idle_cause */
	uint16_t api;
	uint64_t ns, count; /* of gaps, or parts of them */
};

/* A call in which its thread can stay while the GPU runs dry. */
struct idle_wait {
	uint64_t start_ns, end_ns;
	uint64_t next_ns; /* begin of the thread's next call, UINT64_MAX: none yet */
	uint32_t place;	  /* caller_place */
	uint16_t api;
};

struct idle_thread {
	ARRAY(struct idle_wait) waits;
	size_t forget_at; /* at this count those are dropped that are not needed any more */
};

struct idle {
	const struct model *model; /* the latest part */
	const struct window *window;
	struct idle_thread *threads; /* by model.threads */
	uint32_t thread_count;
	struct tally causes;   /* caller_place, cause, api, process; NONE: of no one */
	struct tally devices;  /* device; ns: busy until */
	uint64_t sum;	       /* between operations */
	struct idle_row *rows; /* most time first, edges after the others */
	size_t count, edges;   /* all rows; those that are edges */
};

void idle_init(struct idle *idle, const struct model *model, const struct window *window);
void idle_free(struct idle *idle);
void idle_begin_part(struct idle *idle, const struct model *part);
void idle_add_call(struct idle *idle, const struct call_event *event);
void idle_add_gpu(struct idle *idle, const struct gpu_event *event);
void idle_finish(struct idle *idle, struct lines *lines);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_IDLE(X)                                                                                               \
	X(IDLE, begin, idle_init(&all->idle, event->first, &all->window))                                              \
	X(IDLE, part, idle_begin_part(&all->idle, event->part))                                                        \
	X(IDLE, call, idle_add_call(&all->idle, event))                                                                \
	X(IDLE, gpu, idle_add_gpu(&all->idle, event))                                                                  \
	X(IDLE, finish, idle_finish(&all->idle, event->lines))                                                         \
	X(IDLE, free, idle_free(&all->idle))

#endif
