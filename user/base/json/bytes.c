/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pread and zlib; see bytes.h. */
#include "base/json/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"

#define PACKED_BYTES (256u << 10)

struct gunzip {
	z_stream stream;
	bool between; /* between gzip members: the next one may start, or the file may end */
	int failed;   /* -errno that the next call returns */
	unsigned char packed[PACKED_BYTES];
};

static int64_t read_file(struct byte_source *source, void *to, size_t size)
{
	ssize_t got;

	do
		got = pread(source->fd, to, size, (off_t)source->at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	source->at += (uint64_t)got;
	return got;
}

void byte_source_open(struct byte_source *source, int fd)
{
	unsigned char magic[2];

	*source = (struct byte_source){.fd = fd};
	if (read_file(source, magic, sizeof(magic)) == sizeof(magic) && magic[0] == 0x1f && magic[1] == 0x8b) {
		source->gunzip = xcalloc(1, sizeof(*source->gunzip));
		if (inflateInit2(&source->gunzip->stream, 16 + MAX_WBITS) != Z_OK)
			abort(); /* out of memory, which ends the program everywhere */
	}
	source->at = 0;
}

void byte_source_close(struct byte_source *source)
{
	if (source->gunzip)
		inflateEnd(&source->gunzip->stream);
	free(source->gunzip);
	source->gunzip = NULL;
}

/* 0: there is input to decompress; 1: the file ends where it may end. */
static int64_t fill_input(struct byte_source *source)
{
	struct gunzip *gunzip = source->gunzip;
	int64_t got;

	if (gunzip->stream.avail_in)
		return 0;
	got = read_file(source, gunzip->packed, sizeof(gunzip->packed));
	if (got < 0)
		return got;
	gunzip->stream.next_in = gunzip->packed;
	gunzip->stream.avail_in = (unsigned)got;
	if (got)
		return 0;
	return gunzip->between ? 1 : -ENODATA;
}

/* As gzip does, ignores what follows a member and is none. */
static bool is_padding(const struct gunzip *gunzip)
{
	return gunzip->between && gunzip->stream.next_in[0] != 0x1f;
}

/* Decompresses what there is; returns -errno, also where part of it came out. */
static int inflate_more(struct gunzip *gunzip)
{
	int result;

	if (gunzip->between && inflateReset(&gunzip->stream) != Z_OK)
		return -EBADMSG;
	gunzip->between = false;
	result = inflate(&gunzip->stream, Z_NO_FLUSH);
	gunzip->between = result == Z_STREAM_END;
	return result == Z_STREAM_END || result == Z_OK || result == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static int64_t unpack_bytes(struct byte_source *source, void *to, size_t size)
{
	struct gunzip *gunzip = source->gunzip;
	z_stream *stream = &gunzip->stream;

	stream->next_out = to;
	stream->avail_out = size < (1u << 30) ? (unsigned)size : 1u << 30;
	size = stream->avail_out;
	while (stream->avail_out == size) {
		int64_t filled = gunzip->failed ? gunzip->failed : fill_input(source);

		if (filled)
			return filled < 0 ? filled : 0;
		if (is_padding(gunzip))
			return 0;
		gunzip->failed = inflate_more(gunzip);
	}
	return (int64_t)(size - stream->avail_out);
}

int64_t byte_source_read(struct byte_source *source, void *to, size_t size)
{
	return source->gunzip ? unpack_bytes(source, to, size) : read_file(source, to, size);
}

int byte_source_check(struct byte_source *source)
{
	char rest[4096];
	int64_t got = 1;

	while (source->gunzip && got > 0)
		got = byte_source_read(source, rest, sizeof(rest));
	return got < 0 ? (int)got : 0;
}
