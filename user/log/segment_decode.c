/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checks on the way from a segment's bytes to its records. */
#include "log/segment_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "log/packing/reshape.h"
#include "log/packing/schema.h"
#include "log/packing/unpack.h"

/* Segments that gputrace writes need less. */
#define KEPT_BYTES (16u << 20)

void log_bytes_reserve(struct log_bytes *bytes, size_t wanted, size_t kept)
{
	uint8_t *data;

	if (wanted <= bytes->capacity)
		return;
	data = xmalloc(wanted);
	if (kept)
		memcpy(data, bytes->data, kept);
	free(bytes->data);
	bytes->data = data;
	bytes->capacity = wanted;
}

void log_bytes_trim(struct log_bytes *bytes)
{
	if (bytes->capacity > KEPT_BYTES)
		log_bytes_free(bytes);
}

void log_bytes_free(struct log_bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof(*bytes));
}

bool log_segment_sizes_are_sane(const struct gpt_log_segment *header)
{
	return header->magic == GPT_LOG_SEGMENT_MAGIC && header->header_size >= sizeof(*header) &&
	       header->header_size % 8 == 0 && header->header_size <= GPT_LOG_SEGMENT_HEADER_MAX &&
	       header->body_bytes && header->body_bytes <= GPT_LOG_BODY_BYTES_MAX;
}

bool log_segment_header_is_sane(const struct gpt_log_segment *header)
{
	uint64_t processes = header->processes == GPT_LOG_ANY_PROCESS ? 0 : header->processes;
	uint64_t lists = header->kinds * (uint64_t)sizeof(struct gpt_log_kind) + processes * sizeof(uint32_t);

	return log_segment_sizes_are_sane(header) && lists <= header->header_size - sizeof(*header) &&
	       header->packed_bytes <= GPT_LOG_RECORD_BYTES_MAX && header->record_bytes <= GPT_LOG_RECORD_BYTES_MAX &&
	       header->record_bytes % 8 == 0 && header->repeated <= header->records &&
	       header->records <= header->record_bytes / sizeof(struct gpt_record);
}

static bool checksum_holds(const struct log_segment *segment)
{
	const size_t at = offsetof(struct gpt_log_segment, checksum), after = at + sizeof(uint32_t);
	const uint8_t *bytes = segment->file.data;
	size_t size = (size_t)segment->header.header_size + segment->header.body_bytes;
	uLong sum = crc32_z(0, bytes, at);

	sum = crc32_z(sum, (const Bytef[4]){0}, sizeof(uint32_t));
	sum = crc32_z(sum, bytes + after, size - after);
	return sum == segment->header.checksum;
}

/* The frame must hold as many bytes as the header says, which bounds the memory allocated for it. */
static bool decompress_frame(const struct log_segment *segment, struct log_decoder *decoder)
{
	const struct gpt_log_segment *header = &segment->header;
	const uint8_t *frame = segment->file.data + header->header_size;

	if (ZSTD_getFrameContentSize(frame, header->body_bytes) != header->packed_bytes)
		return false;
	if (!decoder->zstd)
		decoder->zstd = ZSTD_createDCtx();
	if (!decoder->zstd)
		return false;
	log_bytes_trim(&decoder->packed);
	log_bytes_reserve(&decoder->packed, header->packed_bytes, 0);
	return ZSTD_decompressDCtx(decoder->zstd, decoder->packed.data, header->packed_bytes, frame,
				   header->body_bytes) == header->packed_bytes;
}

/* Whether the unpacked bytes are as many whole records as the header says; sets segment->own. */
static bool records_are_whole(struct log_segment *segment)
{
	const struct gpt_log_segment *header = &segment->header;
	uint32_t count = 0;
	size_t at = 0;

	for (; at < header->record_bytes; count++) {
		struct gpt_record record;

		memcpy(&record, segment->records.data + at, sizeof(record));
		if (record.size < sizeof(record) || record.size % 8 || record.size > GPT_RECORD_MAX ||
		    record.size > header->record_bytes - at)
			return false;
		if (count == header->repeated)
			segment->own = at;
		at += record.size;
	}
	if (count == header->repeated)
		segment->own = at;
	return count == header->records;
}

/* Converts records of another version of gputrace to this one's structs. */
static bool take_our_layout(struct log_segment *segment, struct reshaper *reshaper)
{
	const uint8_t *records;
	size_t bytes;

	if (!reshaper)
		return true;
	if (reshape(reshaper, segment->records.data, segment->header.record_bytes, &records, &bytes))
		return false;
	log_bytes_reserve(&segment->records, bytes, 0);
	if (bytes)
		memcpy(segment->records.data, records, bytes);
	segment->header.record_bytes = (uint32_t)bytes;
	return true;
}

int log_segment_decode(struct log_segment *segment, struct log_decoder *decoder, const struct schema *schema)
{
	const struct gpt_log_segment *header = &segment->header;

	if (!log_segment_header_is_sane(header) || !checksum_holds(segment) || !decompress_frame(segment, decoder))
		return -EPROTO;
	if (!decoder->unpacker) {
		decoder->unpacker = unpacker_new(schema);
		decoder->reshaper = reshaper_new(schema, schema_own());
	}
	log_bytes_reserve(&segment->records, header->record_bytes, 0);
	if (unpack(decoder->unpacker, decoder->packed.data, header->packed_bytes, segment->records.data,
		   header->record_bytes) ||
	    !take_our_layout(segment, decoder->reshaper) || !records_are_whole(segment))
		return -EPROTO;
	return 0;
}

void log_segment_free(struct log_segment *segment)
{
	log_bytes_free(&segment->file);
	log_bytes_free(&segment->records);
}

void log_decoder_free(struct log_decoder *decoder)
{
	ZSTD_freeDCtx(decoder->zstd);
	if (decoder->unpacker)
		unpacker_free(decoder->unpacker);
	reshaper_free(decoder->reshaper);
	log_bytes_free(&decoder->packed);
	memset(decoder, 0, sizeof(*decoder));
}
