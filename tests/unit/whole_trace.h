/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of trace readers: a model as a trace of one part. */
#pragma once

#include <stddef.h>

#include "model/trace.h"

struct trace_of_model {
	struct trace trace;
	const struct model *model;
};

static inline const struct model *first_of_model(struct trace *trace)
{
	return ((struct trace_of_model *)((char *)trace - offsetof(struct trace_of_model, trace)))->model;
}

static inline const struct model *next_of_model(struct trace *trace)
{
	return NULL;
}

/* The model stays the caller's; returns &of->trace. */
static inline struct trace *trace_of_model(struct trace_of_model *of, const struct model *model)
{
	static const struct trace_kind kind = {.first = first_of_model, .next = next_of_model};

	*of = (struct trace_of_model){.trace = {.kind = &kind}, .model = model};
	return &of->trace;
}

/* A struct trace * that is valid until the end of the block. */
#define WHOLE_TRACE(model) trace_of_model(&(struct trace_of_model){{0}, NULL}, (model))
