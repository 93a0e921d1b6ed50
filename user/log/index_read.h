/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The index at the end of a log: where each segment begins, and its header.  It says which segments need not be read,
 * and nothing more: what is read is checked by its own header.
 */
#ifndef GPUTRACE_LOG_INDEX_READ_H
#define GPUTRACE_LOG_INDEX_READ_H

#include <stdint.h>

#include "log/segment_decode.h"
#include "log/source.h"

/* Room for a million segments: days of recording at full speed. */
#define LOG_INDEX_BYTES_MAX (256u << 20)

struct log_index {
	struct log_bytes bytes; /* none: the log has no index, or a damaged one */
	size_t size;
	size_t first, at; /* of the first entry, of the next */
};

/* Leaves the index empty when there is none that can be believed: 0; -errno of reading. */
int log_index_load(struct log_index *index, const struct log_source *source);

/*
 * The header of the segment at that offset, as the index has it and of sane sizes; NULL: it does not know one.
 * Offsets are asked for in ascending order.
 */
const struct gpt_log_segment *log_index_header(struct log_index *index, uint64_t offset);

/* The first segment is asked for again. */
void log_index_rewind(struct log_index *index);

void log_index_free(struct log_index *index);

#endif
