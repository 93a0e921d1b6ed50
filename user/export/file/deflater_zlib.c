/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gzip by zlib, for the gputrace that is linked statically (see deflater.h). */
#include "export/file/deflater.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define DEFLATER_OUT (1u << 18)
#define LEVEL 1		      /* the fastest: a trace compresses well at any */
#define WINDOW_BITS (15 + 16) /* deflateInit2: 15 is the largest window, + 16 a gzip header and trailer */
#define MEMORY_LEVEL 8	      /* zlib's default */

struct deflater {
	z_stream stream;
	unsigned char out[DEFLATER_OUT];
};

struct deflater *deflater_new(void)
{
	struct deflater *deflater = calloc(1, sizeof(*deflater));

	if (!deflater)
		return NULL;
	if (deflateInit2(&deflater->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(deflater);
		return NULL;
	}
	return deflater;
}

int deflater_put(struct deflater *deflater, const char *data, size_t length, bool last,
		 int (*write)(void *context, const char *data, size_t length), void *context)
{
	z_stream *stream = &deflater->stream;

	stream->next_in = (unsigned char *)data;
	stream->avail_in = (unsigned)length;
	do {
		int error;

		stream->next_out = deflater->out;
		stream->avail_out = DEFLATER_OUT;
		if (deflate(stream, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
			return -EIO;
		error = write(context, (const char *)deflater->out, DEFLATER_OUT - stream->avail_out);
		if (error)
			return error;
	} while (stream->avail_out == 0);
	return 0;
}

void deflater_free(struct deflater *deflater)
{
	if (deflater)
		deflateEnd(&deflater->stream);
	free(deflater);
}
