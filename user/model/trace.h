/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace that is handed over part by part (struct model_in_part), as often as wanted: what report/ and export/ read. A
 * short one has one part, which is the whole model.  Memory does not depend on how long the trace is.
 *
 *	for (part = trace_first(trace); part; part = trace_next(trace))
 *		use(part);
 *	(trace->error)
 *
 * Or, where looking at a part takes long, on a thread of its own while the next part is made:
 *
 *	for (part = trace_first(trace); part; part = trace_next(trace))
 *		trace_look(trace, look, &what);
 *	trace_wait(trace);
 *
 * All parts have the tables of processes, threads and devices, and the garbage collections and imports, of the whole
 * trace, at the same indices.  Strings, codes, frames, stacks and native stacks keep their indices, too, but come as
 * they are met: a later part has more.  Everything else is as long-lived as its part, and a part is valid until the
 * next one is asked for; so is every pointer into it.  Each round gives the same parts.
 */
#ifndef GPUTRACE_MODEL_TRACE_H
#define GPUTRACE_MODEL_TRACE_H

#include "model/model.h"

struct steps;

struct trace {
	const struct trace_kind *kind;
	const struct steps *steps; /* of training, found in it by its opener (steps.h); NULL: not looked for */
	int error;		   /* -errno: the last round ended early; 0 */
	const struct model *part;  /* that was handed over last, NULL: none yet */
};

/* Where parts come from: one of these for each source. */
struct trace_kind {
	const struct model *(*first)(struct trace *trace);
	const struct model *(*next)(struct trace *trace);
	/* As trace_look and trace_wait; both NULL: a part goes when the next one is asked for, and is looked at before.
	 */
	void (*look)(struct trace *trace, void (*look)(void *context), void *context);
	void (*wait)(struct trace *trace);
};

/* The first part: starts a walk.  NULL: error.  Returns the current part if it is the first. */
static inline const struct model *trace_first(struct trace *trace)
{
	if (trace->part && !trace->part->continued && !trace->error)
		return trace->part;
	return trace->part = trace->kind->first(trace);
}

/* NULL: that was the last, which stays valid and has sums that are complete; or error. */
static inline const struct model *trace_next(struct trace *trace)
{
	const struct model *part = trace->kind->next(trace);

	if (part)
		trace->part = part;
	return part;
}

/*
 * Has look(context) look at the part that was handed over last, on a thread of its own or before this returns.  It only
 * reads the part, which is valid for it until it ends; the caller leaves the part, and what the look writes, alone
 * until trace_wait.  The next part comes when the look at the one before has ended: one look at a time, in order.
 */
static inline void trace_look(struct trace *trace, void (*look)(void *context), void *context)
{
	if (trace->kind->look)
		trace->kind->look(trace, look, context);
	else
		look(context);
}

/* What looked has ended. */
static inline void trace_wait(struct trace *trace)
{
	if (trace->kind->wait)
		trace->kind->wait(trace);
}

/* The last part; reads all parts up to it unless it is the current one.  NULL: error. */
const struct model *trace_last(struct trace *trace);

/* A model that is a whole trace. */
struct trace_of_model {
	struct trace trace;
	const struct model *model;
};

/* The model stays the caller's; returns &of->trace. */
struct trace *trace_of_model(struct trace_of_model *of, const struct model *model);

#endif
