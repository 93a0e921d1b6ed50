/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that come late (lateness.h).  Pass 1 keeps them; pass 2 replays each at its time and skips the original.
 */
#pragma once

#include "base/array.h"
#include "model/events.h"
#include "model/tables/api_activity.h"
#include "model/tables/gpu_work.h"
#include "model/tables/ops.h"

/* A thread of an event, found when it arrived: later its pid may be another process's. */
struct found_threads {
	uint32_t thread, holder, waker; /* model.threads; holder, waker: NONE: not known */
	uint32_t waker_epoch;
};

/* struct pending_sync and so on: an event of one of the model's kinds before it is joined. */
#define PENDING(one, many, time, timing, name, ...)                                                                    \
	struct pending_##one {                                                                                         \
		struct process_image program;                                                                          \
		enum source_clock clock;                                                                               \
		bool shared; /* it is in a log before, too (gpt_log_header.shared_below) */                            \
		struct found_threads of;                                                                               \
		struct gpt_##name record;                                                                              \
	};
PENDING_EVENTS(PENDING)
#undef PENDING

enum deferred_kind {
	DEFERRED_RETURN,
	DEFERRED_API_ACTIVITY,
	DEFERRED_GPU,
	DEFERRED_OP,
	DEFERRED_TORCH_MEMORY,
#define DEFERRED_KIND(one, ...) DEFERRED_##one,
	PENDING_EVENTS(DEFERRED_KIND)
#undef DEFERRED_KIND
};

struct deferred_event {
	uint64_t time_ns; /* approximate start, CLOCK_MONOTONIC; 0: not known */
	struct process_image program;
	struct op_texts texts; /* an op's, in pass 1's strings, as are those of pending_gpu */
	enum deferred_kind kind;
	union {
		struct gpt_agent_api back;
		struct pending_api_activity activity;
		struct pending_gpu gpu;
		struct gpt_agent_op op;
		struct gpt_agent_torch_memory torch;
#define DEFERRED_MEMBER(one, ...) struct pending_##one one;
		PENDING_EVENTS(DEFERRED_MEMBER)
#undef DEFERRED_MEMBER
	};
};

struct deferred_events {
	ARRAY(struct deferred_event) list;
};

/* Sorts by time, after the last event. */
void deferred_events_sort(struct deferred_events *deferred);
