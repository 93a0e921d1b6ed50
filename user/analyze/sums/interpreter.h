/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time that Python took for itself: garbage collections by generation, imports by module (those inside another import
 * count with it).  The GPU is idle with it while no operation of the same process runs.
 *
 * Kept besides sums: the collections and imports that a later operation may still overlap.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "base/tally.h"

struct interpreter_row {
	uint32_t kind;	    /* enum gpt_pyevent_kind */
	int32_t generation; /* of a collection, -1: not known */
	uint32_t name;	    /* of an import: model.strings */
	uint64_t ns, longest_ns, count;
	uint64_t idle_ns; /* the part of ns without work on the GPU */
};

struct interpreter_span {
	uint64_t start_ns, end_ns;
	uint32_t row;
};

/* Operations of a process by start. */
struct interpreter_process {
	uint64_t busy_until_ns;
	ARRAY(struct interpreter_span) spans; /* spans that an operation may still overlap */
	size_t forget_at;		      /* at this count, spans that are over are dropped */
};

struct interpreter {
	struct tally keys;		       /* kind, generation, name; numbered like rows until those are sorted */
	struct interpreter_process *processes; /* by model.processes */
	uint32_t process_count;
	uint64_t ns, longest_ns;
	bool has_gpu;			    /* some operation had times, so idle_ns is valid */
	ARRAY(struct interpreter_row) rows; /* most time first */
};

void interpreter_init(struct interpreter *all, const struct model *model);
void interpreter_free(struct interpreter *all);
void interpreter_add_gpu(struct interpreter *all, const struct gpu_event *event);
void interpreter_add_span(struct interpreter *all, const struct span_event *event);
void interpreter_finish(struct interpreter *all);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_INTERPRETER(X)                                                                                        \
	X(INTERPRETER, begin, interpreter_init(&all->interpreter, event->first))                                       \
	X(INTERPRETER, gpu, interpreter_add_gpu(&all->interpreter, event))                                             \
	X(INTERPRETER, span, interpreter_add_span(&all->interpreter, event))                                           \
	X(INTERPRETER, finish, interpreter_finish(&all->interpreter))                                                  \
	X(INTERPRETER, free, interpreter_free(&all->interpreter))
