/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs lose time to (why.h), and the causes that parts of a gap are charged to. */
#ifndef GPUTRACE_ANALYZE_CAUSES_H
#define GPUTRACE_ANALYZE_CAUSES_H

#include "analyze/why/why_awaited.h"
#include "base/tally.h"
#include "model/model.h"

/* Losses first, then time for which no line is to blame.  detail, extra: parts of their keys. */
enum why_cause {
	WHY_PYTHON,  /* between two CUDA calls of a thread that runs Python, without samples; detail: place of the first
			of them, CALLER_UNSEEN */
	WHY_PROGRAM, /* the same for a thread that runs no Python */
	WHY_RAN,     /* a sampled line of Python; detail: native function (model.strings), NONE */
	WHY_NATIVE,  /* the same without Python */
	WHY_LOCK, /* from here to WHY_WAIT: detail: enum gpt_wait_reason, extra: ran_others, NONE; if another thread was
		     waited for, they say what that thread did (idle_charge.inner) */
	WHY_ITEM, /* a lock of a queue: an item is waited for */
	WHY_RESULT,
	WHY_NOTICE, /* threading.Event, Condition */
	WHY_GIL,
	WHY_REQUEST, /* no traced thread had work for it */
	WHY_PIPE,    /* or a socket, an event, a poll of several */
	WHY_CHILD,
	WHY_SLEEP,
	WHY_DISK,
	WHY_FAULT,
	WHY_NO_CPU,
	WHY_WAIT,    /* the reason is not known */
	WHY_DATA,    /* a DataLoader's next; detail: name of the op (model.strings), extra: why_data_extra */
	WHY_SYNC,    /* a call that waits; detail: api, extra: name of the outermost op around it, NONE */
	WHY_LAUNCH,  /* kernels shorter than their launches */
	WHY_ALLOC,   /* CUDA allocates or frees memory; detail: api */
	WHY_CALL,    /* another call that takes long; detail: api */
	WHY_IMPORT,  /* detail: name of the module; extra: 0: the place is the import's own, NONE: the next launch's */
	WHY_GC,	     /* detail: generation; extra: as for WHY_IMPORT */
	WHY_COMPILE, /* detail: enum why_compile, extra: api or name */
	WHY_COPY, /* a copy between host and device, alone, or a call that waited for one; detail: copy kind and memory
		   */
	WHY_MANAGED, /* a copy of managed memory by the driver, alone, or the gap before it; detail: why_managed_detail
		      */
	WHY_PROCESS, /* work waited while another process's work ran; detail: that process (model.processes) */
	WHY_RANK, /* ranks waited for the last one in a collective; detail: that rank, extra: the collective's params */
	WHY_PEER, /* a collective of PyTorch on the CPU was not over; detail: name of the op */
	WHY_UNSAMPLED, /* the thread had a CPU, or was not seen to lose it, and no sample shows what it ran; extra:
			  place of the CUDA call before, CALLER_UNSEEN; NONE: another thread was waited for */
	WHY_LOSSES,
	WHY_GPU = WHY_LOSSES, /* launched, and not begun by the GPU */
	WHY_UNSEEN,	      /* the launch was not seen */
	WHY_SHORT,	      /* gaps of less than 5 us that are not the price of a launch */
	WHY_CAUSES,
	WHY_BEFORE = WHY_CAUSES, /* before the first operation of a device; this and the next are not in gaps */
	WHY_AFTER,		 /* after its last */
};

#define WHY_LOADS_SHIFT 8

/* How a DataLoader was recognized. */
enum why_seen_by {
	WHY_SEEN_BY_OP,
	WHY_SEEN_BY_FRAMES, /* the frames of the next CUDA call; detail: its function (model.codes) */
	WHY_SEEN_BY_STACKS, /* the stacks of samples and waits; the same detail */
};

static inline uint32_t why_data_extra(enum why_seen_by seen_by, enum why_loads loads)
{
	return seen_by | (uint32_t)loads << WHY_LOADS_SHIFT;
}

static inline enum why_seen_by why_seen_by(uint32_t extra)
{
	return (enum why_seen_by)(extra & ((1u << WHY_LOADS_SHIFT) - 1));
}

static inline enum why_loads why_loads(uint32_t extra)
{
	return (enum why_loads)(extra >> WHY_LOADS_SHIFT);
}

enum why_compile {
	WHY_COMPILE_JIT,    /* the driver */
	WHY_COMPILE_MODULE, /* loading of code */
	WHY_COMPILE_TORCH,  /* torch.compile */
	WHY_COMPILE_LAUNCH, /* a long launch, the first one of its kernel; extra: the kernel's name */
};

/* CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind */
#define WHY_HTOD 1u
#define WHY_DTOH 2u
#define WHY_PAGEABLE 1u

/* place (caller_place), cause, detail, extra */
static inline struct tally_key why_key(uint32_t place, enum why_cause cause, uint32_t detail, uint32_t extra)
{
	return (struct tally_key){{place, cause, detail, extra}};
}

/* Packs a copy's kind and memory into one number. */
static inline uint32_t why_copy_detail(const struct model_gpu *op)
{
	return (uint32_t)op->memcpy_kind | (uint32_t)op->from << 8 | (uint32_t)op->to << 16;
}

/* Packs the kind of a copy of managed memory and why the driver made it. */
static inline uint32_t why_managed_detail(const struct model_gpu *op)
{
	return (uint32_t)op->memcpy_kind | (uint32_t)op->migration << 8;
}

static inline uint32_t why_managed_kind(uint32_t detail)
{
	return detail & 0xff;
}

static inline enum model_migration why_managed_cause(uint32_t detail)
{
	return (enum model_migration)(detail >> 8);
}

#endif
