/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short or long, and the rounds over a long source; see told_trace.h. */
#include "input/told_trace.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/array.h"
#include "model/builder.h"

/* Some 150 MB of memory for a short source; as much for the parts of a long one and what waits for them. */
const struct told_division told_division_default = {
	.whole_bytes = 32u << 20,
	.chunk_records = 16384,
	.chunk_bytes = 32u << 20,
	.part_events = 128u << 10,
};

struct told_trace {
	struct trace trace;
	struct told_source *source;
	struct told_division division;
	struct model *model;		/* of a short source */
	struct builder *first, *second; /* of a long one */
	bool borrows_first;		/* it is another trace's (told_trace_open_again) */
	uint32_t chunk;			/* that is being told */
	uint64_t waited;		/* what waited when a part was asked for last */
	bool ended;
};

static struct told_trace *of(struct trace *trace)
{
	return (struct told_trace *)((char *)trace - offsetof(struct told_trace, trace));
}

/* ---- a long source ----------------------------------------------------------------------------------------------- */

static void begin_round(struct told_trace *told)
{
	told->chunk = 0;
	told->waited = 0;
	told->ended = false;
}

/* Tells a chunk; false: there are no more events. */
static bool tell_chunk(struct told_trace *told, struct builder *builder)
{
	const struct told_source_kind *kind = told->source->kind;
	const struct told_division *division = &told->division;
	uint64_t begin_bytes = told->source->told_bytes;

	builder_begin_chunk(builder, told->chunk);
	for (uint32_t i = 0; i < division->chunk_records; i++) {
		if (!kind->tell_next(told->source, builder)) {
			kind->tell_end(told->source, builder);
			told->ended = true;
			return false;
		}
		if (division->chunk_bytes && told->source->told_bytes - begin_bytes >= division->chunk_bytes)
			break;
	}
	told->chunk++;
	return true;
}

/* Blocks of a part and of a segment come and go all the time: malloc keeps them instead of asking the kernel again. */
#define KEPT_BLOCK_MAX (32 << 20)
#define KEPT_MAX (256 << 20)

static int learn(struct told_trace *told)
{
	int err = told->source->kind->again(told->source, UINT64_MAX);

	if (err)
		return err;
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
	begin_round(told);
	told->first = builder_new_first();
	told->source->kind->tell_begin(told->source, told->first);
	while (tell_chunk(told, told->first))
		;
	builder_finish_first(told->first);
	return told->source->error;
}

/* Whether it is worth a look for a part: often enough, and never for little. */
static bool is_time(struct told_trace *told)
{
	uint64_t waiting = builder_waiting(told->second);

	if (waiting < told->division.part_events || waiting < told->waited + told->waited / 4)
		return false;
	told->waited = waiting;
	return true;
}

static const struct model *next_of_long(struct trace *trace)
{
	struct told_trace *told = of(trace);
	const struct model *part = NULL;

	if (trace->error)
		return NULL;
	while (!part && !told->ended) {
		bool more = tell_chunk(told, told->second);

		if (builder_strayed(told->second))
			trace->error = -ESTALE;
		else if (told->source->error)
			trace->error = told->source->error;
		if (trace->error)
			return NULL;
		if (!more || is_time(told))
			part = builder_part(told->second, told->chunk + !more);
	}
	if (part)
		told->waited = 0;
	return part;
}

static const struct model *first_of_long(struct trace *trace)
{
	struct told_trace *told = of(trace);

	if (told->second)
		builder_discard(told->second);
	told->second = NULL;
	trace->error = told->source->kind->again(told->source, UINT64_MAX);
	if (trace->error)
		return NULL;
	begin_round(told);
	told->second = builder_new_second(told->first);
	told->source->kind->tell_begin(told->source, told->second);
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
static int tell_whole(struct told_trace *told)
{
	const struct told_source_kind *kind = told->source->kind;
	struct builder *builder = builder_new();
	int err;

	kind->tell_begin(told->source, builder);
	while (kind->tell_next(told->source, builder))
		;
	kind->tell_end(told->source, builder);
	err = told->source->error;
	if (!err && kind->is_longer(told->source))
		err = -E2BIG;
	if (err)
		builder_discard(builder);
	else
		told->model = builder_finish(builder);
	return err;
}

/* ------------------------------------------------------------------------------------------------------------------ */

int told_trace_open(struct told_source *source, const struct told_division *division, struct trace **trace)
{
	struct told_trace *told = xcalloc(1, sizeof(*told));
	int err;

	*trace = NULL;
	told->trace.kind = &short_source;
	told->source = source;
	told->division = division ? *division : told_division_default;
	err = source->kind->again(source, told->division.whole_bytes);
	if (!err)
		err = tell_whole(told);
	if (err == -E2BIG) {
		told->trace.kind = &long_source;
		err = learn(told);
	}
	if (err)
		told_trace_close(&told->trace);
	else
		*trace = &told->trace;
	return err;
}

bool told_trace_is_long(const struct trace *trace)
{
	return trace->kind == &long_source;
}

struct trace *told_trace_open_again(struct told_source *source, const struct trace *of)
{
	const struct told_trace *learnt =
		(const struct told_trace *)((const char *)of - offsetof(struct told_trace, trace));
	struct told_trace *told = xcalloc(1, sizeof(*told));

	told->trace.kind = &long_source;
	told->source = source;
	told->division = learnt->division;
	told->first = learnt->first;
	told->borrows_first = true;
	return &told->trace;
}

void told_trace_close(struct trace *trace)
{
	struct told_trace *told;

	if (!trace)
		return;
	told = of(trace);
	if (told->second)
		builder_discard(told->second);
	if (told->first && !told->borrows_first)
		builder_discard(told->first);
	model_free(told->model);
	told->source->kind->close(told->source);
	free(told);
}
