/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes some of the segments of a recording as a log of its own, of one time of it.  Segments keep their numbers, so
 * that a reader sees which ones follow each other.  Before them is one with what must outlive older segments; after
 * them a note, and GPT_END.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "log/lasting.h"
#include "log/segment.h"

/* When the records of a segment were appended, CLOCK_MONOTONIC. */
struct appended {
	uint64_t first_ns, last_ns;
};

/* Returns the record, `room` with a part of it, or NULL if it comes after the end. */
typedef const struct gpt_record *cut_fn(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room);

struct part_begin {
	uint64_t start_ns; /* when the recording begins of which this is the log, CLOCK_MONOTONIC */
	int64_t wall_offset_ns;
	const struct lasting *lasting; /* of earlier segments; stays until the first one was appended */
};

struct part;

/* fd: of an empty regular file; the caller keeps it. */
struct part *part_new(int fd, const struct part_begin *begin);
void part_free(struct part *part);

/* Changes when its recording begins. */
int part_set_start(struct part *part, uint64_t start_ns, int64_t wall_offset_ns);

/* Segments with lower numbers are also in the log before (gpt_log_header).  -errno: as part_append */
int part_set_shared(struct part *part, uint32_t below);

/* The next log of the recording has what was launched after the end of this one.  -errno: as part_append */
int part_set_continued(struct part *part);

/* Bytes of the file so far. */
uint64_t part_bytes(const struct part *part);
/* Records that part_finish took from its end to make room for GPT_END. */
uint64_t part_dropped(const struct part *part);

/*
 * Appends a segment as it is, or, if it has records of after end_ns, those that `cut` leaves of it, without the GPU
 * work of calls that it has cut; NULL: all.
 * -errno: the next call must be part_finish with that.
 */
int part_append(struct part *part, const struct segment *segment, struct appended appended, uint64_t end_ns,
		cut_fn *cut);

/*
 * note: NULL for none; error: of part_append, or 0.  Returns `error` or an error of its own: then the file has whole
 * segments and `end`, whose reason becomes GPT_END_DISK, as far as there is room.
 */
int part_finish(struct part *part, const char *note, struct gpt_end *end, int error);
