/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What steps of training did (model/steps/steps.h): wall time, GPU busy time, launches; and the ops of the slowest
 * steps against those of the median one.  The start and end of each step, and which steps have rows, are known before
 * the first event: memory does not depend on the number of steps.
 *
 * The GPU is busy in a step while any operation of the process runs, whenever that was launched.  Launches and ops
 * belong to the step in which they begin, on any thread of the process; an op that outlasts its step counts up to the
 * step's end.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/sums/ops.h"
#include "model/steps/steps.h"

#define STEP_TABLES_MAX 4u  /* processes that have a table */
#define STEP_SLOWEST_MAX 5u /* rows of steps that are slower than the median one */
#define STEP_OPS_MAX 3u	    /* ops of a row */

/* How much longer an op took in a step than in the median step, without the ops inside it. */
struct step_op {
	uint32_t name; /* model.strings, NONE: not known */
	bool on_gpu;   /* the work it launched; else time on its thread, including its CUDA calls and their waits */
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
	const struct step *list; /* steps seen from start to end */
	size_t count;
	uint64_t wall_ns, busy_ns, launches; /* of all steps in list */
	uint64_t untimed;		     /* launches that should have GPU times and have none */
	struct step_row median;
	struct step_row slowest[STEP_SLOWEST_MAX + 1]; /* most wall time first; the last may be the row of p99 */
	size_t slowest_count;
	size_t p99; /* index of the p99 step in slowest: one step in 100 is slower; SIZE_MAX: none */
	bool has_ops, has_gpu;

	size_t at; /* in list: no event that is still to come begins before the end of the step before it */
	uint64_t busy_until_ns;
};

struct step_tables {
	ARRAY(struct step_table) list;
	uint32_t *of_process; /* 1 + index of its table, by model.processes; 0: none */
	size_t left_out;      /* processes beyond STEP_TABLES_MAX */
};

/*
 * Slots for sums that are needed per row, not per step: slot 0 is for processes without a table; then each table has
 * slots for its rows, for its other steps, and for time in no step.
 */
#define STEP_SLOT_MEDIAN (STEP_SLOWEST_MAX + 1u)
#define STEP_SLOT_OTHER (STEP_SLOT_MEDIAN + 1u)
#define STEP_SLOT_OUTSIDE (STEP_SLOT_OTHER + 1u)
#define STEP_SLOTS_OF_TABLE (STEP_SLOT_OUTSIDE + 1u)
#define STEP_SLOTS (1u + STEP_TABLES_MAX * STEP_SLOTS_OF_TABLE)

/* which: an index in slowest, or one of those above. */
static inline uint32_t step_slot(size_t table, size_t which)
{
	return (uint32_t)(1 + table * STEP_SLOTS_OF_TABLE + which);
}

/* The slot of a process at a time, and until when it holds (UINT64_MAX: to the end). */
struct step_place {
	uint32_t slot;
	uint64_t until_ns;
};

/* steps: NULL where none were looked for; must outlive the tables. */
void step_tables_init(struct step_tables *all, const struct steps *steps, const struct model *model);
void step_tables_begin_part(struct step_tables *all, const struct model *part);
void step_tables_free(struct step_tables *all);
void step_tables_add_call(struct step_tables *all, const struct call_event *event);
void step_tables_add_gpu(struct step_tables *all, const struct gpu_event *event);
void step_tables_add_op(struct step_tables *all, const struct op_event *event, uint32_t process);
void step_tables_finish(struct step_tables *all);

/* Valid from step_tables_init on, for times in any order. */
struct step_place step_tables_at(const struct step_tables *all, uint32_t process, uint64_t time_ns);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_STEPS(X)                                                                                              \
	X(STEPS, begin, step_tables_init(&all->steps, all->has[ANALYZE_STEPS] ? event->steps : NULL, event->first))    \
	X(STEPS, part, step_tables_begin_part(&all->steps, event->part))                                               \
	X(STEPS, call, step_tables_add_call(&all->steps, event))                                                       \
	X(STEPS, gpu, step_tables_add_gpu(&all->steps, event))                                                         \
	X(STEPS, op, step_tables_add_op(&all->steps, event, all->model->threads[event->op->thread].process))           \
	X(STEPS, finish, step_tables_finish(&all->steps))                                                              \
	X(STEPS, free, step_tables_free(&all->steps))
