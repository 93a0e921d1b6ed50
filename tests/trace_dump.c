/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints everything that a log hands over (unit/trace_print.h), divided as requested.
 *
 *	trace_dump LOG [WHOLE_BYTES CHUNK_RECORDS PART_EVENTS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/gpt/gpt_trace.h"
#include "trace_print.h"

int main(int argc, char **argv)
{
	struct trace_division division = trace_division_default;
	struct trace *trace;
	const char *why = NULL;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, err;

	if (fd < 0 || (argc != 2 && argc != 5)) {
		fprintf(stderr, "usage: trace_dump LOG [WHOLE_BYTES CHUNK_RECORDS PART_EVENTS]\n");
		return 2;
	}
	if (argc == 5)
		division = (struct trace_division){.whole_bytes = strtoull(argv[2], NULL, 0),
						   .chunk_records = (uint32_t)strtoul(argv[3], NULL, 0),
						   .part_events = (uint32_t)strtoul(argv[4], NULL, 0)};
	err = gpt_trace_open(fd, &division, NULL, &trace, &why);
	if (err) {
		printf("%s\n", why ? why : strerror(-err));
		return 1;
	}
	fprintf(stderr, "%u parts\n", trace_print(stdout, trace));
	err = trace->error;
	gpt_trace_close(trace);
	return err ? 1 : 0;
}
