/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several traces in one file: on one clock, each with its own processes and GPUs, whatever pids and numbers of GPUs
 * they had.  One of them is open at a time.
 */
#ifndef GPUTRACE_EXPORT_MERGED_H
#define GPUTRACE_EXPORT_MERGED_H

#include "base/clock_line.h"
#include "export/sink.h"

struct trace;

struct merge_member {
	struct trace *trace;
	struct clock_line clock;	   /* to that of the file */
	const char *const *process_labels; /* by model.processes, NULL: none */
	const char *gpu_label;		   /* whose its GPUs are */
};

struct merge {
	size_t count;
	uint64_t start_ns;	/* that times are counted from, where a format does not have them as they are */
	int64_t wall_offset_ns; /* CLOCK_REALTIME = the file's clock + this */
	int64_t slept_ns;	/* CLOCK_BOOTTIME = the file's clock + this */
	const char *about;	/* an object of JSON: how they were put together */
	void *context;
	/* The next one, and its end.  -errno ends the file. */
	int (*open)(void *context, size_t index, struct merge_member *member);
	void (*close)(void *context);
};

/* 0 or -errno; errors of the sink are the sink's. */
typedef int merged_write_fn(struct sink *sink, const struct merge *merge);

#endif
