/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several traces in one Chrome trace: on one clock, each with its own processes and GPUs, whatever pids and numbers of
 * GPUs they had.  One of them is open at a time.
 */
#ifndef GPUTRACE_CHROME_MERGED_H
#define GPUTRACE_CHROME_MERGED_H

#include "export/format.h"

struct chrome_member {
	struct trace *trace;
	struct clock_line clock;	   /* to that of the file */
	const char *const *process_labels; /* by model.processes, NULL: none */
	const char *gpu_label;		   /* whose its GPUs are */
};

struct chrome_merge {
	size_t count;
	uint64_t start_ns;	/* that times are counted from */
	int64_t wall_offset_ns; /* CLOCK_REALTIME = the file's clock + this */
	const char *about;	/* an object of JSON: how they were put together */
	void *context;
	/* The next one, and its end.  -errno ends the file. */
	int (*open)(void *context, size_t index, struct chrome_member *member);
	void (*close)(void *context);
};

/* 0 or -errno; errors of the sink are the sink's. */
int chrome_write_merged(struct sink *sink, const struct chrome_merge *merge);

#endif
