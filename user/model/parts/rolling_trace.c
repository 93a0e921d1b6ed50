/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/parts/rolling_trace.h"

static struct rolling_trace *of_trace(struct trace *trace)
{
	return (struct rolling_trace *)((char *)trace - offsetof(struct rolling_trace, trace));
}

static const struct model *pass_part(struct rolling_trace *rolling)
{
	const struct model *part;

	rolling->passed_ns = rolling->inner->part->until_ns;
	part = trace_next(rolling->inner);
	rolling->trace.error = rolling->inner->error;
	return part;
}

static const struct model *first_of_span(struct trace *trace)
{
	struct rolling_trace *rolling = of_trace(trace);
	const struct model *part = rolling->inner->part;

	if (!part || rolling->inner->error || rolling->passed_ns > rolling->from_ns) {
		part = trace_first(rolling->inner);
		rolling->passed_ns = 0;
		rolling->trace.error = rolling->inner->error;
	}
	while (part && part->more && part->until_ns <= rolling->from_ns)
		part = pass_part(rolling);
	return part;
}

static const struct model *next_of_span(struct trace *trace)
{
	struct rolling_trace *rolling = of_trace(trace);

	return rolling->inner->part->more ? pass_part(rolling) : NULL;
}

void rolling_trace_open(struct rolling_trace *rolling, struct trace *inner)
{
	static const struct trace_kind kind = {.first = first_of_span, .next = next_of_span};

	*rolling = (struct rolling_trace){.trace = {.kind = &kind}, .inner = inner};
}
