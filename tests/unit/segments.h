/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log file taken apart for tests of log writers: header, segments, index, trailer, each checked against log.h by
 * asserts. Of the reader's code it uses only unpack().
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "log/packing/schema.h"
#include "log/packing/unpack.h"

#define SEGMENTS_MAX 4096u

struct whole_segment {
	struct gpt_log_segment header;
	const uint8_t *header_bytes; /* including its lists */
	uint64_t offset;
	uint8_t *records;
};

struct segments {
	uint8_t *file;
	uint64_t bytes;
	struct gpt_log_header header;
	struct schema *schema;
	struct whole_segment items[SEGMENTS_MAX];
	unsigned count;
	bool indexed;
	uint64_t left_over; /* bytes after the last whole segment that are not an index */
};

/* Returns false where no whole segment follows. */
static inline bool segments_take(struct segments *log, struct unpacker *unpacker, uint64_t offset)
{
	struct whole_segment *segment = &log->items[log->count];
	struct gpt_log_segment *header = &segment->header;
	uint64_t room = log->bytes - offset;
	uint8_t *packed;
	uint32_t sum;

	if (room < sizeof(*header))
		return false;
	memcpy(header, log->file + offset, sizeof(*header));
	if (header->magic != GPT_LOG_SEGMENT_MAGIC || header->header_size + gpt_padded(header->body_bytes) > room)
		return false;
	assert_true(log->count + 1 < SEGMENTS_MAX);
	segment->offset = offset;
	segment->header_bytes = log->file + offset;
	sum = header->checksum;
	memset(log->file + offset + offsetof(struct gpt_log_segment, checksum), 0, sizeof(sum));
	assert_int_equal(sum, crc32(0, log->file + offset, header->header_size + header->body_bytes));
	memcpy(log->file + offset + offsetof(struct gpt_log_segment, checksum), &sum, sizeof(sum));
	assert_int_equal(ZSTD_getFrameContentSize(log->file + offset + header->header_size, header->body_bytes),
			 header->packed_bytes);
	packed = malloc(header->packed_bytes + 1);
	segment->records = malloc(header->record_bytes + 1);
	assert_int_equal(ZSTD_decompress(packed, header->packed_bytes, log->file + offset + header->header_size,
					 header->body_bytes),
			 header->packed_bytes);
	assert_int_equal(unpack(unpacker, packed, header->packed_bytes, segment->records, header->record_bytes), 0);
	free(packed);
	log->count++;
	return true;
}

/* The index holds the offset and a copy of the header of each segment. */
static inline void segments_check_index(struct segments *log, uint64_t offset)
{
	struct gpt_log_trailer trailer;
	struct gpt_log_index index;
	uint64_t at;

	memcpy(&trailer, log->file + log->bytes - sizeof(trailer), sizeof(trailer));
	assert_int_equal(trailer.magic, GPT_LOG_TRAILER_MAGIC);
	assert_int_equal(trailer.index_offset, offset);
	assert_int_equal(trailer.index_bytes, log->bytes - sizeof(trailer) - offset);
	memcpy(&index, log->file + offset, sizeof(index));
	assert_int_equal(index.bytes, trailer.index_bytes);
	assert_int_equal(index.segments, log->count);
	memset(log->file + offset + offsetof(struct gpt_log_index, checksum), 0, 4);
	assert_int_equal(index.checksum, crc32(0, log->file + offset, (unsigned)index.bytes));
	at = offset + index.header_size;
	for (unsigned i = 0; i < log->count; i++) {
		const struct whole_segment *segment = &log->items[i];

		assert_memory_equal(log->file + at, &segment->offset, sizeof(struct gpt_log_entry));
		at += sizeof(struct gpt_log_entry);
		assert_memory_equal(log->file + at, segment->header_bytes, segment->header.header_size);
		at += segment->header.header_size;
	}
	assert_int_equal(at, offset + index.bytes);
	log->indexed = true;
}

/* Takes apart any file that begins as a log; free it with segments_free. */
static inline struct segments *segments_of(int fd)
{
	struct segments *log = calloc(1, sizeof(*log));
	struct unpacker *unpacker;
	struct stat stat;
	uint64_t at;
	uint32_t magic = 0;

	assert_int_equal(fstat(fd, &stat), 0);
	log->bytes = (uint64_t)stat.st_size;
	log->file = malloc(log->bytes + 1);
	assert_int_equal(pread(fd, log->file, log->bytes, 0), log->bytes);
	assert_true(log->bytes >= sizeof(log->header));
	memcpy(&log->header, log->file, sizeof(log->header));
	assert_int_equal(log->header.magic, GPT_LOG_MAGIC);
	assert_int_equal(log->header.version, GPT_LOG_VERSION);
	at = gpt_padded(log->header.header_size + log->header.schema_bytes);
	assert_true(at <= log->bytes);
	assert_int_equal(
		schema_parse((const char *)log->file + log->header.header_size, log->header.schema_bytes, &log->schema),
		0);
	unpacker = unpacker_new(log->schema);
	while (segments_take(log, unpacker, at)) {
		const struct gpt_log_segment *header = &log->items[log->count - 1].header;

		at += header->header_size + gpt_padded(header->body_bytes);
	}
	unpacker_free(unpacker);
	if (log->bytes - at >= sizeof(magic))
		memcpy(&magic, log->file + at, sizeof(magic));
	if (magic == GPT_LOG_INDEX_MAGIC)
		segments_check_index(log, at);
	else
		log->left_over = log->bytes - at;
	return log;
}

static inline void segments_free(struct segments *log)
{
	for (unsigned i = 0; i < log->count; i++)
		free(log->items[i].records);
	schema_free(log->schema);
	free(log->file);
	free(log);
}
