/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pids and tids under which groups and tracks of a timeline appear.  Consumers (HTA, TensorBoard) key on stream and
 * tid over the whole file, although these are unique only within a process, and take pids below 64 for GPUs.
 */
#pragma once

#include "base/array.h"
#include "base/tally.h"
#include "timeline/timeline.h"

/* Numbers above those that Linux assigns (PID_MAX_LIMIT is 2^22), all below 2^31. */
#define CHROME_OVERHEAD_PID 6000000u

#define CHROME_ROW_TEXT 47

struct chrome_row {
	uint32_t pid, tid;
	uint64_t order; /* sort order among the rows of its pid */
	/* `","pid":PID,"tid":TID,"ts":`, written with each slice; has room for two numbers of ten digits and a NUL. */
	char text[CHROME_ROW_TEXT + 1];
	uint8_t text_length;
};

/* Numbers that the timelines of one file have taken so far, if there are several: starts zeroed. */
struct chrome_used_ids {
	struct tally pids, tids;
	uint32_t members, devices; /* timelines; their GPUs, each with a number of its own */
};

struct chrome_numbers {
	struct chrome_used_ids *used;  /* NULL: the file has one timeline */
	uint32_t first_device;	       /* number of this timeline's first GPU */
	ARRAY(uint32_t) pids;	       /* by group */
	ARRAY(struct chrome_row) rows; /* by track */
	uint32_t gpu_process; /* index into model.processes: its streams keep their numbers; or TIMELINE_NONE */
};

/*
 * numbers: zeroed but for the first two members.  chrome_numbers_add numbers groups and tracks that have been added
 * since.
 */
void chrome_numbers_make(struct chrome_numbers *numbers, const struct timeline *timeline);
void chrome_numbers_add(struct chrome_numbers *numbers, const struct timeline *timeline);
void chrome_numbers_free(struct chrome_numbers *numbers);

/* The pid under which a device appears. */
uint32_t chrome_device_pid(const struct chrome_numbers *numbers, uint32_t device);

/* The pid of CUPTI's own overhead. */
uint32_t chrome_overhead_pid(const struct chrome_numbers *numbers);

/* The number that a stream has in this file; -1: no stream.  process: the stream's. */
int64_t chrome_stream_number(const struct chrome_numbers *numbers, uint32_t process, struct timeline_stream stream);
