/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the log file: header and schema, segments, and at the end GPT_END, index and trailer.  Knows where each
 * segment lies; when a write fails, it makes room for GPT_END after whole segments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "base/array.h"
#include "log/segment.h"

struct segment_place {
	uint64_t offset;   /* in the file */
	size_t index_size; /* bytes of index[] in front of its entry */
};

struct segment_file {
	int fd; /* the caller's */
	struct gpt_log_header header;
	char *schema;
	bool begun;	  /* header and schema are in the file */
	uint64_t end;	  /* of the last whole segment */
	uint64_t reached; /* end of the bytes written, also of a partial segment */
	uint32_t next;	  /* sequence of the next segment */
	uint64_t dropped; /* records of segments that had to make room, a batch counts as one */
	ARRAY(struct segment_place) places;
	ARRAY(uint8_t) index; /* its entries */
};

void segment_file_init(struct segment_file *file, int fd);
void segment_file_free(struct segment_file *file);

/* Writes header and schema, once. -errno */
int segment_file_begin(struct segment_file *file);
/* Overwrites the header in the file with the present one. */
int segment_file_write_header(const struct segment_file *file);

/* -errno: the segment is not in the file, or not whole; the next call must be segment_file_salvage. */
int segment_file_append(struct segment_file *file, const struct segment *segment);

/* Writes GPT_END as a segment of its own, index and trailer. -errno, as above. */
int segment_file_finish(struct segment_file *file, struct segment_encoder *encoder, const struct gpt_end *end);

/*
 * To be called after a write has failed with `error`.  As far as possible, the file becomes whole segments and GPT_END
 * after them, even if the last segments must be dropped; with index and trailer where there is room.  At least it is
 * cut after a whole segment.
 */
void segment_file_salvage(struct segment_file *file, struct segment_encoder *encoder, const struct gpt_end *end,
			  int error);
