/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that come late (lateness.h).  Pass 1 keeps them; pass 2 replays each at its time and skips the original.
 */
#ifndef GPUTRACE_MODEL_DEFERRED_H
#define GPUTRACE_MODEL_DEFERRED_H

#include "base/array.h"
#include "model/events.h"
#include "model/tables/ops.h"

/*
 * Kinds of events that stay pending in the builder until they are joined: the model's, and kinds that help to join
 * them.  X(one, many, time, timing), as MODEL_JOINED_EVENTS; CALL: the time is its call's
 */
#define PENDING_EVENTS(X)                                                                                              \
	MODEL_JOINED_EVENTS(X)                                                                                         \
	X(event_record, event_records, , CALL)

enum deferred_kind {
	DEFERRED_RETURN,
	DEFERRED_API_ACTIVITY,
	DEFERRED_GPU_WORK,
	DEFERRED_OP,
	DEFERRED_TORCH_MEMORY,
#define DEFERRED_KIND(one, ...) DEFERRED_##one,
	PENDING_EVENTS(DEFERRED_KIND)
#undef DEFERRED_KIND
};

struct deferred_event {
	uint64_t time_ns; /* approximate start, CLOCK_MONOTONIC; 0: not known */
	struct process_image program;
	struct kernel_texts kernel; /* in pass 1's strings */
	struct op_texts texts;	    /* an op's, also in pass 1's strings */
	enum deferred_kind kind;
	union {
		struct new_return back;
		struct new_api_activity activity;
		struct new_gpu_work work;
		struct new_op op;
		struct new_torch_memory torch;
#define DEFERRED_MEMBER(one, ...) struct new_##one one;
		PENDING_EVENTS(DEFERRED_MEMBER)
#undef DEFERRED_MEMBER
	};
};

struct deferred_events {
	ARRAY(struct deferred_event) list;
};

void deferred_events_free(struct deferred_events *deferred);

/* Sorts by time, after the last event. */
void deferred_events_sort(struct deferred_events *deferred);

#endif
