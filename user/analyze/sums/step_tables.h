/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What steps of training did (model/steps/steps.h): wall time, how long the GPU was busy in it, launches; and the ops
 * of the slowest steps against those of the median one.  When each step begins and ends is known before the first
 * event, and so is which of them have rows: memory does not depend on how many steps there are.
 *
 * The GPU is busy in a step while any operation of the process runs, whenever that was launched.  Launches and ops
 * belong to the step in which they begin, on whatever thread of the process; of an op that goes on after it what lies
 * in it counts.
 */
#ifndef GPUTRACE_ANALYZE_STEP_TABLES_H
#define GPUTRACE_ANALYZE_STEP_TABLES_H

#include "analyze/events.h"
#include "analyze/sums/ops.h"
#include "model/steps/steps.h"

#define STEP_TABLES_MAX 4u  /* processes that have a table */
#define STEP_SLOWEST_MAX 5u /* rows of steps that are slower than the median one */
#define STEP_P99_MIN 100u   /* steps: of fewer no one is slower than 99 of 100 */
#define STEP_OPS_MAX 3u	    /* ops of a row */

/* How much longer an op took in a step than in the median one, without the ops inside of it. */
struct step_op {
	uint32_t name; /* model.strings, NONE: not known */
	bool on_gpu;   /* what it launched there; else on its thread, with the CUDA calls it made and their waits */
	uint64_t more_ns;
};

struct step_row {
	struct step step;
	uint64_t busy_ns, launches;
	struct ops_by_name ops;
	struct step_op more[STEP_OPS_MAX]; /* most first */
	size_t more_count;
};

struct step_table {
	const struct step_track *track;
	uint32_t process;
	const struct step *list; /* those that were seen from begin to end */
	size_t count;
	uint64_t wall_ns, busy_ns, launches; /* of all of these */
	uint64_t untimed;		     /* of the launches, those that should have GPU times and have none */
	struct step_row median;
	struct step_row slowest[STEP_SLOWEST_MAX + 1]; /* most wall time first; the last may be that of p99 */
	size_t slowest_count;
	size_t p99; /* which of them is as slow as 99 of 100 steps at most, SIZE_MAX: none */
	bool has_ops, has_gpu;

	size_t at; /* in the list: no event that is still to come begins before the end of the one before it */
	uint64_t busy_until_ns;
};

struct step_tables {
	ARRAY(struct step_table) list;
	uint32_t *of_process; /* 1 + index of its table, by model.processes; 0: none */
	size_t left_out;      /* processes beyond STEP_TABLES_MAX */
};

/*
 * Slots for sums by step that need one for each row, and not one for each step: slot 0 is of processes without a table,
 * then follow those of each table: of its rows, of its other steps, and of what is in no step.
 */
#define STEP_SLOT_MEDIAN (STEP_SLOWEST_MAX + 1u)
#define STEP_SLOT_OTHER (STEP_SLOT_MEDIAN + 1u)
#define STEP_SLOT_OUTSIDE (STEP_SLOT_OTHER + 1u)
#define STEP_SLOTS_OF_TABLE (STEP_SLOT_OUTSIDE + 1u)
#define STEP_SLOTS (1u + STEP_TABLES_MAX * STEP_SLOTS_OF_TABLE)

/* which: in slowest, or one of those above. */
static inline uint32_t step_slot(size_t table, size_t which)
{
	return (uint32_t)(1 + table * STEP_SLOTS_OF_TABLE + which);
}

/* Where a process is at a time, and until when (UINT64_MAX: to the end). */
struct step_place {
	uint32_t slot;
	uint64_t until_ns;
};

/* steps: NULL where none were looked for; they have to stay. */
void step_tables_init(struct step_tables *all, const struct steps *steps, const struct model *model);
void step_tables_begin_part(struct step_tables *all, const struct model *part);
void step_tables_free(struct step_tables *all);
void step_tables_add_call(struct step_tables *all, const struct call_event *event);
void step_tables_add_gpu(struct step_tables *all, const struct gpu_event *event);
void step_tables_add_op(struct step_tables *all, const struct op_event *event, uint32_t process);
void step_tables_finish(struct step_tables *all);

/* Known from step_tables_init on, for times in any order. */
struct step_place step_tables_at(const struct step_tables *all, uint32_t process, uint64_t time_ns);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_STEPS(X)                                                                                              \
	X(STEPS, begin, step_tables_init(&all->steps, all->has[ANALYZE_STEPS] ? event->steps : NULL, event->first))    \
	X(STEPS, part, step_tables_begin_part(&all->steps, event->part))                                               \
	X(STEPS, call, step_tables_add_call(&all->steps, event))                                                       \
	X(STEPS, gpu, step_tables_add_gpu(&all->steps, event))                                                         \
	X(STEPS, op, step_tables_add_op(&all->steps, event, all->model->threads[event->op->thread].process))           \
	X(STEPS, finish, step_tables_finish(&all->steps))                                                              \
	X(STEPS, free, step_tables_free(&all->steps))

#endif
