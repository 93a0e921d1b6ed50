/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the parts of the log at their offsets; saves what can be saved on a full disk. */
#include "log/segment_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "log/packing/schema.h"

void segment_file_init(struct segment_file *file, int fd)
{
	size_t bytes;

	memset(file, 0, sizeof(*file));
	file->fd = fd;
	file->schema = schema_text(&bytes);
	file->header = (struct gpt_log_header){
		.magic = GPT_LOG_MAGIC,
		.version = GPT_LOG_VERSION,
		.header_size = sizeof(file->header),
		.schema_bytes = (uint32_t)bytes,
		.schema_checksum = (uint32_t)crc32_z(0, (const Bytef *)file->schema, bytes),
	};
}

void segment_file_free(struct segment_file *file)
{
	free(file->schema);
	array_free(&file->places);
	array_free(&file->index);
}

/* Writes `bytes` at an offset; also notes in `reached` how far a failed write got. */
static int write_at(struct segment_file *file, const void *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t written = pwrite(file->fd, (const uint8_t *)bytes + done, size - done, (off_t)(offset + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		done += (size_t)written;
		if (offset + done > file->reached)
			file->reached = offset + done;
	}
	return 0;
}

/* Touches nothing that segment_file_append does: another thread may be in that. */
int segment_file_write_header(const struct segment_file *file)
{
	ssize_t written = pwrite(file->fd, &file->header, sizeof(file->header), 0);

	if (written < 0)
		return -errno;
	return written == (ssize_t)sizeof(file->header) ? 0 : -EIO;
}

int segment_file_begin(struct segment_file *file)
{
	uint64_t end = gpt_padded(sizeof(file->header) + file->header.schema_bytes);
	static const char zeros[8];
	int err;

	if (file->begun)
		return 0;
	err = write_at(file, &file->header, sizeof(file->header), 0);
	if (!err)
		err = write_at(file, file->schema, file->header.schema_bytes, sizeof(file->header));
	if (!err)
		err = write_at(file, zeros, end - sizeof(file->header) - file->header.schema_bytes,
			       sizeof(file->header) + file->header.schema_bytes);
	if (err)
		return err;
	file->begun = true;
	file->end = end;
	return 0;
}

static void add_to_index(struct segment_file *file, const struct segment *segment)
{
	struct segment_place place = {.offset = file->end, .index_size = file->index.count};
	struct gpt_log_entry entry = {.offset = file->end};
	size_t size = sizeof(entry) + segment->header_size;

	array_push(&file->places, place);
	file->index.items = array_reserve(file->index.items, 1, file->index.count, size, &file->index.capacity);
	memcpy(file->index.items + file->index.count, &entry, sizeof(entry));
	memcpy(file->index.items + file->index.count + sizeof(entry), segment->bytes, segment->header_size);
	file->index.count += size;
}

static uint32_t sequence_after(const void *header)
{
	return ((const struct gpt_log_segment *)header)->sequence + 1;
}

int segment_file_append(struct segment_file *file, const struct segment *segment)
{
	int err = segment_file_begin(file);

	if (!err)
		err = write_at(file, segment->bytes, segment->size, file->end);
	if (err)
		return err;
	add_to_index(file, segment);
	file->end += segment->size;
	file->next = sequence_after(segment->bytes);
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

static void take_back(struct segment_file *file)
{
	struct segment_place *last = &file->places.items[--file->places.count];

	file->end = last->offset;
	file->index.count = last->index_size;
	file->next--;
}

/* The index and the trailer; the caller frees them. */
static uint8_t *make_index(const struct segment_file *file, uint64_t offset, size_t *size)
{
	struct gpt_log_index index = {
		.magic = GPT_LOG_INDEX_MAGIC,
		.header_size = sizeof(index),
		.bytes = sizeof(index) + file->index.count,
		.segments = (uint32_t)file->places.count,
	};
	struct gpt_log_trailer trailer = {
		.index_offset = offset, .index_bytes = index.bytes, .magic = GPT_LOG_TRAILER_MAGIC};
	uint8_t *bytes;

	*size = index.bytes + sizeof(trailer);
	bytes = xmalloc(*size);
	memcpy(bytes, &index, sizeof(index));
	memcpy(bytes + sizeof(index), file->index.items, file->index.count);
	index.checksum = (uint32_t)crc32(0, bytes, (uInt)index.bytes);
	memcpy(bytes, &index, sizeof(index));
	memcpy(bytes + index.bytes, &trailer, sizeof(trailer));
	return bytes;
}

/* Writes GPT_END as a segment of its own after the last whole one, then index and trailer if `indexed`. */
static int write_end(struct segment_file *file, struct segment_encoder *encoder, const struct gpt_end *end,
		     bool indexed)
{
	struct segment segment;
	size_t size;
	AUTO_FREE uint8_t *index = NULL;
	int err = segment_encode(encoder, (const uint8_t *)end, end->hdr.size, 0, file->next, 0, &segment);

	if (!err)
		err = segment_file_append(file, &segment);
	if (err || !indexed)
		return err;
	index = make_index(file, file->end, &size);
	err = write_at(file, index, size, file->end);
	if (err)
		take_back(file);
	else
		file->end += size;
	return err;
}

int segment_file_finish(struct segment_file *file, struct segment_encoder *encoder, const struct gpt_end *end)
{
	return write_end(file, encoder, end, true);
}

static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

/* Of the segment that was taken back: the index still has its header. */
static uint64_t records_of(const struct segment_file *file)
{
	struct gpt_log_segment header;

	memcpy(&header, file->index.items + file->index.count + sizeof(struct gpt_log_entry), sizeof(header));
	return header.records - header.repeated;
}

/*
 * Bytes that were written have their blocks, so overwriting them works on a full disk: overwrites the last segments, as
 * few as possible.
 */
static int write_end_over(struct segment_file *file, struct segment_encoder *encoder, const struct gpt_end *end)
{
	uint64_t reached = file->reached;
	struct segment segment;
	int err = segment_encode(encoder, (const uint8_t *)end, end->hdr.size, 0, 0, 0, &segment);

	if (err || !file->begun)
		return err ? err : -ENOSPC;
	while (reached - file->end < segment.size) {
		if (!file->places.count)
			return -ENOSPC;
		take_back(file);
		file->dropped += records_of(file);
	}
	return write_end(file, encoder, end, false);
}

void segment_file_salvage(struct segment_file *file, struct segment_encoder *encoder, const struct gpt_end *end,
			  int error)
{
	int err = file->begun ? write_end(file, encoder, end, true) : error;

	if (err && file->begun)
		err = write_end(file, encoder, end, false);
	if (err && is_full(err))
		(void)write_end_over(file, encoder, end);
	(void)!ftruncate(file->fd, (off_t)file->end);
}
