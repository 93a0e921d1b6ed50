/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The account of idle time: each nanosecond in which a GPU is idle is charged once, to a cause, to the line that is to
 * blame, and to the launch that ended the gap.  The report's table, profiles, --lines and `why` are sums of it, so they
 * agree to the nanosecond.
 *
 * A gap is charged to what the thread of the launch that ended it was doing meanwhile, the first of these that fits:
 * compiling; collecting garbage; importing; a CUDA call that does not return at once (it waits, copies, allocates); a
 * DataLoader; a collective of its process over gloo or MPI.  Where PyTorch's ops were not recorded, the frames of the
 * thread's next CUDA call may show that it came out of a DataLoader.  The rest, until the launch returned, is charged
 * to earlier calls in which that thread waited for the GPU, up to the time that they took outside of gaps: without the
 * wait it would have been ahead by that much.  What then remains is the price of a launch, where the gap and the kernel
 * after it are short, else Python.  What follows is the GPU's.
 *
 * With samples and waits of threads (--cpu, --off-cpu) the rest of the gap is divided by these first (idle_ran.h): the
 * line that ran, what the thread waited for, and what others did meanwhile that it waited for, as far as wake-ups lead.
 * What they do not explain is charged to earlier waits for the GPU as above, and what then remains is unknown.
 *
 * What compiled, and how long that took in gaps and elsewhere, is summed up beside it (compiles.h).
 *
 * Kept besides sums: what each thread did since a GPU last ended a gap (bounded, why_threads.h, idle_ran.h).
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "analyze/steps/step_blocks.h"
#include "analyze/why/causes.h"
#include "analyze/why/compiles.h"
#include "analyze/why/idle_ran.h"
#include "analyze/why/idle_steps.h"
#include "analyze/why/why_threads.h"
#include "model/steps/steps.h"

/* Whether the trace cannot say what is to blame for time of that cause. */
static inline bool idle_is_edge(enum why_cause cause)
{
	return cause == WHY_BEFORE || cause == WHY_AFTER;
}

struct idle_row {
	uint32_t line; /* the line to blame; NONE: the cause has none */
	/*
	 * who called it for most of its time: the innermost line of the user's own code, of a line of that code in
	 * another function, NONE; the number of different ones
	 */
	uint32_t user_line, user_lines;
	bool is_divided;      /* the line has other rows, of other callers */
	uint32_t launch_line; /* the line of the late launch; NONE as above */
	uint32_t process;     /* as in line_tally_row, of what is to blame */
	enum why_cause cause;
	enum why_cause inner;	/* idle_charge.inner */
	bool after;		/* the time is not in the call of that cause, but after it */
	uint32_t detail, extra; /* of the cause (enum why_cause); of WHY_PYTHON 0 */
	uint64_t ns, count;	/* of gaps, or parts of them */
};

struct idle_sum {
	uint64_t ns, count, longest_ns; /* count: parts of gaps */
	uint64_t gap, gap_ns;		/* the latest gap in which pieces were added, and their sum */
};

struct idle_device {
	uint32_t device;
	uint64_t first_ns, busy_until_ns;
	uint64_t began_ns; /* start of the latest operation */
};

/* A charge: what a part of a gap is charged to. */
struct idle_charge {
	struct tally_key what; /* why_key */
	bool after;	       /* idle_row.after */
	enum why_cause inner;  /* what the culprit did; the cause itself if no other thread is in between */
	uint32_t culprit; /* model.threads: the thread whose time it is; NONE: the launching thread, or not known */
	/* caller_place: where the launching thread waited for the culprit; after a call, what it ran then; NONE */
	uint32_t via;
	uint32_t launch_place; /* caller_place, NONE */
	uint32_t launch_pass;  /* call_pass, if the line to blame is that of the launch; PASS_FORWARD */
	uint32_t process;      /* model.processes: the process whose GPU work came late */
	uint32_t block;	       /* block of steps, STEP_BLOCK_NONE */
	bool looked_at;	       /* by `why`: it is in the steps, where there are some */
	bool outside;	       /* of the window: it counts only as what samples of gaps like it say */
	uint64_t ns, count;
};

/* A piece of the current gap: what a sample owns, or time that none owns. */
struct idle_piece {
	struct tally_key key;
	enum why_cause inner; /* as in idle_charging, like the next three */
	uint32_t culprit, via;
	bool once;
	uint32_t period_ns;   /* of the sample; 0: none */
	uint64_t ns, from_ns; /* from_ns: of time that no sample owns */
};

/* A part of a gap.  charge: a number for idle_charges_of. */
struct idle_part {
	uint64_t from_ns, to_ns;
	uint32_t charge;
	uint32_t thread; /* model.threads: the culprit, else the one whose launch came late; NONE: not known */
};

/*
 * Gets the parts of each gap once it is charged: by time, they do not overlap and together are the gap.  The gaps of a
 * device come in the order of time.
 */
typedef void idle_take_gap(void *context, uint32_t device, const struct idle_part *parts, size_t count);

struct idle {
	const struct model *model; /* the latest part */
	const struct window *window;
	struct window counted; /* the window; UINT64_MAX until the last event, where it has no end */
	struct window reach;   /* what is known: more than that around a slice */
	struct why_threads threads;
	struct ran_threads ran;
	struct compiles compiles;
	uint64_t gaps;		   /* charged so far; identifies the current gap */
	uint64_t gaps_from_ns;	   /* no gap that is still to be charged begins before this */
	struct tally device_index; /* device; numbered like devices */
	ARRAY(struct idle_device) devices;
	uint64_t from_ns, to_ns; /* of all steps together; 0, UINT64_MAX: there are none */
	uint64_t step_count;	 /* of all processes */
	ARRAY(uint8_t) names;	 /* by model.strings: kind of the op of that name, once looked up */
	struct tally kernels;	 /* process, name: launches */
	struct tally regions;	 /* process, name of an op: regions compiled by torch.compile */
	struct tally
		calls; /* why_key: calls that wait or allocate, in the time looked at; more: those without memory */
	struct tally whats, whose, likes, passes, charges; /* see idle_charge_made */
	ARRAY(struct idle_piece) sampled, unknown;	   /* of the current gap */
	ARRAY(uint32_t) pieces;				   /* by charge: the number of pieces in it */
	ARRAY(struct idle_part) parts;			   /* of the current gap, if take_gap wants them */
	idle_take_gap *take_gap;			   /* NULL: nobody wants parts */
	void *take_context;
	ARRAY(struct idle_charge) resolved;	       /* the final charges, when finished */
	ARRAY(uint32_t) resolved_from;		       /* by charge, and at the end: its first of these */
	struct idle_sum sums[WHY_CAUSES];	       /* of the time looked at */
	uint64_t looked_idle_ns;		       /* of the time looked at */
	uint64_t launch_kernel_ns, launch_interval_ns; /* of WHY_LAUNCH: kernel time; time from the start of the
							  operation before each to its own */
	uint64_t imports_before_ns;		       /* imports before the time looked at */
	bool has_ops;				       /* ops of PyTorch were recorded */
	struct step_blocks *blocks;		       /* NULL: no sums by block of steps */
	struct tally idle_blocks;		       /* block; ns: of looked_idle_ns */
	struct idle_steps steps;		       /* sums by step, where idle_steps_init got tables */

	uint64_t sum;	       /* idle time between operations */
	struct idle_row *rows; /* most time first, edges after the others */
	size_t count, edges;   /* number of all rows, and of edges */
};

/* steps: NULL where none were looked for; blocks: NULL, see idle.blocks.  Both must outlive the account. */
void idle_init(struct idle *idle, const struct model *model, const struct window *window, const struct steps *steps,
	       struct step_blocks *blocks);
void idle_free(struct idle *idle);
/*
 * The events are those of a trace around the window, of that time: gaps are charged as there, and cut to the window.
 * to_ns: where that ends, even if nothing happens up to there.
 */
void idle_begin_around(struct idle *idle, struct window reach, uint64_t to_ns);
void idle_add_call(struct idle *idle, const struct call_event *event);
void idle_add_gpu(struct idle *idle, const struct gpu_event *event);
void idle_add_jit(struct idle *idle, const struct jit_event *event);
void idle_add_span(struct idle *idle, const struct span_event *event);
void idle_add_op(struct idle *idle, const struct op_event *event);
void idle_add_sample(struct idle *idle, const struct sample_event *event);
void idle_add_await(struct idle *idle, const struct await_event *event);
void idle_add_wait(struct idle *idle, const struct wait_event *event);
void idle_finish(struct idle *idle, struct lines *lines);

/* How much of that time counts. */
static inline uint64_t idle_ns_inside(const struct idle *idle, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = from_ns > idle->counted.start_ns ? from_ns : idle->counted.start_ns;
	uint64_t to = to_ns < idle->counted.end_ns ? to_ns : idle->counted.end_ns;

	return to > from ? to - from : 0;
}

static inline bool idle_looks_at(const struct idle *idle, uint64_t time_ns)
{
	return time_ns >= idle->from_ns && time_ns < idle->to_ns;
}

/* The block of the step in which the operation was launched. */
uint32_t idle_block_of(const struct idle *idle, const struct gpu_event *event);

/* The charges, when finished; several may be of one cause, line and launch. */
static inline size_t idle_charge_count(const struct idle *idle)
{
	return idle->resolved.count;
}

static inline struct idle_charge idle_charge_at(const struct idle *idle, size_t index)
{
	return idle->resolved.items[index];
}

/*
 * What the parts of a charge were charged to in the end, when finished: the charges from *first on.  They are several
 * if no sample owns that time, and the samples of gaps like these divide it.
 */
static inline size_t idle_charges_of(const struct idle *idle, uint32_t charge, size_t *first)
{
	*first = idle->resolved_from.items[charge];
	return idle->resolved_from.items[charge + 1] - *first;
}

/* Whether that is by the samples of other gaps: no sample owns the time of the charge itself. */
bool idle_is_shared(const struct idle *idle, uint32_t charge);

/* Whether it is DATA, and the thread that was to load got no CPU. */
bool idle_charge_is_starved_data(const struct idle_charge *charge);

/* The process of the line that is charged: the culprit's; for unsampled time the one whose launching thread waited. */
static inline uint32_t idle_charge_process(const struct idle *idle, const struct idle_charge *charge)
{
	return charge->culprit == NONE || charge->inner == WHY_UNSAMPLED
		       ? charge->process
		       : idle->model->threads[charge->culprit].process;
}

/* The innermost frame of a place that is no library's, else the innermost frame; as a caller (callers.h). */
uint32_t idle_caller_of_place(struct idle *idle, uint32_t place);

/* The lines that the charge's row in the table has; `line` NONE: it has none. */
struct place_lines idle_lines_of_charge(struct lines *lines, const struct idle_charge *charge);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_IDLE(X)                                                                                               \
	X(IDLE, begin, begin_idle(all, event))                                                                         \
	X(IDLE, part, all->idle.model = event->part)                                                                   \
	X(IDLE, call, idle_add_call(&all->idle, event))                                                                \
	X(IDLE, crossing, add_idle_gpu(all, &event->gpu))                                                              \
	X(IDLE, gpu, add_idle_gpu(all, event))                                                                         \
	X(IDLE, jit, idle_add_jit(&all->idle, event))                                                                  \
	X(IDLE, span, idle_add_span(&all->idle, event))                                                                \
	X(IDLE, op, idle_add_op(&all->idle, event))                                                                    \
	X(IDLE, sample, idle_add_sample(&all->idle, event))                                                            \
	X(IDLE, await, idle_add_await(&all->idle, event))                                                              \
	X(IDLE, wait, idle_add_wait(&all->idle, event))                                                                \
	X(IDLE, finish, idle_finish(&all->idle, event->lines))                                                         \
	X(IDLE, free, idle_free(&all->idle))
