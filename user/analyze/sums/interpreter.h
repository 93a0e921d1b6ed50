/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What Python itself took time for: garbage collections by generation, imports by module (those inside another import
 * count with it).  The GPU idles with it as far as no operation of the same process ran meanwhile.
 *
 * What is kept besides sums: the collections and imports that an operation which is still to come may overlap.
 */
#ifndef GPUTRACE_ANALYZE_INTERPRETER_H
#define GPUTRACE_ANALYZE_INTERPRETER_H

#include "analyze/events.h"
#include "base/array.h"
#include "base/tally.h"

struct interpreter_row {
	uint32_t kind;	    /* enum gpt_pyevent_kind */
	int32_t generation; /* of a collection, -1: not known */
	uint32_t name;	    /* of an import: model.strings */
	uint64_t ns, longest_ns, count;
	uint64_t idle_ns; /* of ns, without work on the GPU */
};

struct interpreter_span {
	uint64_t start_ns, end_ns;
	uint32_t row;
};

/* Operations of a process by start. */
struct interpreter_process {
	uint64_t busy_until_ns;
	ARRAY(struct interpreter_span) spans; /* that an operation may overlap */
	size_t forget_at;		      /* at this count those are dropped that are over */
};

struct interpreter {
	struct tally keys;		       /* kind, generation, name; in the order of rows until they are sorted */
	struct interpreter_process *processes; /* by model.processes */
	uint32_t process_count;
	uint64_t ns, longest_ns;
	bool has_gpu;			    /* some operation had times: idle_ns means something */
	ARRAY(struct interpreter_row) rows; /* most time first */
};

void interpreter_init(struct interpreter *all, const struct model *model);
void interpreter_free(struct interpreter *all);
void interpreter_add_gpu(struct interpreter *all, const struct gpu_event *event);
void interpreter_add_span(struct interpreter *all, const struct span_event *event);
void interpreter_finish(struct interpreter *all);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_INTERPRETER(X)                                                                                        \
	X(INTERPRETER, begin, interpreter_init(&all->interpreter, event->first))                                       \
	X(INTERPRETER, gpu, interpreter_add_gpu(&all->interpreter, event))                                             \
	X(INTERPRETER, span, interpreter_add_span(&all->interpreter, event))                                           \
	X(INTERPRETER, finish, interpreter_finish(&all->interpreter))                                                  \
	X(INTERPRETER, free, interpreter_free(&all->interpreter))

#endif
