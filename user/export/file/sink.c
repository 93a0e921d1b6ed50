/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffer, file descriptor and compression of an export; owns the buffer, not the descriptor. */
#include "export/file/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "export/file/deflater.h"

/* So large that the cost of a write call is negligible. */
#define SINK_BUFFER (1u << 20)

void sink_open(struct sink *sink, int fd, bool gzip)
{
	*sink = (struct sink){.buffer = xmalloc(SINK_BUFFER), .capacity = SINK_BUFFER, .fd = fd};
	if (gzip) {
		sink->deflater = deflater_new();
		if (!sink->deflater)
			sink->error = -ENOMEM;
	}
}

void sink_open_memory(struct sink *sink)
{
	*sink = (struct sink){.buffer = xmalloc(SINK_ROOM_MAX), .capacity = SINK_ROOM_MAX, .fd = -1};
}

static int write_to_file(void *context, const char *data, size_t length)
{
	struct sink *sink = context;

	if (sink->most && length > sink->most - sink->written)
		return -EFBIG;
	sink->written += length;
	return write_unless(sink->fd, data, length, sink->cancel);
}

static void flush_buffer(struct sink *sink, bool last)
{
	if (!sink->error && is_cancelled(sink->cancel))
		sink->error = -ECANCELED;
	if (!sink->error && sink->deflater)
		sink->error = deflater_put(sink->deflater, sink->buffer, sink->used, last, write_to_file, sink);
	else if (!sink->error)
		sink->error = write_to_file(sink, sink->buffer, sink->used);
	sink->bytes += sink->used;
	sink->used = 0;
}

void sink_make_room(struct sink *sink, size_t bytes)
{
	if (sink->fd >= 0)
		flush_buffer(sink, false);
	else
		sink->buffer = array_reserve(sink->buffer, 1, sink->used, bytes, &sink->capacity);
}

int sink_close(struct sink *sink)
{
	if (sink->fd >= 0)
		flush_buffer(sink, true);
	deflater_free(sink->deflater);
	free(sink->buffer);
	sink->buffer = NULL;
	sink->deflater = NULL;
	return sink->error;
}

void sink_put_long(struct sink *sink, const char *text, size_t length)
{
	while (length) {
		size_t part = length < SINK_ROOM_MAX ? length : SINK_ROOM_MAX;

		sink_short(sink, text, part);
		text += part;
		length -= part;
	}
}

void sink_text(struct sink *sink, const char *text)
{
	sink_put(sink, text, strlen(text));
}
