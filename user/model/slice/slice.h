/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slice of a trace: a span of it, some processes, a thread, a GPU.  Which events belong to it:
 *
 * - Calls, and all that has a begin, if that lies in the span; so every event is in one of two slices that adjoin.
 *   GPU operations without times go with their calls.
 * - Of processes and threads: their calls, and the GPU operations of these, wherever they ran.
 * - Of a GPU: its operations and the calls that have one.  A call that has none (one that waits, allocates, failed)
 *   belongs to it if its thread gave the GPU work: what the thread did then is why the GPU had nothing to do.
 *
 * What an event that belongs refers to can be looked at, but is not counted (struct model_in_part).  NVTX ranges,
 * Python functions, collections and imports are cut to the span.  Memory that was allocated before is not known, as in
 * a recording that begins then.
 */
#ifndef GPUTRACE_MODEL_SLICE_H
#define GPUTRACE_MODEL_SLICE_H

#include "model/keep.h"

/* [from, to) of a process; both 0: it is not in the slice. */
struct slice_span {
	uint64_t from_ns, to_ns;
};

struct slice {
	uint64_t from_ns,
		to_ns; /* CLOCK_MONOTONIC, [from, to); 0 and UINT64_MAX: no bound, also beyond the recording */
	const struct slice_span *spans; /* by model.processes: what of [from, to) is theirs, NULL: all of it */
	const bool *processes;		/* by model.processes, NULL: all */
	const bool *threads;		/* by model.threads, NULL: all */
	uint32_t device;		/* model_device.id, NONE: all */
	const bool *givers;		/* where there is a device: by model.threads, those that gave it work */
	/* What began before this may not have been read (0: all was): then an operation has no call for that reason. */
	uint64_t read_from_ns;
};

/* Adds the threads of a part that gave work to a GPU. */
void slice_find_givers(uint32_t device, const struct model *part, bool *givers);

/* Marks the events of a part that belong to the slice (KEEP_IN_PART), after keep_begin. */
void slice_mark(const struct slice *slice, const struct model *part, struct keep *keep);

/* Whether a call does, in the part or not. */
bool slice_has_call(const struct slice *slice, const struct model *part, const struct model_call *call);

/* Whether what a thread does belongs to it, whenever that is. */
bool slice_has_thread(const struct slice *slice, const struct model *model, uint32_t thread);

/* The slice of one process alone: with its span. */
struct slice slice_of_process(const struct slice *slice, uint32_t process);

/*
 * False: it lies outside.  Else cut to the span of the slice, which is that of one process; is_last: no later part of
 * the slice has more of it.
 */
bool slice_cut_span(const struct slice *slice, bool is_last, struct model_span *span);

/* The same of an op. */
bool slice_cut_op(const struct slice *slice, struct model_op *op);

bool slice_has_torch_memory(const struct slice *slice, const struct model *part,
			    const struct model_torch_memory *event);

#endif
