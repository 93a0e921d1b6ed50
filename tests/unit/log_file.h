/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes log files segment by segment for tests and fuzzing: any byte can be made wrong on purpose, and the checksum
 * recomputed. The segments hold records made by log_builder.h.
 *
 *	struct log_file file;
 *	log_file_begin(&file, 1000, 0);
 *	at = log_file_segment(&file, records, bytes, 0);
 *	log_file_header(&file, at)->records++;
 *	log_file_sign(&file, at);
 *	log_file_finish(&file);
 *	fd = log_file_fd(&file); log_file_free(&file);
 */
#pragma once

#include <gputrace/log.h>
#include <zlib.h>
#include <zstd.h>

#include "log/packing/pack.h"
#include "log/packing/schema.h"
#include "log_builder.h"

#define LOG_FILE_SEGMENTS_MAX 4096

struct log_file {
	struct log_builder bytes;
	struct schema *schema;
	struct packer *packer;
	uint32_t segments;
	size_t offsets[LOG_FILE_SEGMENTS_MAX];
};

/* Uses the schema of another gputrace to pack the records. */
LOG_FN void log_file_begin_by(struct log_file *file, const char *text, size_t bytes, uint64_t start_ns,
			      int64_t wall_offset_ns)
{
	struct gpt_log_header header = {.magic = GPT_LOG_MAGIC,
					.version = GPT_LOG_VERSION,
					.header_size = sizeof(header),
					.start_ns = start_ns,
					.wall_offset_ns = wall_offset_ns};

	memset(file, 0, sizeof(*file));
	if (schema_parse(text, bytes, &file->schema))
		abort();
	file->packer = packer_new(file->schema);
	header.schema_bytes = (uint32_t)bytes;
	header.schema_checksum = (uint32_t)crc32_z(0, (const Bytef *)text, bytes);
	log_raw(&file->bytes, &header, sizeof(header));
	log_raw(&file->bytes, text, bytes);
	log_pad(&file->bytes);
}

LOG_FN void log_file_begin(struct log_file *file, uint64_t start_ns, int64_t wall_offset_ns)
{
	size_t bytes;
	char *text = schema_text(&bytes);

	log_file_begin_by(file, text, bytes, start_ns, wall_offset_ns);
	free(text);
}

LOG_FN void log_file_free(struct log_file *file)
{
	packer_free(file->packer);
	schema_free(file->schema);
	log_free(&file->bytes);
}

/* Valid until the next append. */
LOG_FN struct gpt_log_segment *log_file_header(struct log_file *file, size_t at)
{
	return (struct gpt_log_segment *)(file->bytes.data + at);
}

/* Recomputes the checksum of the segment, over the bytes that exist. */
LOG_FN void log_file_sign(struct log_file *file, size_t at)
{
	struct gpt_log_segment *header = log_file_header(file, at);
	size_t bytes = (size_t)header->header_size + header->body_bytes;

	header->checksum = 0;
	header->checksum = (uint32_t)crc32_z(0, file->bytes.data + at,
					     bytes < file->bytes.size - at ? bytes : file->bytes.size - at);
}

/* Appends a segment with this header and body, and the kinds and processes that pack() found; returns its offset. */
LOG_FN size_t log_file_put(struct log_file *file, struct gpt_log_segment header, const struct pack_out *lists,
			   const void *body, size_t body_bytes)
{
	size_t at = file->bytes.size;

	header.magic = GPT_LOG_SEGMENT_MAGIC;
	header.body_bytes = (uint32_t)body_bytes;
	header.kinds = lists ? lists->kind_count : 0;
	header.processes = lists ? lists->pid_count : 0;
	log_raw(&file->bytes, &header, sizeof(header));
	if (lists)
		log_raw(&file->bytes, lists->kinds, lists->kind_count * sizeof(*lists->kinds));
	if (lists && lists->pid_count != GPT_LOG_ANY_PROCESS)
		log_raw(&file->bytes, lists->pids, lists->pid_count * sizeof(*lists->pids));
	log_pad(&file->bytes);
	log_file_header(file, at)->header_size = (uint32_t)(file->bytes.size - at);
	log_raw(&file->bytes, body, body_bytes);
	log_pad(&file->bytes);
	log_file_sign(file, at);
	if (file->segments < LOG_FILE_SEGMENTS_MAX)
		file->offsets[file->segments] = at;
	file->segments++;
	return at;
}

/* Appends a segment of whole records, the first `repeated` of which repeat earlier ones; returns its offset. */
LOG_FN size_t log_file_segment(struct log_file *file, const void *records, size_t bytes, uint32_t repeated)
{
	struct gpt_log_segment header = {
		.record_bytes = (uint32_t)bytes, .repeated = repeated, .sequence = file->segments};
	struct pack_out out;
	size_t room, at;
	void *body;

	if (pack(file->packer, records, bytes, repeated, &out))
		abort();
	header.packed_bytes = (uint32_t)out.packed_bytes;
	header.records = out.records;
	header.first_ns = out.first_ns;
	header.last_ns = out.last_ns;
	header.first_wall_ns = out.first_wall_ns;
	header.last_wall_ns = out.last_wall_ns;
	room = ZSTD_compressBound(out.packed_bytes);
	body = malloc(room);
	room = ZSTD_compress(body, room, out.packed, out.packed_bytes, 1);
	if (ZSTD_isError(room))
		abort();
	at = log_file_put(file, header, &out, body, room);
	free(body);
	return at;
}

/* Writes index and trailer. */
LOG_FN void log_file_finish(struct log_file *file)
{
	struct gpt_log_index index = {
		.magic = GPT_LOG_INDEX_MAGIC, .header_size = sizeof(index), .segments = file->segments};
	struct gpt_log_trailer trailer = {.index_offset = file->bytes.size, .magic = GPT_LOG_TRAILER_MAGIC};
	struct gpt_log_index *placed;

	log_raw(&file->bytes, &index, sizeof(index));
	for (uint32_t i = 0; i < file->segments; i++) {
		struct gpt_log_entry entry = {.offset = file->offsets[i]};
		uint32_t bytes = log_file_header(file, file->offsets[i])->header_size;
		uint8_t header[GPT_LOG_SEGMENT_HEADER_MAX];

		memcpy(header, file->bytes.data + file->offsets[i], bytes);
		log_raw(&file->bytes, &entry, sizeof(entry));
		log_raw(&file->bytes, header, bytes);
	}
	placed = (struct gpt_log_index *)(file->bytes.data + trailer.index_offset);
	placed->bytes = trailer.index_bytes = file->bytes.size - trailer.index_offset;
	placed->checksum = (uint32_t)crc32_z(0, (const Bytef *)placed, trailer.index_bytes);
	log_raw(&file->bytes, &trailer, sizeof(trailer));
}

LOG_FN int log_file_fd(const struct log_file *file)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	for (size_t done = 0; fd >= 0 && done < file->bytes.size;) {
		ssize_t wrote = write(fd, file->bytes.data + done, file->bytes.size - done);

		if (wrote <= 0)
			abort();
		done += (size_t)wrote;
	}
	if (fd < 0)
		abort();
	return fd;
}
