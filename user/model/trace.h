/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace that is handed over part by part (struct model_in_part) and can be walked any number of times: what report/
 * and export/ read.  A short one has one part, which is the whole model.  Memory use does not depend on the trace's
 * length.
 *
 *	for (part = trace_first(trace); part; part = trace_next(trace))
 *		use(part);
 *	(trace->error)
 *
 * Or, if looking at a part takes long, on a separate thread while the next part is made:
 *
 *	for (part = trace_first(trace); part; part = trace_next(trace))
 *		trace_look(trace, look, &what);
 *	trace_wait(trace);
 *
 * All parts have the tables of processes, threads and devices, and the garbage collections and imports, of the whole
 * trace, at the same indices.  Strings, codes, frames, stacks and native stacks keep their indices, too, but are added
 * as they occur: a later part has more.  Everything else lives as long as its part.  A part, and every pointer into it,
 * is valid until the next one is requested.  Each walk gives the same parts.
 */
#pragma once

#include "model/model.h"

struct steps;

struct trace {
	const struct trace_kind *kind;
	const struct steps *steps; /* steps of training, found when it was opened (steps.h); NULL: not searched */
	/*
	 * of a slice by time: the same trace with what begins before and after, as far as it was read; NULL.  A walk of
	 * it ends one of the slice.
	 */
	struct trace *around;
	uint64_t around_to_ns;	  /* with around: the end of the slice, UINT64_MAX: it has none */
	const char *file;	  /* its log as a word of a command line, "": the last trace; NULL: none is known */
	int error;		  /* -errno: the last walk ended early; 0 */
	const struct model *part; /* the part handed over last, NULL: none yet */
};

/* Where parts come from: one of these for each source. */
struct trace_kind {
	const struct model *(*first)(struct trace *trace);
	const struct model *(*next)(struct trace *trace);
	/*
	 * As trace_look and trace_wait.  Both NULL: the next part replaces the current one, so the look runs at once.
	 */
	void (*look)(struct trace *trace, void (*look)(void *context), void *context);
	void (*wait)(struct trace *trace);
	void (*read_tables)(struct trace *trace); /* as trace_read_tables; NULL: the last part has all tables */
};

/* The first part: starts a walk.  NULL: error.  Returns the current part if it is the first. */
static inline const struct model *trace_first(struct trace *trace)
{
	if (trace->part && !trace->part->continued && !trace->error)
		return trace->part;
	return trace->part = trace->kind->first(trace);
}

/* NULL: an error, or the current part was the last; it stays valid, and its sums are complete. */
static inline const struct model *trace_next(struct trace *trace)
{
	const struct model *part = trace->kind->next(trace);

	if (part)
		trace->part = part;
	return part;
}

/*
 * Runs look(context) on the current part, on a separate thread or before this returns.  The look only reads the part,
 * which stays valid until the look ends; the caller must not touch the part, or data that the look writes, before
 * trace_wait.  The next part comes after the previous look has ended: one look at a time, in order.
 */
static inline void trace_look(struct trace *trace, void (*look)(void *context), void *context)
{
	if (trace->kind->look)
		trace->kind->look(trace, look, context);
	else
		look(context);
}

/* Waits until the look has ended. */
static inline void trace_wait(struct trace *trace)
{
	if (trace->kind->wait)
		trace->kind->wait(trace);
}

/*
 * After a walk of a slice: its last part gets the strings, codes, frames and stacks of later parts of the trace around
 * it, to which the slice's account of idle time may refer.
 */
static inline void trace_read_tables(struct trace *trace)
{
	if (trace->kind->read_tables)
		trace->kind->read_tables(trace);
}

/* The last part; reads all parts up to it unless it is the current one.  NULL: error. */
const struct model *trace_last(struct trace *trace);
