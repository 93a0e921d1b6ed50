/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short and long sources, and the passes over a long one; see two_pass_trace.h. */
#include "input/two_pass_trace.h"

#include <errno.h>
#include <malloc.h>

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
	bool borrows_first;		/* it belongs to another trace (two_pass_trace_reopen) */
	uint32_t chunk;			/* the chunk being fed */
	uint64_t waited;		/* events that waited when a part was last asked for */
	bool ended;
};

static struct two_pass_trace *two_pass_of(struct trace *trace)
{
	return (struct two_pass_trace *)((char *)trace - offsetof(struct two_pass_trace, trace));
}

/* ---- a long source ----------------------------------------------------------------------------------------------- */

static void begin_round(struct two_pass_trace *two_pass)
{
	two_pass->chunk = 0;
	two_pass->waited = 0;
	two_pass->ended = false;
}

/* Feeds a chunk; false: there are no more events. */
static bool feed_chunk(struct two_pass_trace *two_pass, struct builder *builder)
{
	const struct trace_source_kind *kind = two_pass->source->kind;
	const struct trace_division *division = &two_pass->division;
	uint64_t begin_bytes = two_pass->source->fed_bytes;

	builder_begin_chunk(builder, two_pass->chunk);
	for (uint32_t i = 0; i < division->chunk_records; i++) {
		if (!kind->feed_next(two_pass->source, builder)) {
			kind->feed_end(two_pass->source, builder);
			two_pass->ended = true;
			return false;
		}
		if (division->chunk_bytes && two_pass->source->fed_bytes - begin_bytes >= division->chunk_bytes)
			break;
	}
	two_pass->chunk++;
	return true;
}

/*
 * Blocks of parts and segments are allocated and freed all the time: malloc keeps them instead of asking the kernel
 * again.
 */
#define KEPT_BLOCK_MAX (32 << 20)
#define KEPT_MAX (256 << 20)

static int collect_facts(struct two_pass_trace *two_pass)
{
	int err = two_pass->source->kind->restart(two_pass->source, UINT64_MAX);

	if (err)
		return err;
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
	begin_round(two_pass);
	two_pass->first = builder_new_first();
	two_pass->source->kind->feed_begin(two_pass->source, two_pass->first);
	while (feed_chunk(two_pass, two_pass->first))
		;
	builder_finish_first(two_pass->first);
	return two_pass->source->error;
}

/* Whether to ask for a part now: often enough, but not for a few events. */
static bool is_time(struct two_pass_trace *two_pass)
{
	uint64_t waiting = builder_waiting(two_pass->second);

	if (waiting < two_pass->division.part_events || waiting < two_pass->waited + two_pass->waited / 4)
		return false;
	two_pass->waited = waiting;
	return true;
}

static const struct model *next_of_long(struct trace *trace)
{
	struct two_pass_trace *two_pass = two_pass_of(trace);
	const struct model *part = NULL;

	if (trace->error)
		return NULL;
	while (!part && !two_pass->ended) {
		bool more = feed_chunk(two_pass, two_pass->second);

		if (builder_diverged(two_pass->second))
			trace->error = -ESTALE;
		else if (two_pass->source->error)
			trace->error = two_pass->source->error;
		if (trace->error)
			return NULL;
		if (!more || is_time(two_pass))
			part = builder_part(two_pass->second, two_pass->chunk + !more);
	}
	/* readers have tables for the threads and processes of pass 1 */
	if (builder_diverged(two_pass->second)) {
		trace->error = -ESTALE;
		return NULL;
	}
	if (part)
		two_pass->waited = 0;
	return part;
}

static const struct model *first_of_long(struct trace *trace)
{
	struct two_pass_trace *two_pass = two_pass_of(trace);

	if (two_pass->second)
		builder_discard(two_pass->second);
	two_pass->second = NULL;
	trace->error = two_pass->source->kind->restart(two_pass->source, UINT64_MAX);
	if (trace->error)
		return NULL;
	begin_round(two_pass);
	two_pass->second = builder_new_second(two_pass->first);
	two_pass->source->kind->feed_begin(two_pass->source, two_pass->second);
	return next_of_long(trace);
}

static void look_at_long(struct trace *trace, void (*look)(void *context), void *context)
{
	builder_look(two_pass_of(trace)->second, look, context);
}

static void wait_for_look(struct trace *trace)
{
	if (two_pass_of(trace)->second)
		builder_wait(two_pass_of(trace)->second);
}

static const struct trace_kind long_source = {
	.first = first_of_long, .next = next_of_long, .look = look_at_long, .wait = wait_for_look};

/* ---- a short source ---------------------------------------------------------------------------------------------- */

static const struct model *first_of_short(struct trace *trace)
{
	return two_pass_of(trace)->model;
}

static const struct model *next_of_short(struct trace *trace)
{
	(void)trace;
	return NULL;
}

static const struct trace_kind short_source = {.first = first_of_short, .next = next_of_short};

/* -E2BIG: the source is a long one. */
static int feed_whole(struct two_pass_trace *two_pass)
{
	const struct trace_source_kind *kind = two_pass->source->kind;
	struct builder *builder = builder_new();
	int err;

	kind->feed_begin(two_pass->source, builder);
	while (kind->feed_next(two_pass->source, builder))
		;
	kind->feed_end(two_pass->source, builder);
	err = two_pass->source->error;
	if (!err && kind->is_longer(two_pass->source))
		err = -E2BIG;
	if (err)
		builder_discard(builder);
	else
		two_pass->model = builder_finish(builder);
	return err;
}

/* ------------------------------------------------------------------------------------------------------------------ */

int two_pass_trace_open(struct trace_source *source, const struct trace_division *division, struct trace **trace)
{
	struct two_pass_trace *two_pass = xcalloc(1, sizeof(*two_pass));
	int err;

	*trace = NULL;
	two_pass->trace.kind = &short_source;
	two_pass->source = source;
	two_pass->division = division ? *division : trace_division_default;
	err = source->kind->restart(source, two_pass->division.whole_bytes);
	if (!err)
		err = feed_whole(two_pass);
	if (err == -E2BIG) {
		two_pass->trace.kind = &long_source;
		err = collect_facts(two_pass);
	}
	if (err)
		two_pass_trace_close(&two_pass->trace);
	else
		*trace = &two_pass->trace;
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
	struct two_pass_trace *two_pass = xcalloc(1, sizeof(*two_pass));

	two_pass->trace.kind = &long_source;
	two_pass->source = source;
	two_pass->division = collected->division;
	two_pass->first = collected->first;
	two_pass->borrows_first = true;
	return &two_pass->trace;
}

void two_pass_trace_close(struct trace *trace)
{
	AUTO_FREE struct two_pass_trace *two_pass = NULL;

	if (!trace)
		return;
	two_pass = two_pass_of(trace);
	if (two_pass->second)
		builder_discard(two_pass->second);
	if (two_pass->first && !two_pass->borrows_first)
		builder_discard(two_pass->first);
	model_free(two_pass->model);
	two_pass->source->kind->close(two_pass->source);
}
