/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last segments of a log in memory: those of a span of time, and of a most size.  Each segment can be read by
 * itself, so older ones are dropped one by one, and what is left can be written as a log of its own at any time.
 * Goes by the times at which records were appended, not by those in records, which targets write.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "base/array.h"
#include "log/lasting.h"
#include "log/part.h"
#include "log/segment.h"

/* The segments that are kept; one thread adds, another may take. */
struct recent_segments;

/*
 * Segments stay until keep_ns after their last record.  Of more than `bytes` the oldest are dropped before that, but
 * never the latest one.
 */
struct recent_segments *recent_segments_new(uint64_t keep_ns, uint64_t bytes);
void recent_segments_free(struct recent_segments *recent); /* NULL is allowed */

/* Copies the segment.  records: those that it does not repeat.  -ENOMEM: it is not kept. */
int recent_segments_add(struct recent_segments *recent, const struct segment *segment, const uint8_t *records,
			size_t bytes, struct appended appended);

/* What was appended since then also stays if it is older, as far as there is room; UINT64_MAX: no more. */
void recent_segments_need(struct recent_segments *recent, uint64_t since_ns);

/* What was kept at one time; stays as it is while the recording goes on. */
struct recent_log {
	ARRAY(struct kept_segment *) segments;
	uint64_t bytes;		/* of memory */
	uint64_t since_ns;	/* all that was appended since then is there; 0: nothing was dropped */
	struct lasting lasting; /* of the segments that were dropped */
};

struct recent_log *recent_segments_take(struct recent_segments *recent);
void recent_log_free(struct recent_log *log);

struct recent_writing {
	uint64_t start_ns; /* when the recording begins of which this is the log, CLOCK_MONOTONIC; since_ns or later */
	int64_t wall_offset_ns;
	uint64_t since_ns; /* segments that end before it are left out, as if they were dropped; 0: none */
	const char *note;  /* a note of the log; NULL: none */
	cut_fn *cut;	   /* NULL: no record comes after the end */
};

/*
 * Writes a log into an empty regular file.  0 or -errno: then the file has whole segments and `end`, whose reason
 * becomes GPT_END_DISK, as far as there is room.
 */
int recent_log_write(const struct recent_log *log, int fd, const struct recent_writing *writing, struct gpt_end *end);
