/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/source.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_at.h"

void log_source_open(struct log_source *source, int fd)
{
	source->fd = fd;
	source->seekable = lseek(fd, 0, SEEK_CUR) >= 0;
	source->at = 0;
}

/* As read_at, from the descriptor's file offset. */
static int64_t read_on(int fd, uint8_t *buffer, size_t bytes)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t got = read(fd, buffer + have, bytes - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (int64_t)have;
}

int64_t log_source_read(struct log_source *source, void *buffer, size_t bytes)
{
	int64_t got = source->seekable ? log_source_read_at(source, source->at, buffer, bytes)
				       : read_on(source->fd, buffer, bytes);

	if (got > 0)
		source->at += (uint64_t)got;
	return got;
}

int64_t log_source_read_at(const struct log_source *source, uint64_t at, void *buffer, size_t bytes)
{
	if (at > INT64_MAX - bytes)
		return 0;
	return read_at(source->fd, buffer, bytes, at);
}

bool log_source_is_beyond_end(const struct log_source *source)
{
	struct stat file;

	return source->seekable && !fstat(source->fd, &file) && source->at > (uint64_t)file.st_size;
}

int log_source_skip(struct log_source *source, uint64_t bytes)
{
	uint8_t buffer[16384];

	if (source->seekable) {
		source->at += bytes;
		return 0;
	}
	while (bytes) {
		size_t wanted = bytes < sizeof(buffer) ? (size_t)bytes : sizeof(buffer);
		int64_t got = log_source_read(source, buffer, wanted);

		if (got < 0)
			return (int)got;
		if ((size_t)got < wanted)
			break;
		bytes -= wanted;
	}
	return 0;
}
