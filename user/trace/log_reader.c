/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading of logs: the window, the header, the bounds of records. */
#include "trace/log_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

/* What is asked of the kernel at once: stays in the second level cache until it is taken apart. */
#define READ_BYTES (256u << 10)
/* Holds the largest record and one read. */
#define WINDOW_BYTES (GPT_RECORD_MAX + READ_BYTES)
#define HEADER_SIZE_MAX 4096

static int read_some(struct log_reader *reader, void *buffer, size_t size)
{
	ssize_t got;

	do
		got = reader->seekable ? pread(reader->fd, buffer, size, (off_t)reader->read)
				       : read(reader->fd, buffer, size);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : (int)got;
}

/* Makes `wanted` unread bytes available when the log has them. */
static bool fill(struct log_reader *reader, size_t wanted)
{
	if (reader->filled - reader->first >= wanted)
		return true;
	memmove(reader->window, reader->window + reader->first, reader->filled - reader->first);
	reader->filled -= reader->first;
	reader->first = 0;
	while (reader->filled < wanted && !reader->at_end) {
		size_t room = READ_BYTES;
		int got;

		if (room > LOG_BYTES_MAX - reader->read)
			room = (size_t)(LOG_BYTES_MAX - reader->read);
		reader->too_long = room == 0;
		got = room ? read_some(reader, reader->window + reader->filled, room) : 0;
		if (got <= 0) {
			reader->error = got;
			reader->at_end = true;
			break;
		}
		reader->filled += (size_t)got;
		reader->read += (size_t)got;
	}
	return reader->filled - reader->first >= wanted;
}

static int check_header(struct log_reader *reader, const char **why)
{
	const struct gpt_log_1_header *header = &reader->header;

	if (!fill(reader, sizeof(*header))) {
		*why = reader->filled ? "it is too short to be a gputrace log" : "it is empty";
		return reader->error ? reader->error : -EPROTO;
	}
	memcpy(&reader->header, reader->window, sizeof(reader->header));
	if (header->magic != GPT_LOG_1_MAGIC) {
		*why = "it is not a gputrace log";
		return -EPROTO;
	}
	if (header->version != GPT_LOG_1_VERSION) {
		*why = "it was written by another version of gputrace";
		return -EMEDIUMTYPE;
	}
	if (header->header_size < sizeof(*header) || header->header_size % 8 || header->header_size > HEADER_SIZE_MAX ||
	    !fill(reader, header->header_size)) {
		*why = "its header is damaged";
		return reader->error ? reader->error : -EPROTO;
	}
	reader->first = header->header_size;
	return 0;
}

int log_reader_open(struct log_reader *reader, int fd, const char **why)
{
	int err;

	memset(reader, 0, sizeof(*reader));
	reader->fd = fd;
	reader->seekable = lseek(fd, 0, SEEK_CUR) >= 0;
	reader->window = xmalloc(WINDOW_BYTES);
	err = check_header(reader, why);
	if (reader->error)
		*why = NULL;
	if (err)
		log_reader_close(reader);
	return err;
}

void log_reader_close(struct log_reader *reader)
{
	free(reader->window);
	reader->window = NULL;
}

static bool size_is_sane(uint32_t size)
{
	return size >= sizeof(struct gpt_record) && size % 8 == 0 && size <= GPT_RECORD_MAX;
}

const struct gpt_record *log_reader_next(struct log_reader *reader)
{
	const struct gpt_record *record;
	uint32_t size;

	if (reader->torn || reader->error)
		return NULL;
	if (!fill(reader, sizeof(*record))) {
		reader->torn = reader->filled != reader->first || reader->too_long;
		return NULL;
	}
	size = ((const struct gpt_record *)(reader->window + reader->first))->size;
	if (!size_is_sane(size) || !fill(reader, size)) {
		reader->torn = true;
		return NULL;
	}
	record = (const struct gpt_record *)(reader->window + reader->first);
	reader->first += size;
	return record;
}
