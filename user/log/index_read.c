/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks the index's trailer, checksum and entries. */
#include "log/index_read.h"

#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

/* Checks header, size and checksum, but not the entries. */
static bool index_is_whole(const uint8_t *bytes, size_t size, struct gpt_log_index *header)
{
	const size_t at = offsetof(struct gpt_log_index, checksum), after = at + sizeof(uint32_t);
	uLong sum;

	memcpy(header, bytes, sizeof(*header));
	if (header->magic != GPT_LOG_INDEX_MAGIC || header->header_size < sizeof(*header) || header->header_size % 8 ||
	    header->header_size > size || header->bytes != size)
		return false;
	sum = crc32_z(0, bytes, at);
	sum = crc32_z(sum, (const Bytef[4]){0}, sizeof(uint32_t));
	sum = crc32_z(sum, bytes + after, size - after);
	return sum == header->checksum;
}

int log_index_load(struct log_index *index, const struct log_source *source)
{
	struct gpt_log_trailer trailer;
	struct gpt_log_index header;
	struct stat file;
	uint64_t end;
	int64_t got;

	memset(index, 0, sizeof(*index));
	if (!source->seekable || fstat(source->fd, &file) || (uint64_t)file.st_size < sizeof(trailer))
		return 0;
	end = (uint64_t)file.st_size - sizeof(trailer);
	got = log_source_read_at(source, end, &trailer, sizeof(trailer));
	if (got < 0)
		return (int)got;
	if (got < (int64_t)sizeof(trailer) || trailer.magic != GPT_LOG_TRAILER_MAGIC ||
	    trailer.index_bytes < sizeof(header) || trailer.index_bytes % 8 ||
	    trailer.index_bytes > LOG_INDEX_BYTES_MAX || trailer.index_bytes > end ||
	    trailer.index_offset != end - trailer.index_bytes)
		return 0;
	log_bytes_reserve(&index->bytes, trailer.index_bytes, 0);
	got = log_source_read_at(source, trailer.index_offset, index->bytes.data, trailer.index_bytes);
	if (got == (int64_t)trailer.index_bytes && index_is_whole(index->bytes.data, trailer.index_bytes, &header)) {
		index->size = trailer.index_bytes;
		index->first = index->at = header.header_size;
	} else {
		log_index_free(index);
	}
	return got < 0 ? (int)got : 0;
}

const struct gpt_log_segment *log_index_header(struct log_index *index, uint64_t offset)
{
	const size_t least = sizeof(struct gpt_log_entry) + sizeof(struct gpt_log_segment);

	while (index->size - index->at >= least) {
		const uint8_t *entry = index->bytes.data + index->at;
		const struct gpt_log_segment *header = (const void *)(entry + sizeof(struct gpt_log_entry));
		struct gpt_log_entry place;

		memcpy(&place, entry, sizeof(place));
		if (place.offset > offset)
			break;
		if (!log_segment_header_is_sane(header) ||
		    header->header_size > index->size - index->at - sizeof(place)) {
			index->at = index->size;
			break;
		}
		index->at += sizeof(place) + header->header_size;
		if (place.offset == offset)
			return header;
	}
	return NULL;
}

void log_index_rewind(struct log_index *index)
{
	index->at = index->first;
}

void log_index_free(struct log_index *index)
{
	log_bytes_free(&index->bytes);
	memset(index, 0, sizeof(*index));
}
