/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs lose time to (why.h), and the causes that parts of a gap are charged to. */
#pragma once

#include "analyze/why/why_awaited.h"
#include "base/tally.h"
#include "model/model.h"

/*
 * A row for each cause.  It makes WHY_CAUSE, and the words for it are in cause_name (report/why/why_causes.h):
 *	X(CAUSE, name, of_program, is_culprit)
 * of_program: its lines are one finding, the program's as a whole; is_culprit: whether `line` (struct why_line) is to
 * blame, or only the next that launched.  Comments say what detail and extra are, parts of the keys.
 */
#define WHY_HAS_LINE (line->line != NONE)

/* Losses. */
#define WHY_LOSS_ROWS(X)                                                                                               \
	/* between two CUDA calls of a thread that runs Python, without samples; detail: place of the first of them,   \
	   CALLER_UNSEEN */                                                                                            \
	X(PYTHON, python, false, false)                                                                                \
	X(PROGRAM, program, false, false)      /* the same for a thread that runs no Python */                         \
	X(RAN, ran, false, WHY_HAS_LINE)       /* a sampled line of Python; detail: native function (model.strings),   \
							NONE */                                                        \
	X(NATIVE, native, false, WHY_HAS_LINE) /* the same without Python */                                           \
	/* From here to WAIT: detail: enum gpt_wait_reason with WHY_AWAIT_*, extra: ran_others, NONE; if another       \
	   thread was waited for, they say what that thread did (idle_charge.inner). */                                \
	X(LOCK, lock, false, WHY_HAS_LINE)                                                                             \
	X(ITEM, item, false, WHY_HAS_LINE) /* a lock of a queue: an item is waited for */                              \
	X(RESULT, result, false, WHY_HAS_LINE)                                                                         \
	X(NOTICE, notification, false, WHY_HAS_LINE) /* threading.Event, Condition */                                  \
	X(GIL, gil, false, WHY_HAS_LINE)                                                                               \
	X(REQUEST, request, true, WHY_HAS_LINE) /* no traced thread had work for it */                                 \
	X(PIPE, pipe, false, WHY_HAS_LINE)	/* or a socket, an event, a poll of several */                         \
	X(CHILD, child, false, WHY_HAS_LINE)                                                                           \
	X(SLEEP, sleep, false, WHY_HAS_LINE)                                                                           \
	X(DISK, disk, false, WHY_HAS_LINE)                                                                             \
	X(FAULT, fault, false, WHY_HAS_LINE)                                                                           \
	X(NO_CPU, no_cpu, false, WHY_HAS_LINE)                                                                         \
	X(WAIT, wait, false, WHY_HAS_LINE) /* the reason is not known */                                               \
	/* a DataLoader's next; detail: name of the op (model.strings), extra: why_data_extra */                       \
	X(DATA, data, false, why_seen_by(line->extra) != WHY_SEEN_BY_FRAMES)                                           \
	/* a call that waits; detail: api, extra: name of the outermost op around it, NONE */                          \
	X(SYNC, sync, false, WHY_HAS_LINE)                                                                             \
	X(LAUNCH, launch, true, WHY_HAS_LINE) /* kernels shorter than their launches */                                \
	X(ALLOC, alloc, false, WHY_HAS_LINE)  /* CUDA allocates or frees memory; detail: api */                        \
	X(CALL, call, false, WHY_HAS_LINE)    /* another call that takes long; detail: api */                          \
	/* detail: name of the module; extra: 0: the place is the import's own, NONE: the next launch's */             \
	X(IMPORT, import, true, line->extra == 0)                                                                      \
	X(GC, gc, true, line->extra == 0)	 /* detail: generation; extra: as for IMPORT */                        \
	X(COMPILE, compile, false, WHY_HAS_LINE) /* detail: enum why_compile, extra: api or name */                    \
	/* a copy between host and device, alone, or a call that waited for one; detail: copy kind and memory */       \
	X(COPY, copy, false, WHY_HAS_LINE)                                                                             \
	/* a copy of managed memory by the driver, alone, or the gap before it; detail: why_managed_detail */          \
	X(MANAGED, managed, false, WHY_HAS_LINE)                                                                       \
	/* work waited while another process's work ran; detail: that process (model.processes) */                     \
	X(PROCESS, process, false, false)                                                                              \
	/* ranks waited for the last one in a collective; detail: that rank, extra: the collective's params */         \
	X(RANK, rank, true, WHY_HAS_LINE)                                                                              \
	X(PEER, peer, false, false) /* a collective of PyTorch on the CPU was not over; detail: name of the op */      \
	/* the thread had a CPU, or was not seen to lose it, and no sample shows what it ran; extra: place of the CUDA \
	   call before, CALLER_UNSEEN; NONE: another thread was waited for */                                          \
	X(UNSAMPLED, unsampled, false, false)

/* Time for which no line is to blame. */
#define WHY_OTHER_ROWS(X)                                                                                              \
	X(GPU, gpu, , )	      /* launched, and not begun by the GPU */                                                 \
	X(UNSEEN, unseen, , ) /* the launch was not seen */                                                            \
	X(SHORT, short, , )   /* gaps of less than 5 us that are not the price of a launch */

enum why_cause {
#define CAUSE(cause, ...) WHY_##cause,
	WHY_LOSS_ROWS(CAUSE) WHY_OTHER_ROWS(CAUSE)
#undef CAUSE
		WHY_CAUSES,
	WHY_LOSSES = WHY_GPU,	 /* the number of losses */
	WHY_BEFORE = WHY_CAUSES, /* before the first operation of a device; this and the next are not in gaps */
	WHY_AFTER,		 /* after its last */
};

/* The place is where tasks of asyncio awaited. */
#define WHY_AWAIT_ALONE 0x100u /* all that may be meant */
#define WHY_AWAIT_MOST 0x200u  /* most of them */

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
	WHY_COMPILE_JIT,     /* the driver */
	WHY_COMPILE_MODULE,  /* loading of code */
	WHY_COMPILE_TORCH,   /* torch.compile */
	WHY_COMPILE_LAUNCH,  /* a long launch, the first one of its kernel; extra: the kernel's name */
	WHY_COMPILE_CAPTURE, /* calls that became nodes of a CUDA graph, from the first to the last; extra: NONE */
	WHY_COMPILE_FRAMES,  /* a compiler that is Python, by frames of the thread; extra: enum compiler */
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
