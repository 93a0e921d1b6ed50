/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short or long, and the rounds over a long source; see two_pass_trace.h. */
#include "input/two_pass_trace.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/array.h"
#include "model/builder.h"

/* Some 150 MB of memory for a short source; as much for the parts of a long one and what waits for them. */
const struct trace_division trace_division_default = {
	.whole_bytes = 32u << 20,
	.chunk_records = 16384,
	.chunk_bytes = 32u << 20,
	.part_events = 128u << 10,
};

struct two_pass_trace {
	struct trace trace;
	struct trace_source *source;
	struct trace_division division;
	struct model *model;		/* of a short source */
	struct builder *first, *second; /* of a long one */
	bool borrows_first;		/* it is another trace's (two_pass_trace_reopen) */
	uint32_t chunk;			/* that is being told */
	uint64_t waited;		/* what waited when a part was asked for last */
	bool ended;
};

static struct two_pass_trace *of(struct trace *trace)
{
	return (struct two_pass_trace *)((char *)trace - offsetof(struct two_pass_trace, trace));
}

/* ---- a long source ----------------------------------------------------------------------------------------------- */

static void begin_round(struct two_pass_trace *fed)
{
	fed->chunk = 0;
	fed->waited = 0;
	fed->ended = false;
}

/* Tells a chunk; false: there are no more events. */
static bool feed_chunk(struct two_pass_trace *fed, struct builder *builder)
{
	const struct trace_source_kind *kind = fed->source->kind;
	const struct trace_division *division = &fed->division;
	uint64_t begin_bytes = fed->source->fed_bytes;

	builder_begin_chunk(builder, fed->chunk);
	for (uint32_t i = 0; i < division->chunk_records; i++) {
		if (!kind->feed_next(fed->source, builder)) {
			kind->feed_end(fed->source, builder);
			fed->ended = true;
			return false;
		}
		if (division->chunk_bytes && fed->source->fed_bytes - begin_bytes >= division->chunk_bytes)
			break;
	}
	fed->chunk++;
	return true;
}

/* Blocks of a part and of a segment come and go all the time: malloc keeps them instead of asking the kernel again. */
#define KEPT_BLOCK_MAX (32 << 20)
#define KEPT_MAX (256 << 20)

static int learn(struct two_pass_trace *fed)
{
	int err = fed->source->kind->again(fed->source, UINT64_MAX);

	if (err)
		return err;
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
	begin_round(fed);
	fed->first = builder_new_first();
	fed->source->kind->feed_begin(fed->source, fed->first);
	while (feed_chunk(fed, fed->first))
		;
	builder_finish_first(fed->first);
	return fed->source->error;
}

/* Whether it is worth a look for a part: often enough, and never for little. */
static bool is_time(struct two_pass_trace *fed)
{
	uint64_t waiting = builder_waiting(fed->second);

	if (waiting < fed->division.part_events || waiting < fed->waited + fed->waited / 4)
		return false;
	fed->waited = waiting;
	return true;
}

static const struct model *next_of_long(struct trace *trace)
{
	struct two_pass_trace *fed = of(trace);
	const struct model *part = NULL;

	if (trace->error)
		return NULL;
	while (!part && !fed->ended) {
		bool more = feed_chunk(fed, fed->second);

		if (builder_diverged(fed->second))
			trace->error = -ESTALE;
		else if (fed->source->error)
			trace->error = fed->source->error;
		if (trace->error)
			return NULL;
		if (!more || is_time(fed))
			part = builder_part(fed->second, fed->chunk + !more);
	}
	if (part)
		fed->waited = 0;
	return part;
}

static const struct model *first_of_long(struct trace *trace)
{
	struct two_pass_trace *fed = of(trace);

	if (fed->second)
		builder_discard(fed->second);
	fed->second = NULL;
	trace->error = fed->source->kind->again(fed->source, UINT64_MAX);
	if (trace->error)
		return NULL;
	begin_round(fed);
	fed->second = builder_new_second(fed->first);
	fed->source->kind->feed_begin(fed->source, fed->second);
	return next_of_long(trace);
}

static void look_at_long(struct trace *trace, void (*look)(void *context), void *context)
{
	builder_look(of(trace)->second, look, context);
}

static void wait_for_look(struct trace *trace)
{
	if (of(trace)->second)
		builder_wait(of(trace)->second);
}

static const struct trace_kind long_source = {
	.first = first_of_long, .next = next_of_long, .look = look_at_long, .wait = wait_for_look};

/* ---- a short one ------------------------------------------------------------------------------------------------- */

static const struct model *first_of_short(struct trace *trace)
{
	return of(trace)->model;
}

static const struct model *next_of_short(struct trace *trace)
{
	(void)trace;
	return NULL;
}

static const struct trace_kind short_source = {.first = first_of_short, .next = next_of_short};

/* -E2BIG: it is a long one. */
static int feed_whole(struct two_pass_trace *fed)
{
	const struct trace_source_kind *kind = fed->source->kind;
	struct builder *builder = builder_new();
	int err;

	kind->feed_begin(fed->source, builder);
	while (kind->feed_next(fed->source, builder))
		;
	kind->feed_end(fed->source, builder);
	err = fed->source->error;
	if (!err && kind->is_longer(fed->source))
		err = -E2BIG;
	if (err)
		builder_discard(builder);
	else
		fed->model = builder_finish(builder);
	return err;
}

/* ------------------------------------------------------------------------------------------------------------------ */

int two_pass_trace_open(struct trace_source *source, const struct trace_division *division, struct trace **trace)
{
	struct two_pass_trace *fed = xcalloc(1, sizeof(*fed));
	int err;

	*trace = NULL;
	fed->trace.kind = &short_source;
	fed->source = source;
	fed->division = division ? *division : trace_division_default;
	err = source->kind->again(source, fed->division.whole_bytes);
	if (!err)
		err = feed_whole(fed);
	if (err == -E2BIG) {
		fed->trace.kind = &long_source;
		err = learn(fed);
	}
	if (err)
		two_pass_trace_close(&fed->trace);
	else
		*trace = &fed->trace;
	return err;
}

bool two_pass_trace_is_long(const struct trace *trace)
{
	return trace->kind == &long_source;
}

struct trace *two_pass_trace_reopen(struct trace_source *source, const struct trace *of)
{
	const struct two_pass_trace *collected =
		(const struct two_pass_trace *)((const char *)of - offsetof(struct two_pass_trace, trace));
	struct two_pass_trace *fed = xcalloc(1, sizeof(*fed));

	fed->trace.kind = &long_source;
	fed->source = source;
	fed->division = collected->division;
	fed->first = collected->first;
	fed->borrows_first = true;
	return &fed->trace;
}

void two_pass_trace_close(struct trace *trace)
{
	struct two_pass_trace *fed;

	if (!trace)
		return;
	fed = of(trace);
	if (fed->second)
		builder_discard(fed->second);
	if (fed->first && !fed->borrows_first)
		builder_discard(fed->first);
	model_free(fed->model);
	fed->source->kind->close(fed->source);
	free(fed);
}
