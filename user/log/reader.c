/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds segments, has them decoded, and returns their records; notes what is missing. */
#include "log/reader.h"

#include <errno.h>
#include <string.h>

#include <zlib.h>

#include "base/array.h"
#include "log/packing/schema.h"

/* A frame is read in steps that double, so that memory depends on what is there and not on what a header says. */
#define FIRST_STEP (1u << 20)

/* ---- header and schema ------------------------------------------------------------------------ */

/* The first bytes of the header, the same in every version. */
#define COMMON_BYTES 24

static int check_common(struct log_reader *reader, int64_t got, const char **why)
{
	const struct gpt_log_header *header = &reader->header;

	*why = NULL;
	if (got < 0)
		return (int)got;
	if (!got) {
		*why = "it is empty";
		return -EPROTO;
	}
	if (got < (int64_t)sizeof(header->magic) || header->magic != GPT_LOG_MAGIC) {
		*why = "it is neither a gputrace log nor a trace in a form that gputrace reads (docs/formats.md, "
		       "\"Files that are read\")";
		return -EPROTO;
	}
	if (got < COMMON_BYTES) {
		*why = "it is too short to be a gputrace log";
		return -EPROTO;
	}
	if (header->version == 1) {
		*why = "it was written by an older gputrace (log version 1): report it with that one, or record again";
		return -EMEDIUMTYPE;
	}
	if (header->version != GPT_LOG_VERSION) {
		*why = "it was written by another version of gputrace: report it with that one";
		return -EMEDIUMTYPE;
	}
	return 0;
}

static int check_header(struct log_reader *reader, const char **why)
{
	struct gpt_log_header *header = &reader->header;
	struct log_source *source = &reader->source;
	int err = check_common(reader, log_source_read(source, header, COMMON_BYTES), why);
	int64_t got;

	if (err)
		return err;
	got = log_source_read(source, (uint8_t *)header + COMMON_BYTES, sizeof(*header) - COMMON_BYTES);
	if (got < 0)
		return (int)got;
	if (got < (int64_t)(sizeof(*header) - COMMON_BYTES) || header->header_size < sizeof(*header) ||
	    header->header_size % 8 || header->header_size > GPT_LOG_HEADER_MAX || !header->schema_bytes ||
	    header->schema_bytes > GPT_LOG_SCHEMA_MAX) {
		*why = "its header is damaged";
		return -EPROTO;
	}
	return log_source_skip(source, header->header_size - sizeof(*header));
}

static int read_schema(struct log_reader *reader, const char **why)
{
	size_t bytes = reader->header.schema_bytes, padded = gpt_padded(bytes);
	AUTO_FREE char *text = xmalloc(padded);
	int64_t got = log_source_read(&reader->source, text, padded);
	int err = got < 0 ? (int)got : 0;

	if (!err &&
	    (got < (int64_t)padded || crc32_z(0, (const Bytef *)text, bytes) != reader->header.schema_checksum ||
	     schema_parse(text, bytes, &reader->schema))) {
		*why = "its header is damaged";
		err = -EPROTO;
	}
	return err;
}

int log_reader_open(struct log_reader *reader, int fd, const char **why)
{
	int err;

	memset(reader, 0, sizeof(*reader));
	reader->sequence = reader->passed_over = -1;
	reader->most = LOG_BYTES_MAX;
	returned_open(&reader->returned);
	log_source_open(&reader->source, fd);
	err = check_header(reader, why);
	if (!err)
		err = read_schema(reader, why);
	if (!err)
		decode_ahead_open(&reader->ahead, reader->schema);
	reader->first = reader->source.at;
	return err;
}

bool log_reader_can_again(const struct log_reader *reader)
{
	return reader->source.seekable;
}

int log_reader_again(struct log_reader *reader)
{
	if (!log_reader_can_again(reader))
		return -ESPIPE;
	decode_ahead_drop(&reader->ahead);
	log_index_rewind(&reader->index);
	reader->torn = reader->too_long = reader->at_end = false;
	reader->error = 0;
	reader->damaged = reader->read = reader->unwanted = 0;
	reader->segment = NULL;
	reader->has_gap = false;
	reader->given = 0;
	reader->sequence = reader->passed_over = -1;
	reader->source.at = reader->first;
	return 0;
}

void log_reader_close(struct log_reader *reader)
{
	returned_close(&reader->returned);
	if (!reader->schema)
		return;
	decode_ahead_close(&reader->ahead);
	log_index_free(&reader->index);
	schema_free(reader->schema);
	reader->schema = NULL;
}

void log_reader_bound(struct log_reader *reader, uint64_t bytes)
{
	reader->most = bytes;
}

/* ---- which segments are wanted ---------------------------------------------------------------- */

/* The header of the segment at that offset with its lists, from the index or the file; NULL: there is none. */
static const struct gpt_log_segment *header_at(struct log_reader *reader, uint64_t at, struct log_bytes *room)
{
	const struct gpt_log_segment *known = log_index_header(&reader->index, at);
	struct gpt_log_segment header;

	if (known)
		return known;
	if (log_source_read_at(&reader->source, at, &header, sizeof(header)) < (int64_t)sizeof(header) ||
	    !log_segment_header_is_sane(&header))
		return NULL;
	log_bytes_reserve(room, header.header_size, 0);
	if (log_source_read_at(&reader->source, at, room->data, header.header_size) < header.header_size)
		return NULL;
	return (const struct gpt_log_segment *)room->data;
}

/* Sets `needed`: a segment that lacks something its records refer to needs the segments before it. */
static void find_needed(struct log_reader *reader)
{
	const struct gpt_log_segment *header;
	struct log_bytes room = {0};

	reader->needed = 0;
	for (uint64_t at = reader->first; (header = header_at(reader, at, &room));
	     at += header->header_size + log_segment_body_room(header))
		if (header->flags & GPT_LOG_SEGMENT_FORGOT && log_restriction_wants(reader->restriction, header))
			reader->needed = at;
	log_bytes_free(&room);
	log_index_rewind(&reader->index);
}

void log_reader_restrict(struct log_reader *reader, const struct log_restriction *restriction)
{
	reader->restriction = reader->source.seekable ? restriction : NULL;
	log_index_free(&reader->index);
	if (!reader->restriction)
		return;
	reader->error = log_index_load(&reader->index, &reader->source);
	find_needed(reader);
}

/* Whether the segment at that offset can be skipped. */
static bool is_unwanted(const struct log_reader *reader, uint64_t at, const struct gpt_log_segment *header)
{
	return at >= reader->needed && !log_restriction_wants(reader->restriction, header);
}

static int pass_over(struct log_reader *reader, const struct gpt_log_segment *header, uint64_t bytes)
{
	reader->passed_over = header->sequence;
	reader->unwanted++;
	return log_source_skip(&reader->source, bytes);
}

/* ---- from the file to the threads ------------------------------------------------------------- */

/* Takes what is there instead of a segment: the index, the end of a log without one, or garbage.  0; -errno. */
static int end_of_segments(struct log_reader *reader, const void *bytes, size_t size)
{
	const uint32_t magic = GPT_LOG_INDEX_MAGIC;

	reader->at_end = true;
	if (memcmp(bytes, &magic, size < sizeof(magic) ? size : sizeof(magic)) != 0 ||
	    log_source_is_beyond_end(&reader->source))
		reader->torn = true;
	/* reads a pipe to its end, so that its writer can finish */
	return reader->torn || reader->source.seekable ? 0 : log_source_skip(&reader->source, LOG_INDEX_BYTES_MAX);
}

/* Appends to what `segment->file` holds.  1: all of it came, 0: the file ended, -errno. */
static int read_more(struct log_reader *reader, struct log_segment *segment, size_t have, size_t bytes)
{
	size_t step = FIRST_STEP;

	for (size_t end = have + bytes; have < end; step *= 2) {
		size_t piece = step < end - have ? step : end - have;
		int64_t got;

		log_bytes_reserve(&segment->file, have + piece, have);
		got = log_source_read(&reader->source, segment->file.data + have, piece);
		if (got < (int64_t)piece)
			return got < 0 ? (int)got : 0;
		have += piece;
	}
	return 1;
}

/* Reads the header, and the body when it is wanted.  1: a segment was read; 0: it was skipped, or the log ends
 * (at_end); -errno. */
static int read_segment(struct log_reader *reader, struct log_segment *segment)
{
	struct gpt_log_segment *header = &segment->header;
	struct log_source *source = &reader->source;
	int64_t got = log_source_read(source, header, sizeof(*header));
	size_t lists;
	int err;

	if (got < 0)
		return (int)got;
	if (got < (int64_t)sizeof(*header) || !log_segment_sizes_are_sane(header))
		return end_of_segments(reader, header, (size_t)got);
	lists = header->header_size - sizeof(*header);
	log_bytes_reserve(&segment->file, header->header_size, 0);
	memcpy(segment->file.data, header, sizeof(*header));
	err = read_more(reader, segment, sizeof(*header), lists);
	if (err == 1 && log_segment_header_is_sane(header) &&
	    is_unwanted(reader, source->at - header->header_size, (const void *)segment->file.data))
		return pass_over(reader, header, log_segment_body_room(header));
	if (err == 1)
		err = read_more(reader, segment, header->header_size, (size_t)log_segment_body_room(header));
	if (err == 0)
		reader->torn = reader->at_end = true;
	return err;
}

/* Skips unwanted segments that the index knows, without reading them. */
static int pass_over_by_index(struct log_reader *reader)
{
	const struct gpt_log_segment *header;
	int err = 0;

	while (!err && reader->index.size && (header = log_index_header(&reader->index, reader->source.at)) &&
	       is_unwanted(reader, reader->source.at, header))
		err = pass_over(reader, header, header->header_size + log_segment_body_room(header));
	return err;
}

static void read_ahead(struct log_reader *reader)
{
	struct log_segment *segment;

	while (!reader->at_end && !reader->error && (segment = decode_ahead_room(&reader->ahead))) {
		int err = pass_over_by_index(reader);

		if (!err)
			err = read_segment(reader, segment);
		if (err < 0) {
			reader->error = err;
		} else if (err) {
			segment->passed_over = reader->passed_over;
			reader->passed_over = -1;
			decode_ahead_put(&reader->ahead);
		}
	}
}

/* ---- from the threads to the records ---------------------------------------------------------- */

/* Whether a segment directly follows the last one that was returned, or is the first of the log. */
static bool follows_last(struct log_reader *reader, const struct log_segment *segment)
{
	bool was_passed_over = segment->passed_over >= 0;
	int64_t before = was_passed_over ? segment->passed_over : reader->sequence;

	bool is_first_of_part = before < 0 && reader->header.flags & GPT_LOG_PART;

	if (segment->header.sequence != before + 1 && !is_first_of_part)
		reader->torn = true;
	return !was_passed_over && segment->header.sequence == before + 1;
}

/*
 * Finds which of the records that the segment repeats are needed: none while all before it was returned; after a gap
 * all, and in the segments after that those which have not been returned since.
 */
static void begin_segment(struct log_reader *reader, const struct log_segment *segment)
{
	bool follows = follows_last(reader, segment);

	if (!follows)
		returned_forget(&reader->returned);
	reader->has_gap |= !follows;
	reader->at = reader->has_gap ? 0 : segment->own;
	reader->own = follows ? segment->own : 0;
	reader->end = segment->header.record_bytes;
	reader->sequence = segment->header.sequence;
	reader->segment = segment;
	reader->read++;
}

/* Takes the next segment whose records can be returned. */
static bool next_segment(struct log_reader *reader)
{
	const struct log_segment *segment;
	int err = 0;

	if (reader->segment)
		decode_ahead_done(&reader->ahead);
	reader->segment = NULL;
	for (;;) {
		read_ahead(reader);
		segment = reader->error ? NULL : decode_ahead_oldest(&reader->ahead, &err);
		if (!segment) {
			/* other readers of the log may go on for long: free memory now */
			decode_ahead_rest(&reader->ahead);
			return false;
		}
		if (err || segment->header.sequence <= reader->sequence) {
			reader->torn = true;
			reader->damaged++;
			decode_ahead_done(&reader->ahead);
			continue;
		}
		begin_segment(reader, segment);
		return true;
	}
}

/* The next record that is needed, at reader->at; NULL: there is none. */
static const struct gpt_record *find_next(struct log_reader *reader)
{
	const struct gpt_record *record;
	bool is_repeated;

	for (;;) {
		while (!reader->segment || reader->at == reader->end)
			if (!next_segment(reader))
				return NULL;
		record = (const struct gpt_record *)(reader->segment->records.data + reader->at);
		is_repeated = reader->at < reader->own;
		if (!reader->has_gap || returned_note(&reader->returned, record) || !is_repeated)
			return record;
		reader->at += record->size;
	}
}

const struct gpt_record *log_reader_next(struct log_reader *reader)
{
	const struct gpt_record *record;

	if (reader->error || reader->too_long)
		return NULL;
	record = find_next(reader);
	if (!record)
		return NULL;
	if (record->size > reader->most - reader->given) {
		reader->torn = reader->too_long = true;
		return NULL;
	}
	reader->at += record->size;
	reader->given += record->size;
	return record;
}
