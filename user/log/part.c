/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/log.h>

#include "base/array.h"
#include "log/later_work.h"
#include "log/packing/schema.h"
#include "log/segment_decode.h"
#include "log/segment_file.h"

struct part {
	struct segment_file file;
	struct part_begin begin;
	struct schema *schema;
	struct segment_encoder *encoder;
	struct log_decoder decoder;
	struct log_segment decoded;
	struct log_bytes cut, room; /* records, and one of them */
	struct later_work later;    /* that of the calls which were cut */
};

struct part *part_new(int fd, const struct part_begin *begin)
{
	struct part *part = xcalloc(1, sizeof(*part));

	part->begin = *begin;
	part->schema = schema_own();
	part->encoder = segment_encoder_new(part->schema);
	segment_file_init(&part->file, fd);
	part->file.header.start_ns = begin->start_ns;
	part->file.header.wall_offset_ns = begin->wall_offset_ns;
	part->file.header.flags = GPT_LOG_PART;
	return part;
}

void part_free(struct part *part)
{
	if (!part)
		return;
	segment_file_free(&part->file);
	segment_encoder_free(part->encoder);
	log_segment_free(&part->decoded);
	log_decoder_free(&part->decoder);
	log_bytes_free(&part->cut);
	log_bytes_free(&part->room);
	later_work_free(&part->later);
	schema_free(part->schema);
	free(part);
}

int part_set_start(struct part *part, uint64_t start_ns, int64_t wall_offset_ns)
{
	part->file.header.start_ns = start_ns;
	part->file.header.wall_offset_ns = wall_offset_ns;
	return part->file.begun ? segment_file_write_header(&part->file) : 0;
}

int part_set_shared(struct part *part, uint32_t below)
{
	if (part->file.header.shared_below == below)
		return 0;
	part->file.header.shared_below = below;
	return part->file.begun ? segment_file_write_header(&part->file) : 0;
}

int part_set_continued(struct part *part)
{
	if (part->file.header.flags & GPT_LOG_CONTINUED)
		return 0;
	part->file.header.flags |= GPT_LOG_CONTINUED;
	return part->file.begun ? segment_file_write_header(&part->file) : 0;
}

uint64_t part_bytes(const struct part *part)
{
	return part->file.end;
}

uint64_t part_dropped(const struct part *part)
{
	return part->file.dropped;
}

/* Appends records that no segment has, as one more. */
static int append_records(struct part *part, const uint8_t *records, size_t bytes)
{
	struct segment segment;
	int err = segment_encode(part->encoder, records, bytes, 0, part->file.next, 0, &segment);

	return err ? err : segment_file_append(&part->file, &segment);
}

static uint32_t sequence_of(const struct segment *segment)
{
	return ((const struct gpt_log_segment *)segment->bytes)->sequence;
}

/* Before the first segment. Nothing came before number 0, so that there is nothing to outlive it. */
static int append_lasting(struct part *part, const struct segment *first)
{
	uint32_t sequence = sequence_of(first);

	if (part->file.places.count || !sequence || !part->begin.lasting->count)
		return 0;
	part->file.next = sequence - 1;
	return append_records(part, part->begin.lasting->bytes, part->begin.lasting->count);
}

/* ---- segments that go on beyond the end -------------------------------------------------------------------------- */

static int decode_segment(struct part *part, const struct segment *segment)
{
	struct log_segment *decoded = &part->decoded;

	memcpy(&decoded->header, segment->bytes, sizeof(decoded->header));
	log_bytes_reserve(&decoded->file, segment->size, 0);
	memcpy(decoded->file.data, segment->bytes, segment->size);
	return log_segment_decode(decoded, &part->decoder, part->schema);
}

/* A call may come after what is reported of it, if they come from two processors. */
static void note_later_calls(struct part *part, uint64_t end_ns, cut_fn *cut)
{
	const struct log_segment *decoded = &part->decoded;
	const struct gpt_record *record;

	for (size_t at = decoded->own; at < decoded->header.record_bytes; at += record->size) {
		record = (const struct gpt_record *)(decoded->records.data + at);
		if (!cut(record, end_ns, (struct gpt_record *)part->room.data))
			later_work_note(&part->later, record);
	}
}

/* Copies the records that belong to the log; returns their bytes. */
static size_t cut_records(struct part *part, uint64_t end_ns, cut_fn *cut)
{
	const struct log_segment *decoded = &part->decoded;
	size_t bytes = decoded->own;
	uint32_t size;

	log_bytes_reserve(&part->cut, decoded->header.record_bytes, 0);
	log_bytes_reserve(&part->room, GPT_RECORD_MAX, 0);
	memcpy(part->cut.data, decoded->records.data, bytes);
	note_later_calls(part, end_ns, cut);
	for (size_t at = decoded->own; at < decoded->header.record_bytes; at += size) {
		const struct gpt_record *record = (const struct gpt_record *)(decoded->records.data + at);

		size = record->size;
		record = cut(record, end_ns, (struct gpt_record *)part->room.data);
		if (record)
			record = later_work_cut(&part->later, record, (struct gpt_record *)part->room.data);
		if (!record || record->size > size)
			continue;
		memcpy(part->cut.data + bytes, record, record->size);
		bytes += record->size;
	}
	return bytes;
}

static int append_cut(struct part *part, const struct segment *segment, uint64_t end_ns, cut_fn *cut)
{
	struct gpt_log_segment header;
	struct segment shorter;
	size_t bytes;
	int err = decode_segment(part, segment);

	if (err)
		return err;
	header = part->decoded.header;
	bytes = cut_records(part, end_ns, cut);
	err = segment_encode(part->encoder, part->cut.data, bytes, header.repeated, header.sequence, header.flags,
			     &shorter);
	return err ? err : segment_file_append(&part->file, &shorter);
}

int part_append(struct part *part, const struct segment *segment, struct appended appended, uint64_t end_ns,
		cut_fn *cut)
{
	int err = segment_file_begin(&part->file);

	if (!err)
		err = append_lasting(part, segment);
	if (err)
		return err;
	if (cut && appended.last_ns >= end_ns)
		return append_cut(part, segment, end_ns, cut);
	return segment_file_append(&part->file, segment);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static int append_note(struct part *part, const char *text)
{
	size_t length = strlen(text) + 1, bytes = gpt_padded(sizeof(struct gpt_text) + length);
	struct gpt_text *note = xcalloc(1, bytes);
	int err;

	note->hdr = (struct gpt_record){.size = (uint32_t)bytes, .type = GPT_NOTE};
	note->bytes = (uint32_t)length;
	memcpy(note->text, text, length);
	err = append_records(part, (const uint8_t *)note, bytes);
	free(note);
	return err;
}

int part_finish(struct part *part, const char *note, struct gpt_end *end, int error)
{
	int err = error ? error : segment_file_begin(&part->file);

	if (!err && note)
		err = append_note(part, note);
	if (!err)
		err = segment_file_finish(&part->file, part->encoder, end);
	if (err) {
		end->reason = GPT_END_DISK;
		segment_file_salvage(&part->file, part->encoder, end, err);
	}
	return err;
}
