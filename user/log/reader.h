/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the records of a log one after the other, as they were before they were packed.  Segments are decoded ahead on
 * other threads; the memory needed does not depend on the length of the log.  A log may be a pipe, may be larger than
 * memory, and may shrink while it is read.  Does not know what records mean.
 *
 *	err = log_reader_open(&reader, fd, &why);
 *	while ((record = log_reader_next(&reader)))
 *		...
 *	(reader.error, reader.torn)
 *	err = log_reader_again(&reader);	then the same records once more
 *	log_reader_close(&reader);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "log/decode_ahead.h"
#include "log/index_read.h"
#include "log/restriction.h"
#include "log/returned.h"
#include "log/source.h"

/*
 * The default limit for bytes of records.  Keeps every index of a model of the whole log within 32 bits: a record takes
 * at least 8 bytes plus headers for each index that it makes.
 */
#define LOG_BYTES_MAX (32ull << 30)

struct log_reader {
	bool torn;     /* something is missing: the log was cut short, or a part of it is damaged */
	bool too_long; /* ended at the limit (log_reader_bound) */
	int error;     /* -errno of a failed read, 0 */
	/* segments that were: */
	uint32_t damaged;  /* left out as damaged */
	uint32_t read;	   /* decoded */
	uint32_t unwanted; /* skipped (log_reader_restrict) */
	struct gpt_log_header header;

	struct log_source source;
	struct schema *schema;
	struct decode_ahead ahead;
	struct log_index index;
	const struct log_restriction *restriction;
	uint64_t needed;     /* offset: segments that begin before it are wanted in any case */
	uint64_t first;	     /* offset of the first segment */
	bool at_end;	     /* nothing more to read */
	int64_t passed_over; /* sequence of the unwanted segment just before source.at, -1: none */

	const struct log_segment *segment; /* whose records are being returned, NULL: none */
	size_t at, end;			   /* in its records */
	size_t own;			   /* before it are repeated ones, of which only new ones are returned */
	bool has_gap;			   /* not all segments before it were returned */
	struct returned returned;	   /* since the last gap */
	uint64_t given, most;		   /* bytes of records of all segments: returned so far; the limit */
	int64_t sequence;		   /* of the last segment that was returned, -1: none */
};

/* Reads and checks header and schema.  -EPROTO, -EMEDIUMTYPE with *why a literal; -errno of reading, *why NULL. */
int log_reader_open(struct log_reader *reader, int fd, const char **why);
void log_reader_close(struct log_reader *reader);

/* The next record, valid until the next call; NULL at the end (see torn, error). */
const struct gpt_record *log_reader_next(struct log_reader *reader);

/*
 * Starts again with the first segment, at any time.  Forgets all that the reader has found; the restriction and the
 * limit stay.  -ESPIPE: the log is not a regular file (log_reader_can_again).
 */
int log_reader_again(struct log_reader *reader);
bool log_reader_can_again(const struct log_reader *reader);

/*
 * To be called before the first log_reader_next(), as log_reader_bound, or again before the first one after
 * log_reader_again().  The restriction stays the caller's; NULL: none.  A pipe is read whole: what a segment needs of
 * the segments before it is known too late.
 */
void log_reader_restrict(struct log_reader *reader, const struct log_restriction *restriction);
/* Returns no more than `bytes` bytes of records; the default is LOG_BYTES_MAX; UINT64_MAX: no limit. */
void log_reader_bound(struct log_reader *reader, uint64_t bytes);
