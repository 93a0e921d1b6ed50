/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why GPUs were idle: the time that was lost, each nanosecond of it charged to one cause.  Lost is
 *  - time in which a GPU idled between two of its operations (idle.h), and
 *  - time in which it only copied between host and device, and
 *  - time in which others kept it waiting (why_sharing.h): another process's work, the last rank of a collective.
 * Time before a GPU's first operation and after its last does not count.  If the trace has steps of training, only
 * these count: what happens until the first one, and in it, happens once.
 *
 * Gaps are those of the account of idle time (idle.h), with its causes; copies and time lost to others are added.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "analyze/why/culprits.h"
#include "analyze/why/idle.h"
#include "analyze/why/why_sharing.h"

/* A line of a loss, and the evidence for it. */
struct why_line {
	uint32_t line; /* the innermost line of the user's own code; NONE: the cause has none */
	uint32_t inner_line,
		inner_lines; /* the innermost line for most of its time, `line` or a library's; how many there are */
	uint32_t caller, callers; /* the caller of `line` (culprits.h) for most of its time, NONE; how many there are */
	uint32_t part;		  /* line_callers_part: tells lines of one `line` apart */
	bool is_divided;	  /* `line` is told apart by its callers */
	uint32_t stack;		  /* model.stacks: that of most of its time, NONE */
	uint32_t layer;	   /* model.modules: the innermost that was called, for most of its time; NONE: none is known */
	uint32_t layers;   /* how many there are, by name and class */
	uint64_t layer_ns; /* how much of ns is `layer`'s */
	uint32_t from_line; /* PYTHON, UNSAMPLED: the line of the CUDA call before, NONE */
	uint32_t detail, extra;
	uint32_t process; /* model.processes: the line's */
	uint64_t ns, count;
	uint64_t starved_ns;	    /* DATA: of ns, for how long the thread that was to load got no CPU */
	uint64_t after_ns;	    /* of ns: time after the calls (idle_row.after) */
	uint32_t ran_line;	    /* the line that ran or slept for most of after_ns, as far as it is known */
	uint64_t ran_ns;	    /* how long; 0: not known */
	uint64_t calls, calls_ns;   /* SYNC, ALLOC, CALL, COPY: all such calls of the line, and the time in them */
	uint64_t failed;	    /* ALLOC: calls for which there was no memory */
	uint64_t reads, read_bytes; /* SYNC: copies from the GPU by the line */
	uint64_t copies, copy_bytes, copy_ns,
		pageable; /* COPY, MANAGED: operations of the line; COPY: those with pageable memory */
};

struct why_loss {
	enum why_cause cause;
	uint64_t ns, count;  /* count: parts of gaps */
	uint64_t longest_ns; /* the longest part */
	uint32_t via_line;   /* the line where launching threads waited most for those to blame; NONE: they did not */
	uint64_t via_ns;     /* how long */
	struct why_line *lines; /* most first */
	size_t line_count;
};

struct why_device {
	uint32_t device;
	uint64_t work_until_ns;	       /* latest end of an operation that is no copy between host and device */
	uint64_t copy_ns, copy_end_ns; /* the rest of a copy, with nothing running beside it so far */
	struct tally_key copy_key;
	uint32_t copy_block; /* of steps */
	uint32_t copy_process;
	struct why_sharing sharing;
};

struct why {
	const struct model *model; /* the latest part */
	const struct window *window;
	struct idle *idle;	   /* gets events before it does */
	struct tally device_index; /* device; numbered like devices */
	ARRAY(struct why_device) devices;
	struct tally charges; /* place, cause and process (why_charge_key), detail, extra: time in no gap */
	struct tally reads;   /* place: copies from the device; more: bytes */
	struct tally copies;  /* why_key of WHY_COPY or WHY_MANAGED: copies; more: bytes */
	struct idle_sum sums[WHY_CAUSES];
	struct why_open_collectives *open_collectives; /* NULL: no collective so far */
	struct why_named named;			       /* those known by their kernels' names */
	uint64_t blocked_ns;			       /* time in which others kept GPUs waiting */
	bool any_gpu;
	uint32_t at_block;	/* block of the current charge, STEP_BLOCK_NONE */
	uint32_t at_process;	/* process whose loss it is */
	struct tally in_blocks; /* caller, cause, api of calls that wait or allocate (else NONE), block; with gaps when
				   finished */

	/* set when finished */
	uint64_t step_count; /* of all processes */
	uint64_t looked_ns, idle_ns, copy_alone_ns;
	uint64_t before_ns;		    /* until the first operation of any GPU */
	uint64_t lost_ns;		    /* idle_ns + copy_alone_ns + blocked_ns */
	struct line_callers callers;	    /* of the lines of all losses */
	struct why_loss losses[WHY_LOSSES]; /* most first; only those with time */
	size_t count;
};

/* idle: must get each event before why does. */
void why_init(struct why *why, const struct model *model, const struct window *window, struct idle *idle,
	      const struct comm_kernels *comm);
void why_free(struct why *why);
void why_add_gpu(struct why *why, const struct gpu_event *event);

/* What GPUs lose to others (why_sharing.h); gets operations around a slice, too, as idle does. */
void why_add_shared_gpu(struct why *why, const struct gpu_event *event);

void why_finish(struct why *why, struct lines *lines);

/* The line of a loss that a charge of the account is part of, without its figures; its cause is charge.what's. */
struct why_line why_line_of_charge(struct why *why, struct lines *lines, const struct idle_charge *charge);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_WHY(X)                                                                                                \
	X(WHY, begin, begin_why(all, event))                                                                           \
	X(WHY, part, all->why.model = event->part)                                                                     \
	X(WHY, crossing, why_add_gpu(&all->why, &event->gpu))                                                          \
	X(WHY, gpu, why_add_gpu(&all->why, event))                                                                     \
	X(WHY, finish, why_finish(&all->why, event->lines))                                                            \
	X(WHY, free, free_why(all))
