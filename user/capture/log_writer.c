/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log file: owns the buffer and the file's length, not the file descriptor.  Does not look into records
 * beyond their size.
 */
#include "capture/log_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/clock.h"

/* A few milliseconds of the highest rates; must hold the largest record. */
#define BUFFER_BYTES (4u << 20)
_Static_assert(BUFFER_BYTES > GPT_RECORD_MAX, "every record fits the buffer");

struct old_log {
	pthread_mutex_t lock; /* of all that follows */
	int fd;
	int error; /* sticky, negative errno */
	bool header_written;
	size_t fill;	       /* of buffer; always whole records (the first time with the header in front) */
	size_t reached;	       /* error: bytes of buffer that did get into the file */
	uint64_t offset;       /* of buffer[0] in the file */
	uint64_t spare_offset; /* a record boundary in the file with room for GPT_END behind it, 0: none */
	struct gpt_log_1_header header;
	uint8_t *buffer;
};

struct old_log *old_log_open(int fd)
{
	struct old_log *writer = xcalloc(1, sizeof(*writer));
	struct gpt_clock clock;

	clock_sample(&clock);
	pthread_mutex_init(&writer->lock, NULL);
	writer->fd = fd;
	writer->header = (struct gpt_log_1_header){
		.magic = GPT_LOG_1_MAGIC,
		.version = GPT_LOG_1_VERSION,
		.header_size = sizeof(writer->header),
		.start_ns = clock.mono_ns,
		.wall_offset_ns = clock.wall_offset_ns,
	};
	writer->buffer = xmalloc(BUFFER_BYTES);
	memcpy(writer->buffer, &writer->header, sizeof(writer->header));
	writer->fill = sizeof(writer->header);
	return writer;
}

void old_log_lock(struct old_log *writer)
{
	pthread_mutex_lock(&writer->lock);
}

void old_log_unlock(struct old_log *writer)
{
	pthread_mutex_unlock(&writer->lock);
}

int old_log_set_start(struct old_log *writer, uint64_t start_ns, int64_t wall_offset_ns)
{
	int error = 0;

	old_log_lock(writer);
	writer->header.start_ns = start_ns;
	writer->header.wall_offset_ns = wall_offset_ns;
	if (!writer->header_written)
		memcpy(writer->buffer, &writer->header, sizeof(writer->header));
	else if (pwrite(writer->fd, &writer->header, sizeof(writer->header), 0) != (ssize_t)sizeof(writer->header))
		error = -EIO;
	old_log_unlock(writer);
	return error;
}

/* The last record boundary of the buffer that is not behind `limit`; SIZE_MAX when even the first is. */
static size_t last_boundary(const struct old_log *writer, size_t limit)
{
	size_t at = writer->header_written ? 0 : sizeof(writer->header);
	size_t found = SIZE_MAX;

	while (at <= limit) {
		struct gpt_record record;

		found = at;
		if (at >= writer->fill)
			break;
		memcpy(&record, writer->buffer + at, sizeof(record));
		at += record.size;
	}
	return found;
}

/* Room that GPT_END of this version needs. */
#define END_BYTES (sizeof(struct gpt_end) + GPT_COUNTER_COUNT * sizeof(uint64_t))

static void remember_spare(struct old_log *writer, size_t bytes)
{
	size_t at = bytes < END_BYTES ? SIZE_MAX : last_boundary(writer, bytes - END_BYTES);

	if (at != SIZE_MAX)
		writer->spare_offset = writer->offset + at;
}

static int flush_locked(struct old_log *writer)
{
	size_t done = 0;

	if (writer->error)
		return writer->error;
	while (done < writer->fill) {
		ssize_t bytes =
			pwrite(writer->fd, writer->buffer + done, writer->fill - done, (off_t)(writer->offset + done));

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0) {
			writer->error = bytes < 0 ? -errno : -ENOSPC;
			writer->reached = done;
			return writer->error;
		}
		done += (size_t)bytes;
	}
	remember_spare(writer, writer->fill);
	writer->header_written = true;
	writer->offset += writer->fill;
	writer->fill = 0;
	return 0;
}

int old_log_flush(struct old_log *writer)
{
	int error;

	old_log_lock(writer);
	error = flush_locked(writer);
	old_log_unlock(writer);
	return error;
}

int old_log_append_locked(struct old_log *writer, const struct gpt_record *record)
{
	size_t size = record->size;

	if (writer->error)
		return writer->error;
	if (size < sizeof(*record) || size > GPT_RECORD_MAX || size % 8)
		return -EINVAL;
	if (size > BUFFER_BYTES - writer->fill) {
		int err = flush_locked(writer);

		if (err)
			return err;
	}
	memcpy(writer->buffer + writer->fill, record, size);
	writer->fill += size;
	return 0;
}

int old_log_append(struct old_log *writer, const struct gpt_record *record)
{
	int error;

	old_log_lock(writer);
	error = old_log_append_locked(writer, record);
	old_log_unlock(writer);
	return error;
}

/*
 * Puts GPT_END over the last records that reached the disk: their blocks are allocated already, so this works
 * on a full disk.  Where that fails the file is at least truncated at a record's end.
 */
static void salvage(struct old_log *writer, struct gpt_end *end)
{
	size_t whole = last_boundary(writer, writer->reached);
	uint64_t length = whole == SIZE_MAX ? writer->offset : writer->offset + whole;
	uint64_t at;

	end->reason = GPT_END_DISK;
	remember_spare(writer, writer->reached);
	at = writer->spare_offset ? writer->spare_offset : length;
	if (at && pwrite(writer->fd, end, end->hdr.size, (off_t)at) == (ssize_t)end->hdr.size)
		length = at + end->hdr.size;
	if (ftruncate(writer->fd, (off_t)length) < 0 && !writer->error)
		writer->error = -errno;
}

int old_log_finish(struct old_log *writer, struct gpt_end *end)
{
	int error;

	old_log_lock(writer);
	if (!writer->error && old_log_append_locked(writer, &end->hdr) == 0)
		flush_locked(writer);
	if (writer->error)
		salvage(writer, end);
	error = writer->error;
	old_log_unlock(writer);
	return error;
}

uint64_t old_log_bytes(struct old_log *writer)
{
	uint64_t bytes;

	old_log_lock(writer);
	bytes = writer->offset + writer->fill;
	old_log_unlock(writer);
	return bytes;
}

void old_log_close(struct old_log *writer)
{
	if (!writer)
		return;
	pthread_mutex_destroy(&writer->lock);
	free(writer->buffer);
	free(writer);
}
