/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes the bytes of one segment to records: header, checksum, zstd, unpacking.  Nothing in a segment is trusted: the
 * result is exactly as many whole records as its header says, or nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

struct reshaper;
struct schema;
struct unpacker;

/* A growing buffer that is reused. */
struct log_bytes {
	uint8_t *data;
	size_t capacity;
};

/* Makes room for `wanted` bytes, keeping the first `kept`. */
void log_bytes_reserve(struct log_bytes *bytes, size_t wanted, size_t kept);
/* Frees the buffer if it is larger than segments written by gputrace need. */
void log_bytes_trim(struct log_bytes *bytes);
void log_bytes_free(struct log_bytes *bytes);

struct log_segment {
	struct gpt_log_segment header;
	struct log_bytes file;	  /* header with its lists, frame: as in the file */
	struct log_bytes records; /* decoded, header.record_bytes bytes, in the layout of this gputrace's structs */
	size_t own;		  /* where the records after the repeated ones begin */
	/* used by the reader */
	int64_t passed_over; /* sequence of the unwanted segment just before it, -1: none */
};

/* What a thread that decodes keeps between segments. */
struct log_decoder {
	struct ZSTD_DCtx_s *zstd;
	struct unpacker *unpacker;
	struct reshaper *reshaper; /* NULL: the log's records have the layout of this gputrace's structs */
	struct log_bytes packed;
};

/* Whether it is a segment's header with possible sizes, by which the next segment is found. */
bool log_segment_sizes_are_sane(const struct gpt_log_segment *header);
/* Whether the rest is possible, too, and the lists lie inside the header. */
bool log_segment_header_is_sane(const struct gpt_log_segment *header);

/* Bytes of the frame and of the padding after it. */
static inline uint64_t log_segment_body_room(const struct gpt_log_segment *header)
{
	return gpt_padded(header->body_bytes);
}

/* Decodes segment->file, which holds header_size + body_bytes bytes.  0, -EPROTO. */
int log_segment_decode(struct log_segment *segment, struct log_decoder *decoder, const struct schema *schema);

void log_segment_free(struct log_segment *segment);
void log_decoder_free(struct log_decoder *decoder);
