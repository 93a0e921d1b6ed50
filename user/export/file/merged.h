/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several traces in one file: on one clock, each with its own processes and GPUs, even if pids or GPU numbers collide.
 * Only one of the traces is open at a time.
 */
#pragma once

#include "base/clock_line.h"
#include "export/file/sink.h"

struct trace;

struct merge_member {
	struct trace *trace;
	struct clock_line clock;	      /* to the file's clock */
	const char *const *process_labels;    /* by model.processes, NULL: none */
	const char *gpu_label;		      /* whose its GPUs are */
	const struct timeline_splits *splits; /* NULL: none are known */
};

struct merge {
	size_t count;
	uint64_t start_ns;	/* base of times, in formats that do not store them as they are */
	int64_t wall_offset_ns; /* CLOCK_REALTIME = the file's clock + this */
	int64_t slept_ns;	/* CLOCK_BOOTTIME = the file's clock + this */
	const char *about;	/* a JSON object: how they were merged */
	void *context;
	/* Open the next trace, and close it.  -errno ends the file. */
	int (*open)(void *context, size_t index, struct merge_member *member);
	void (*close)(void *context);
};

/* 0 or -errno; errors of the sink are the sink's. */
typedef int merged_write_fn(struct sink *sink, const struct merge *merge);
