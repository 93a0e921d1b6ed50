/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slice of a trace: an interval, some processes, a thread, a GPU.  Events that belong to it:
 *
 * - An interval: calls and other events that begin in it; so an event is in exactly one of two adjoining slices.
 *   GPU operations without times go with their calls; with by_launch all do whose call is known, whenever they ran.
 * - Processes and threads: their calls, and the GPU operations of these, wherever they ran.
 * - A GPU: its operations and their calls.  A call without operations (it waits, allocates or failed) belongs to it if
 *   its thread gave work to the GPU: the thread's activity explains why the GPU had nothing to do.
 *
 * A GPU operation that began before the interval and runs on in it is no event of the slice; its time in the slice is
 * in struct model_crossing.  Events to which these refer are present, but not counted (struct model_in_part).  NVTX
 * ranges, Python functions, collections and imports are cut to the interval.  Memory allocated earlier is not known, as
 * in a recording that begins at that time.
 */
#pragma once

#include "model/keep.h"

/* A process's interval [from, to); both 0: it is not in the slice. */
struct slice_span {
	uint64_t from_ns, to_ns;
};

struct slice {
	uint64_t from_ns,
		to_ns; /* CLOCK_MONOTONIC, [from, to); 0 and UINT64_MAX: no bound, even outside of the recording */
	const struct slice_span *spans; /* by model.processes: the process's share of [from, to), NULL: all of it */
	bool by_launch;			/* of a cycle: what its steps launched */
	const bool *processes;		/* by model.processes, NULL: all */
	const bool *threads;		/* by model.threads, NULL: all */
	uint32_t device;		/* model_device.id, NONE: all */
	const bool *givers;		/* with a device: by model.threads, whether the thread gave it work */
	/* Events before this time may not have been read (0: all were), which can be why an operation has no call. */
	uint64_t read_from_ns;
};

/* Adds the threads of a part that gave work to a GPU. */
void slice_find_givers(uint32_t device, const struct model *part, bool *givers);

/* Marks the events of a part that belong to the slice (KEEP_IN_PART), after keep_begin. */
void slice_mark(const struct slice *slice, const struct model *part, struct keep *keep);

/* Whether a GPU operation of a part began before the slice and runs on in it. */
bool slice_is_crossed_by(const struct slice *slice, const struct model *part, const struct model_gpu *op);

/* Whether a call belongs to the slice, in the part or not. */
bool slice_has_call(const struct slice *slice, const struct model *part, const struct model_call *call);

/* Whether the slice has the thread, regardless of time. */
bool slice_has_thread(const struct slice *slice, const struct model *model, uint32_t thread);

/* The slice of one process only, with its interval. */
struct slice slice_of_process(const struct slice *slice, uint32_t process);

/*
 * False: the span is outside.  Else cuts it to the interval of the slice, which must be of one process; is_last: no
 * later part of the slice continues the span.
 */
bool slice_cut_span(const struct slice *slice, bool is_last, struct model_span *span);

/* The same for an op. */
bool slice_cut_op(const struct slice *slice, struct model_op *op);

bool slice_has_torch_memory(const struct slice *slice, const struct model *part,
			    const struct model_torch_memory *event);
