/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A source of events as a trace (model/trace.h).  A short one is fed to a builder once and is one part.  A long one is
 * fed once for pass 1, which collects what only its end shows, and again for every walk over its parts (pass 2); the
 * memory that this takes does not grow with its length.  Knows no format: that is the source's.
 */
#ifndef GPUTRACE_INPUT_TWO_PASS_TRACE_H
#define GPUTRACE_INPUT_TWO_PASS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/trace.h"

struct builder;

/* What decides how a source is divided. */
struct trace_division {
	uint64_t whole_bytes;	/* of records: a source with more is long */
	uint32_t chunk_records; /* builder_begin_chunk: their number */
	uint64_t chunk_bytes;	/* or as many as have this, 0: any; one may hold hundreds of events */
	uint32_t part_events;	/* that wait before a part is asked for */
};

extern const struct trace_division trace_division_default;

struct trace_source {
	const struct trace_source_kind *kind;
	int error;	    /* -errno of the last round, 0 */
	uint64_t fed_bytes; /* so far, where events come many in one */
};

struct trace_source_kind {
	/* Starts over, with at most `most_bytes` of records; 0 or -errno. */
	int (*restart)(struct trace_source *source, uint64_t most_bytes);
	/* What is known of all of it, before the first and after the last event of a round. */
	void (*feed_begin)(struct trace_source *source, struct builder *builder);
	void (*feed_end)(struct trace_source *source, struct builder *builder);
	/* The next event; false: there are no more, or error. */
	bool (*feed_next)(struct trace_source *source, struct builder *builder);
	/* Whether the round ended at the limit, and the source can start over. */
	bool (*is_longer)(const struct trace_source *source);
	void (*close)(struct trace_source *source);
};

/*
 * The source is one that has just begun; it becomes the trace's, also in an error (-errno).  division: NULL for the
 * default.  The caller ends *trace with two_pass_trace_close.
 */
int two_pass_trace_open(struct trace_source *source, const struct trace_division *division, struct trace **trace);
void two_pass_trace_close(struct trace *trace);

/*
 * A second trace of the same source, for another walk at the same time, without a pass 1 of its own.  of: the first
 * one, which is long and must outlive this one.  source: feeds the same events, and becomes the new trace's.
 */
bool two_pass_trace_is_long(const struct trace *trace);
struct trace *two_pass_trace_reopen(struct trace_source *source, const struct trace *of);

#endif
