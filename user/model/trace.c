/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a trace; a whole model as a trace of one part. */
#include "model/trace.h"

#include <stddef.h>

const struct model *trace_last(struct trace *trace)
{
	if (trace->part && !trace->part->more && !trace->error)
		return trace->part;
	for (const struct model *part = trace_first(trace); part;)
		part = trace_next(trace);
	return trace->error ? NULL : trace->part;
}

static const struct model *first_of_model(struct trace *trace)
{
	struct trace_of_model *of = (struct trace_of_model *)((char *)trace - offsetof(struct trace_of_model, trace));

	return of->model;
}

static const struct model *next_of_model(struct trace *trace)
{
	(void)trace;
	return NULL;
}

static const struct trace_kind of_model = {.first = first_of_model, .next = next_of_model};

struct trace *trace_of_model(struct trace_of_model *of, const struct model *model)
{
	*of = (struct trace_of_model){.trace = {.kind = &of_model}, .model = model};
	return &of->trace;
}
