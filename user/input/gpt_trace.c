/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short or long, and the rounds over a long log; see gpt_trace.h. */
#include "input/gpt_trace.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/array.h"
#include "input/gpt_feed.h"
#include "log/reader.h"

/* Some 150 MB of memory for a short log; as much for a part of a long one and what waits for it. */
const struct gpt_division gpt_division_default = {
	.whole_bytes = 32u << 20,
	.stretch_records = 16384,
	.part_events = 256u << 10,
};

struct gpt_trace {
	struct trace trace;
	struct log_reader reader;
	struct gpt_division division;
	struct model *model;		/* of a short log */
	struct builder *first, *second; /* of a long one */
	uint32_t stretch, records;	/* that is being read, and how many of it were */
	uint64_t waited;		/* what waited when a part was asked for last */
	bool ended;
};

static struct gpt_trace *of(struct trace *trace)
{
	return (struct gpt_trace *)((char *)trace - offsetof(struct gpt_trace, trace));
}

/* ---- a long log -------------------------------------------------------------------------------------------------- */

static void begin_reading(struct gpt_trace *log)
{
	log->stretch = log->records = 0;
	log->waited = 0;
	log->ended = false;
}

/* Feeds the records of a stretch; false: there are no more. */
static bool feed_stretch(struct gpt_trace *log, struct builder *builder)
{
	const struct gpt_record *record;

	builder_begin_stretch(builder, log->stretch);
	for (uint32_t i = 0; i < log->division.stretch_records; i++) {
		record = log_reader_next(&log->reader);
		if (!record) {
			gpt_feed_end(builder, &log->reader);
			log->ended = true;
			return false;
		}
		gpt_feed_record(builder, record);
	}
	log->stretch++;
	return true;
}

/* Blocks of a part and of a segment come and go all the time: malloc keeps them instead of asking the kernel anew. */
#define KEPT_BLOCK_MAX (32 << 20)
#define KEPT_MAX (256 << 20)

static int learn(struct gpt_trace *log)
{
	int err = log_reader_again(&log->reader);

	if (err)
		return err;
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
	log_reader_bound(&log->reader, UINT64_MAX);
	begin_reading(log);
	log->first = builder_new_first();
	gpt_feed_begin(log->first, &log->reader);
	while (feed_stretch(log, log->first))
		;
	builder_finish_first(log->first);
	return log->reader.error;
}

/* Whether it is worth a look for a part: often enough, and never for little. */
static bool is_time(struct gpt_trace *log)
{
	uint64_t waiting = builder_waiting(log->second);

	if (waiting < log->division.part_events || waiting < log->waited + log->waited / 4)
		return false;
	log->waited = waiting;
	return true;
}

static const struct model *next_of_long(struct trace *trace)
{
	struct gpt_trace *log = of(trace);
	const struct model *part = NULL;

	if (trace->error)
		return NULL;
	while (!part && !log->ended) {
		bool more = feed_stretch(log, log->second);

		if (builder_strayed(log->second))
			trace->error = -ESTALE;
		else if (log->reader.error)
			trace->error = log->reader.error;
		if (trace->error)
			return NULL;
		if (!more || is_time(log))
			part = builder_part(log->second, log->stretch + !more);
	}
	if (part)
		log->waited = 0;
	return part;
}

static const struct model *first_of_long(struct trace *trace)
{
	struct gpt_trace *log = of(trace);

	if (log->second)
		builder_discard(log->second);
	log->second = NULL;
	trace->error = log_reader_again(&log->reader);
	if (trace->error)
		return NULL;
	begin_reading(log);
	log->second = builder_new_second(log->first);
	gpt_feed_begin(log->second, &log->reader);
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

static const struct trace_kind long_log = {
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

static const struct trace_kind short_log = {.first = first_of_short, .next = next_of_short};

/* -E2BIG: it is a long one. */
static int read_whole(struct gpt_trace *log)
{
	struct builder *builder = builder_new();
	int err;

	if (log_reader_can_again(&log->reader))
		log_reader_bound(&log->reader, log->division.whole_bytes);
	err = gpt_feed_all(builder, &log->reader);
	if (!err && log->reader.too_long && log_reader_can_again(&log->reader))
		err = -E2BIG;
	if (err)
		builder_discard(builder);
	else
		log->model = builder_finish(builder);
	return err;
}

/* ------------------------------------------------------------------------------------------------------------------ */

int gpt_trace_open(int fd, const struct gpt_division *division, const struct log_restriction *wanted,
		   struct trace **trace, const char **why)
{
	struct gpt_trace *log = xcalloc(1, sizeof(*log));
	int err;

	*trace = NULL;
	*why = NULL;
	log->trace.kind = &short_log;
	log->division = division ? *division : gpt_division_default;
	err = log_reader_open(&log->reader, fd, why);
	if (!err && wanted) {
		log_reader_restrict(&log->reader, wanted);
		err = log->reader.error;
	}
	if (!err)
		err = read_whole(log);
	if (err == -E2BIG) {
		log->trace.kind = &long_log;
		err = learn(log);
	}
	if (err)
		gpt_trace_close(&log->trace);
	else
		*trace = &log->trace;
	return err;
}

void gpt_trace_close(struct trace *trace)
{
	struct gpt_trace *log;

	if (!trace)
		return;
	log = of(trace);
	if (log->second)
		builder_discard(log->second);
	if (log->first)
		builder_discard(log->first);
	model_free(log->model);
	log_reader_close(&log->reader);
	free(log);
}
