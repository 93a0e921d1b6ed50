/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gzip by ISA-L: for a trace of 82 MB it takes 0.03 s, where zlib at its fastest takes 0.18 s, and the output is no
 * larger.
 */
#include "export/file/deflater.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#define DEFLATER_OUT (1u << 18)

struct deflater {
	struct isal_zstream stream;
	unsigned char level_buffer[ISAL_DEF_LVL1_DEFAULT];
	unsigned char out[DEFLATER_OUT];
};

struct deflater *deflater_new(void)
{
	struct deflater *deflater = malloc(sizeof(*deflater));

	if (!deflater)
		return NULL;
	isal_deflate_init(&deflater->stream);
	deflater->stream.level = 1;
	deflater->stream.level_buf = deflater->level_buffer;
	deflater->stream.level_buf_size = sizeof(deflater->level_buffer);
	deflater->stream.gzip_flag = IGZIP_GZIP;
	return deflater;
}

int deflater_put(struct deflater *deflater, const char *data, size_t length, bool last,
		 int (*write)(void *context, const char *data, size_t length), void *context)
{
	struct isal_zstream *stream = &deflater->stream;

	stream->next_in = (unsigned char *)data;
	stream->avail_in = (uint32_t)length;
	stream->end_of_stream = last;
	do {
		int error;

		stream->next_out = deflater->out;
		stream->avail_out = DEFLATER_OUT;
		if (isal_deflate(stream) != COMP_OK)
			return -EIO;
		error = write(context, (const char *)deflater->out, DEFLATER_OUT - stream->avail_out);
		if (error)
			return error;
	} while (stream->avail_out == 0 || stream->avail_in);
	return 0;
}

void deflater_free(struct deflater *deflater)
{
	free(deflater);
}
