/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a source tells late (survey.h), kept from its first reading for the second, which has it when its time comes and
 * passes over it where it stands.
 */
#ifndef GPUTRACE_MODEL_LATE_H
#define GPUTRACE_MODEL_LATE_H

#include "base/array.h"
#include "model/events.h"
#include "model/ops.h"

enum late_kind {
	LATE_RETURN,
	LATE_API_ACTIVITY,
	LATE_GPU_WORK,
	LATE_OVERHEAD,
	LATE_JIT,
	LATE_SYNC,
	LATE_EVENT_RECORD,
	LATE_MEMORY,
	LATE_OP,
	LATE_TORCH_MEMORY,
};

struct late {
	uint64_t time_ns; /* about when it began, by CLOCK_MONOTONIC; 0: not known */
	struct program program;
	struct kernel_texts kernel; /* in the first reading's strings */
	struct op_texts texts;	    /* the same of an op */
	enum late_kind kind;
	union {
		struct new_return back;
		struct new_api_activity activity;
		struct new_gpu_work work;
		struct new_overhead overhead;
		struct new_jit jit;
		struct new_sync sync;
		struct new_event_record record;
		struct new_memory memory;
		struct new_op op;
		struct new_torch_memory torch;
	};
};

struct lates {
	ARRAY(struct late) list;
};

void lates_free(struct lates *lates);

/* After the last: by time. */
void lates_sort(struct lates *lates);

#endif
