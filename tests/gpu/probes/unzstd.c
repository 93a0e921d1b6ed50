/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unpacks zstd frames from standard input to standard output.  The kit reads logs with it: Python's standard library
 * has no zstd before 3.14, and the machine may have no libzstd.
 */
#include <stdio.h>

#include <zstd.h>

static char in[1 << 16], out[1 << 16];

int main(void)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer input = {.src = in};
	ZSTD_outBuffer output;
	size_t rest = 0;

	while (stream && (input.size = fread(in, 1, sizeof(in), stdin)) > 0) {
		input.pos = 0;
		do {
			output = (ZSTD_outBuffer){.dst = out, .size = sizeof(out)};
			rest = ZSTD_decompressStream(stream, &output, &input);
			if (ZSTD_isError(rest) || fwrite(out, 1, output.pos, stdout) != output.pos)
				return 1;
		} while (input.pos < input.size || output.pos == output.size);
	}
	return !stream || rest || ferror(stdin) || fflush(stdout) ? 1 : 0;
}
