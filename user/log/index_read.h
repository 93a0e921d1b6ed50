/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The index at the end of a log: where each segment begins, and its header.  It only says which segments need not be
 * read: a segment that is read is checked by its own header.
 */
#pragma once

#include <stdint.h>

#include "log/segment_decode.h"
#include "log/source.h"

/* Room for a million segments: days of recording at full speed. */
#define LOG_INDEX_BYTES_MAX (256u << 20)

struct log_index {
	struct log_bytes bytes; /* none: the log has no index, or a damaged one */
	size_t size;
	size_t first, at; /* offsets of the first entry and of the next one */
};

/* Leaves the index empty when the log has none, or a damaged one.  0, or -errno of reading. */
int log_index_load(struct log_index *index, const struct log_source *source);

/*
 * The header of the segment at that offset, from the index, with sane sizes; NULL: the index has none.
 * To be called with ascending offsets.
 */
const struct gpt_log_segment *log_index_header(struct log_index *index, uint64_t offset);

/* Starts again with the first segment. */
void log_index_rewind(struct log_index *index);

void log_index_free(struct log_index *index);
