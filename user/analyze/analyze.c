/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Goes through the parts of a trace once. */
#include "analyze/analyze.h"

#include <errno.h>

#include "analyze/walk.h"

static void add_part(void *context)
{
	struct walk *walk = context;

	walk_add_part(walk, walk->part);
}

/* Feeds what belongs to no slice: what happened around this one. */
static int walk_around(struct analyses *all, const struct trace *slice)
{
	struct trace *around = slice->around;
	const struct model *part = trace_first(around);
	struct walk walk;

	if (!part)
		return around->error;
	analyses_begin_around(all, part, slice->around_to_ns);
	walk_begin(&walk, all, part);
	for (; part; part = trace_next(around)) {
		walk.part = part;
		trace_look(around, add_part, &walk);
	}
	trace_wait(around);
	walk_free(&walk);
	analyses_end_around(all);
	return around->error;
}

int analyze_with(struct analyses *all, struct trace *trace, const enum analysis *which,
		 const struct analyze_options *options)
{
	const struct model *part = trace_first(trace);
	struct walk walk;

	*all = (struct analyses){0};
	if (!part)
		return trace->error;
	analyses_begin(all, part, trace->steps, which, options);
	all->file = trace->file;
	if (trace->around && all->has[ANALYZE_IDLE]) {
		trace->error = walk_around(all, trace);
		trace->part = NULL;
		part = trace->error ? NULL : trace_first(trace);
		if (!part)
			return trace->error;
	}
	walk_begin(&walk, all, part);
	for (; part; part = all->had_enough ? NULL : trace_next(trace)) {
		walk.part = part;
		if (options->each_gpu) /* a caller's function, which expects no other thread */
			add_part(&walk);
		else
			trace_look(trace, add_part, &walk);
	}
	trace_wait(trace);
	walk_free(&walk);
	if (all->had_enough)
		return -EPIPE;
	if (trace->around && all->has[ANALYZE_IDLE])
		trace_read_tables(trace);
	if (!trace->error)
		analyses_finish(all);
	return trace->error;
}

int analyze(struct analyses *all, struct trace *trace, const enum analysis *which,
	    const struct attribution *attribution)
{
	return analyze_with(all, trace, which, &(struct analyze_options){.attribution = attribution});
}
