/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a file of another tool whole and in parts; both models must hold their invariants. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input/foreign_trace.h"
#include "model_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void check_input(int fd, const struct trace_division *division)
{
	struct trace *trace;
	const char *wrong;
	char *why;

	if (foreign_trace_open(fd, division, &trace, &why)) {
		free(why);
		return;
	}
	for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
		wrong = part->more || part->continued ? NULL : model_check(part);
		if (wrong) {
			fprintf(stderr, "broken promise: %s\n", wrong);
			abort();
		}
	}
	two_pass_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct trace_division whole = {.whole_bytes = UINT64_MAX},
					   parts = {.chunk_records = 2, .part_events = 2};
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	check_input(fd, &whole);
	check_input(fd, &parts);
	close(fd);
	return 0;
}
