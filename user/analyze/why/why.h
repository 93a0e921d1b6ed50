/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why GPUs stood still: time that was lost, each nanosecond of it put on one cause.  Lost is
 *  - what a GPU idled between two of its operations (the same gaps as idle.h), and
 *  - when it did nothing but copy between host and device, and
 *  - what others kept it from (why_shared.h): another process's work, the last rank of a collective.
 * Time before a GPU's first operation and after its last is not looked at; and where the trace has steps of training,
 * only they are: what happens until the first one, and in it, happens once.
 *
 * A gap is put on what the thread of the launch that ended it was doing meanwhile, the first of these that fits:
 * compiling; collecting garbage; importing; in a CUDA call that does not return at once (it waits, copies, allocates);
 * in a DataLoader; or while a collective of its process went on over gloo or MPI.  What PyTorch's ops do not tell of
 * that, as they were not recorded, the frames of the thread's next CUDA call may: it came out of the DataLoader.  Of
 * what is left as much is put on earlier calls in which that thread waited for the GPU as they took: had it not waited,
 * it would have been ahead by that.  What then is left is the price of a launch, where the gap and the kernel after it
 * are short, else Python.
 *
 * What is kept besides sums: of each thread what it did since a GPU last ended a gap (bounded, why_threads.h).
 */
#ifndef GPUTRACE_ANALYZE_WHY_H
#define GPUTRACE_ANALYZE_WHY_H

#include "analyze/events.h"
#include "analyze/lines.h"
#include "analyze/sums/step_blocks.h"
#include "analyze/why/why_shared.h"
#include "analyze/why/why_threads.h"
#include "model/steps/steps.h"

/* Losses, then what is no one's.  detail, extra: parts of their keys. */
enum why_cause {
	WHY_PYTHON,  /* between two CUDA calls; detail: caller of the one before, CALLER_UNSEEN */
	WHY_DATA,    /* a DataLoader's next; detail: name of the op (model.strings), extra: enum why_seen_by */
	WHY_SYNC,    /* a call that waits; detail: api, extra: name of the outermost op it was in, NONE */
	WHY_LAUNCH,  /* kernels shorter than their launches */
	WHY_ALLOC,   /* memory of CUDA; detail: api */
	WHY_CALL,    /* another call that takes long; detail: api */
	WHY_IMPORT,  /* detail: name of the module */
	WHY_GC,	     /* detail: generation */
	WHY_COMPILE, /* detail: enum why_compile, extra: api or name of the op */
	WHY_COPY,    /* between host and device, alone, or a call that waited for it; detail: copy kind and memory */
	WHY_PROCESS, /* launched, while another process's work ran; detail: which (model.processes) */
	WHY_RANK, /* ranks waited for the last one in a collective; detail: that rank, extra: params of the collective
		   */
	WHY_PEER, /* a collective of PyTorch's on the CPU had not ended; detail: name of the op */
	WHY_LOSSES,
	WHY_GPU = WHY_LOSSES, /* the launch was made before the gap */
	WHY_UNSEEN,	      /* the launch was not seen */
	WHY_SHORT,	      /* gaps of less than 5 us that are not the price of a launch */
	WHY_CAUSES,
};

/* How a DataLoader is known. */
enum why_seen_by {
	WHY_SEEN_BY_OP,
	WHY_SEEN_BY_FRAMES, /* of the CUDA call that came next; detail: its function (model.codes) */
};

enum why_compile {
	WHY_COMPILE_JIT,    /* the driver */
	WHY_COMPILE_MODULE, /* code is loaded */
	WHY_COMPILE_TORCH,  /* torch.compile */
};

/* A line, or what else there is of a cause. */
struct why_line {
	uint32_t line;	    /* NONE: the cause has none */
	uint32_t from_line; /* PYTHON: of the CUDA call before, NONE */
	uint32_t detail, extra;
	uint32_t process; /* model.processes: whose GPU work came late */
	uint64_t ns, count;
	uint64_t calls,
		calls_ns; /* SYNC, ALLOC, CALL, COPY: all such calls of the line, and how long it stood in them */
	uint64_t failed;  /* ALLOC: of them */
	uint64_t reads, read_bytes;			/* SYNC: copies from the GPU that the line made */
	uint64_t copies, copy_bytes, copy_ns, pageable; /* COPY: operations of the line; with pageable memory */
};

struct why_loss {
	enum why_cause cause;
	uint64_t ns, count;	/* of parts of gaps */
	uint64_t longest_ns;	/* of them */
	uint64_t in_steps_ns;	/* of ns */
	struct why_line *lines; /* most first */
	size_t line_count;
};

struct why_sum {
	uint64_t ns, count, longest_ns;
};

struct why_device {
	uint32_t device;
	uint64_t first_ns, busy_until_ns;
	uint64_t began_ns;	       /* the latest operation */
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
	struct why_threads threads;
	struct tally device_index; /* device; in the order of devices */
	ARRAY(struct why_device) devices;
	uint64_t from_ns, to_ns; /* of all steps together; 0, UINT64_MAX: there are none */
	uint64_t step_count;	 /* of all processes */
	ARRAY(uint8_t) names;	 /* by model.strings: what an op of that name is, once asked for */
	struct tally charges;	 /* caller, cause and process (why_charge_key), detail, extra */
	struct tally calls;	 /* caller, cause, detail, extra: calls that wait or allocate; more: failed */
	struct tally regions;	 /* process, name of an op: regions that torch.compile made */
	struct tally reads;	 /* caller: copies from the device; more: bytes */
	struct tally copies;	 /* caller, detail of WHY_COPY: copies of both ways; more: bytes */
	struct why_sum sums[WHY_CAUSES];
	struct why_open_collectives *open_collectives; /* NULL: no collective so far */
	uint64_t blocked_ns;			       /* what others kept GPUs from */
	uint64_t launch_kernel_ns, launch_interval_ns; /* of WHY_LAUNCH: kernels; from the operation before to each */
	uint64_t imports_before_ns;		       /* of before_ns */
	bool any_gpu;
	bool has_ops; /* ops of PyTorch were recorded */

	struct step_blocks *blocks; /* NULL: sums by block of steps are not wanted */
	uint32_t at_block;	    /* that of what is charged, STEP_BLOCK_NONE */
	uint32_t at_process;	    /* whose loss it is */
	struct tally in_blocks;	    /* caller, cause, api of calls that wait or allocate (else NONE), block */
	struct tally idle_blocks;   /* block: of idle_ns */

	/* when it is finished */
	uint64_t looked_ns, idle_ns, copy_alone_ns;
	uint64_t before_ns;		    /* until the first operation of any GPU */
	uint64_t lost_ns;		    /* idle_ns + copy_alone_ns + blocked_ns */
	struct why_loss losses[WHY_LOSSES]; /* most first, none without time */
	size_t count;
};

/* How a copy's kind and memory are one number, and back. */
static inline uint32_t why_copy_detail(const struct model_gpu *op)
{
	return (uint32_t)op->memcpy_kind | (uint32_t)op->from << 8 | (uint32_t)op->to << 16;
}

/* steps: NULL where none were looked for; blocks: NULL, see there.  Both have to stay. */
void why_init(struct why *why, const struct model *model, const struct window *window, const struct steps *steps,
	      struct step_blocks *blocks);
void why_begin_part(struct why *why, const struct model *part);
void why_free(struct why *why);
void why_add_call(struct why *why, const struct call_event *event);
void why_add_gpu(struct why *why, const struct gpu_event *event);
void why_add_jit(struct why *why, const struct jit_event *event);
void why_add_span(struct why *why, const struct span_event *event);
void why_add_op(struct why *why, const struct op_event *event);

void why_finish(struct why *why, struct lines *lines);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_WHY(X)                                                                                                \
	X(WHY, begin, begin_why(all, event))                                                                           \
	X(WHY, part, begin_part_of_why(all, event->part))                                                              \
	X(WHY, call, why_add_call(&all->why, event))                                                                   \
	X(WHY, gpu, why_add_gpu(&all->why, event))                                                                     \
	X(WHY, jit, why_add_jit(&all->why, event))                                                                     \
	X(WHY, span, why_add_span(&all->why, event))                                                                   \
	X(WHY, op, why_add_op(&all->why, event))                                                                       \
	X(WHY, finish, why_finish(&all->why, event->lines))                                                            \
	X(WHY, free, free_why(all))

#endif
