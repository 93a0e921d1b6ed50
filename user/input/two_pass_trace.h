/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A source of events as a trace (model/trace.h).  A short source is fed to a builder once and is one part.  A long one
 * is fed once for pass 1, which collects what only its end shows, and again for every walk over its parts (pass 2);
 * memory use does not grow with its length.  Formats are the source's business.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/trace.h"

struct builder;

/* Limits that decide how a source is divided. */
struct trace_division {
	uint64_t whole_bytes;	/* bytes of records; a source with more is long */
	uint32_t chunk_records; /* records per chunk (builder_begin_chunk) */
	uint64_t chunk_bytes;	/* or bytes per chunk, 0: no limit; one record may hold hundreds of events */
	uint32_t part_events;	/* events that must wait before a part is asked for */
};

extern const struct trace_division trace_division_default;

struct trace_source {
	const struct trace_source_kind *kind;
	int error;	    /* -errno of the last pass, or 0 */
	uint64_t fed_bytes; /* bytes fed so far, where one record holds many events */
};

struct trace_source_kind {
	/* Starts over; reads at most `most_bytes` of records.  Returns 0 or -errno. */
	int (*restart)(struct trace_source *source, uint64_t most_bytes);
	/* Feeds facts about the whole source, before the first and after the last event of a pass. */
	void (*feed_begin)(struct trace_source *source, struct builder *builder);
	void (*feed_end)(struct trace_source *source, struct builder *builder);
	/* Feeds the next event; false: no more events, or an error. */
	bool (*feed_next)(struct trace_source *source, struct builder *builder);
	/* Whether the pass ended at the limit, and the source can start over. */
	bool (*is_longer)(const struct trace_source *source);
	void (*close)(struct trace_source *source);
};

/*
 * The source is at its start; the trace takes ownership of it, also on error (-errno).  division: NULL for the default.
 * The caller closes *trace with two_pass_trace_close.
 */
int two_pass_trace_open(struct trace_source *source, const struct trace_division *division, struct trace **trace);
void two_pass_trace_close(struct trace *trace);

/*
 * A second trace of the same source, for another walk at the same time, without a pass 1 of its own.  of: the first
 * trace, which is long and must outlive this one.  source: feeds the same events; the new trace takes ownership.
 */
bool two_pass_trace_is_long(const struct trace *trace);
struct trace *two_pass_trace_reopen(struct trace_source *source, const struct trace *of);
