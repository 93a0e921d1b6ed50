/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why GPUs stood still: time that was lost, each nanosecond of it put on one cause.  Lost is
 *  - what a GPU idled between two of its operations (idle.h), and
 *  - when it did nothing but copy between host and device, and
 *  - what others kept it from (why_shared.h): another process's work, the last rank of a collective.
 * Time before a GPU's first operation and after its last is not looked at; and where the trace has steps of training,
 * only they are: what happens until the first one, and in it, happens once.
 *
 * Gaps are those of the account of idle time (idle.h), with its causes; copies and what others keep GPUs from are
 * added.
 */
#ifndef GPUTRACE_ANALYZE_WHY_H
#define GPUTRACE_ANALYZE_WHY_H

#include "analyze/events.h"
#include "analyze/lines.h"
#include "analyze/why/idle.h"
#include "analyze/why/why_shared.h"

/* A line, or what else there is of a cause. */
struct why_line {
	uint32_t line;	    /* NONE: the cause has none */
	uint32_t from_line; /* PYTHON: of the CUDA call before, NONE */
	uint32_t detail, extra;
	uint32_t process; /* model.processes: whose GPU work came late */
	uint64_t ns, count;
	uint64_t after_ns; /* of ns: time after the calls (idle_row.after) */
	uint64_t calls,
		calls_ns; /* SYNC, ALLOC, CALL, COPY: all such calls of the line, and how long it stood in them */
	uint64_t failed;  /* ALLOC: of them */
	uint64_t reads, read_bytes;			/* SYNC: copies from the GPU that the line made */
	uint64_t copies, copy_bytes, copy_ns, pageable; /* COPY: operations of the line; with pageable memory */
};

struct why_loss {
	enum why_cause cause;
	uint64_t ns, count;  /* of parts of gaps */
	uint64_t longest_ns; /* of them */
	uint32_t via_line;   /* where threads that launch waited most for those that are to blame; NONE: they did not */
	struct why_line *lines; /* most first */
	size_t line_count;
};

struct why_device {
	uint32_t device;
	uint64_t first_ns, busy_until_ns;
	uint64_t work_until_ns;	       /* of operations that are no copies between host and device */
	uint64_t copy_ns, copy_end_ns; /* what is left of a copy that nothing ran beside so far */
	struct tally_key copy_key;
	uint32_t copy_block; /* of steps */
	uint32_t copy_process;
	struct why_sharing sharing;
};

struct why {
	const struct model *model; /* the latest part */
	const struct window *window;
	struct idle *idle;	   /* fed before it */
	struct tally device_index; /* device; in the order of devices */
	ARRAY(struct why_device) devices;
	struct tally charges; /* place, cause and process (why_charge_key), detail, extra: of what is in no gap */
	struct tally reads;   /* place: copies from the device; more: bytes */
	struct tally copies;  /* place, detail of WHY_COPY: copies of both ways; more: bytes */
	struct idle_sum sums[WHY_CAUSES];
	struct why_open_collectives *open_collectives; /* NULL: no collective so far */
	uint64_t blocked_ns;			       /* what others kept GPUs from */
	bool any_gpu;
	uint32_t at_block;	/* that of what is charged, STEP_BLOCK_NONE */
	uint32_t at_process;	/* whose loss it is */
	struct tally in_blocks; /* caller, cause, api of calls that wait or allocate (else NONE), block; with gaps when
				   it is finished */

	/* when it is finished */
	uint64_t step_count; /* of all processes */
	uint64_t looked_ns, idle_ns, copy_alone_ns;
	uint64_t before_ns;		    /* until the first operation of any GPU */
	uint64_t lost_ns;		    /* idle_ns + copy_alone_ns + blocked_ns */
	struct why_loss losses[WHY_LOSSES]; /* most first, none without time */
	size_t count;
};

/* idle: gets each event before it does. */
void why_init(struct why *why, const struct model *model, const struct window *window, struct idle *idle);
void why_begin_part(struct why *why, const struct model *part);
void why_free(struct why *why);
void why_add_gpu(struct why *why, const struct gpu_event *event);

void why_finish(struct why *why, struct lines *lines);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_WHY(X)                                                                                                \
	X(WHY, begin, begin_why(all, event))                                                                           \
	X(WHY, part, begin_part_of_why(all, event->part))                                                              \
	X(WHY, gpu, why_add_gpu(&all->why, event))                                                                     \
	X(WHY, finish, why_finish(&all->why, event->lines))                                                            \
	X(WHY, free, free_why(all))

#endif
