/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Begins and ends inside interpreters, paired: collections, imports, Python calls.  A pair has one thread and one frame
 * on its stack; what is deeper on the stack than something that begins or ends is over.
 */
#ifndef GPUTRACE_PYTHON_SPANS_H
#define GPUTRACE_PYTHON_SPANS_H

#include "base/array.h"
#include "model/codes.h"
#include "model/events.h"
#include "model/model.h"
#include "model/process_table.h"

struct open_span {
	uint64_t frame;
	uint32_t index; /* in the list of its kind */
	uint32_t kind;	/* enum gpt_pyevent_kind, 0: a call */
};

struct thread_spans {
	ARRAY(struct open_span) events;
	ARRAY(struct open_span) calls;
};

struct python_spans {
	struct process_table *processes;
	struct codes *codes;
	struct string_pool *strings;
	ARRAY(struct model_pyspan) events;
	ARRAY(struct model_pycall) calls;
	ARRAY(struct thread_spans) threads;
	uint64_t unpaired; /* begins whose end was not seen although it must have come */
};

void python_spans_init(struct python_spans *spans, struct process_table *processes, struct codes *codes,
		       struct string_pool *strings);
void python_spans_free(struct python_spans *spans); /* all but the lists, which are the model's */

/* Begins and ends.  False when they do not make sense. */
bool python_spans_begin(struct python_spans *spans, const struct python_moment *at, enum gpt_pyevent_kind kind,
			uint32_t name, int32_t generation);
bool python_spans_end(struct python_spans *spans, const struct python_moment *at, enum gpt_pyevent_kind kind);
bool python_spans_enter(struct python_spans *spans, const struct python_moment *at, uint64_t code);
bool python_spans_leave(struct python_spans *spans, const struct python_moment *at);

/* Another program: its predecessor's frames are gone. */
void python_spans_process_execs(struct python_spans *spans, uint32_t pid, uint64_t time_ns);

/* After the last record: ends what is open, orders the lists by thread and begin. */
void python_spans_finish(struct python_spans *spans, uint64_t end_ns);

#endif
