/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What GPUs did with their time: each nanosecond is computation, exposed communication (communication beside no
 * computation), an exposed copy (a memcpy or memset beside neither) or idle.  By GPU, by process on a GPU, by step and
 * by Python line.  Parts are exact and sum up to the whole.
 *
 * By GPU and by line the work of all processes on the GPU counts together: communication of one process beside
 * computation of another is not exposed.  By process and by step only the process's own work counts.
 *
 * Only time in the recording counts.  In a slice the work that began before it counts from the slice's start on.
 */
#pragma once

#include "analyze/breakdown/sweep.h"
#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "analyze/steps/step_tables.h"
#include "base/tally.h"
#include "model/comm_kernels.h"

/* Of the span, what is not in the first three is idle. */
struct breakdown_sums {
	uint64_t computation_ns, exposed_communication_ns, exposed_copies_ns;
	uint64_t communication_ns, copies_ns; /* all of it, what ran beside other work, too */
	uint64_t first_ns, last_ns;	      /* start of the first piece, end of the last */
};

static inline uint64_t breakdown_busy_ns(const struct breakdown_sums *sums)
{
	return sums->computation_ns + sums->exposed_communication_ns + sums->exposed_copies_ns;
}

static inline uint64_t breakdown_idle_ns(const struct breakdown_sums *sums, uint64_t span_ns)
{
	uint64_t busy_ns = breakdown_busy_ns(sums);

	return span_ns > busy_ns ? span_ns - busy_ns : 0;
}

/* Communication that ran beside computation, which HTA calls overlap. */
static inline uint64_t breakdown_overlap_ns(const struct breakdown_sums *sums)
{
	return sums->communication_ns - sums->exposed_communication_ns;
}

/* Not the bounds, which are each GPU's own. */
void breakdown_sums_add(struct breakdown_sums *to, const struct breakdown_sums *from);

/* A GPU, or a process on a GPU. */
struct breakdown_row {
	uint32_t device;  /* model_device.id */
	uint32_t process; /* model.processes; NONE: the work of all of them */
	struct breakdown_sums sums;
};

struct breakdown_line {
	uint32_t line;
	uint32_t process;		/* index, PROCESS_MANY */
	uint32_t user_line, user_lines; /* as in line_tally_row */
	uint32_t name;			/* model.strings: the communication kernel with most of its time, NONE */
	uint64_t computation_ns, exposed_communication_ns, exposed_copies_ns;
	uint64_t communication_ns; /* all in which a kernel of the line began first of those that communicate */
};

struct breakdown_track {
	struct sweep sweep;
	struct breakdown_row row;
};

struct breakdown {
	const struct model *model; /* the latest part */
	const struct window *window;
	const struct step_tables *steps; /* NULL: no sums by step */
	struct comm_names comm_names;
	struct tally numbers; /* device, process (NONE: all); numbered like tracks */
	ARRAY(struct breakdown_track *) tracks;
	struct breakdown_sums *slots;	     /* by step slot (step_tables.h); NULL without steps */
	uint32_t step_gpus[STEP_TABLES_MAX]; /* by table: GPUs that its process used */
	struct tally places; /* caller_place, process, name of a communication kernel or NONE, enum place_part */

	/* when finished */
	ARRAY(struct breakdown_row) gpus, processes; /* by device; by process and device */
	ARRAY(struct breakdown_line) lines;	     /* most exposed communication first, then most time */
	struct breakdown_sums all;		     /* of all GPUs */
};

/*
 * steps: NULL, or set up before; comm: the user's names of communication kernels, or NULL.  All must outlive the
 * breakdown.
 */
void breakdown_init(struct breakdown *all, const struct model *model, const struct window *window,
		    const struct step_tables *steps, const struct comm_kernels *comm);
void breakdown_free(struct breakdown *all);
void breakdown_add_gpu(struct breakdown *all, const struct gpu_event *event);
/* A GPU of the recording has a row as in utilization.h, also where its work is outside of the window. */
void breakdown_add_device(struct breakdown *all, uint32_t device);
void breakdown_finish(struct breakdown *all, struct lines *lines);

/* The sums of a slot, and of all steps of a table: of all GPUs that the process used. */
struct breakdown_sums breakdown_of_slot(const struct breakdown *all, uint32_t slot);
struct breakdown_sums breakdown_of_steps(const struct breakdown *all, size_t table);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_BREAKDOWN(X)                                                                                          \
	X(BREAKDOWN, begin,                                                                                            \
	  breakdown_init(&all->breakdown, event->first, &all->window,                                                  \
			 all->has[ANALYZE_STEPS] && event->steps ? &all->steps : NULL, all->comm_names))               \
	X(BREAKDOWN, part, all->breakdown.model = event->part)                                                         \
	X(BREAKDOWN, crossing, breakdown_add_gpu(&all->breakdown, &event->gpu))                                        \
	X(BREAKDOWN, gpu, breakdown_add_gpu(&all->breakdown, event))                                                   \
	X(BREAKDOWN, finish, breakdown_finish(&all->breakdown, event->lines))                                          \
	X(BREAKDOWN, free, breakdown_free(&all->breakdown))
