/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Under which pid and tid groups and tracks of a timeline appear.  Consumers (HTA, TensorBoard) key on stream and tid
 * over the whole file, although they are unique only in a process, and take pids below 64 for GPUs.
 */
#ifndef GPUTRACE_CHROME_NUMBERS_H
#define GPUTRACE_CHROME_NUMBERS_H

#include "base/array.h"
#include "base/tally.h"
#include "timeline/timeline.h"

/* Numbers above what Linux gives out (PID_MAX_LIMIT is 2^22), all below 2^31. */
#define CHROME_OVERHEAD_PID 6000000u

#define CHROME_ROW_TEXT 47

struct chrome_row {
	uint32_t pid, tid;
	uint64_t order; /* among the rows of its pid */
	/* `","pid":PID,"tid":TID,"ts":`, which is written with each slice; two numbers of ten digits fit, and a NUL. */
	char text[CHROME_ROW_TEXT + 1];
	uint8_t text_length;
};

/* What the timelines of one file have taken so far, where there are several: starts zeroed. */
struct chrome_used_ids {
	struct tally pids, tids;
	uint32_t members, devices; /* timelines; GPUs of them, each with its own */
};

struct chrome_numbers {
	struct chrome_used_ids *used;  /* NULL: the timeline is alone in its file */
	uint32_t first_device;	       /* of this one's GPUs */
	ARRAY(uint32_t) pids;	       /* by group */
	ARRAY(struct chrome_row) rows; /* by track */
	uint32_t gpu_process; /* the process whose streams keep their numbers; model.processes, TIMELINE_NONE */
};

/* numbers: zeroed but for the first two.  Then, when more groups and tracks may be there, those of these. */
void chrome_numbers_make(struct chrome_numbers *numbers, const struct timeline *timeline);
void chrome_numbers_add(struct chrome_numbers *numbers, const struct timeline *timeline);
void chrome_numbers_free(struct chrome_numbers *numbers);

/* The pid under which a device appears. */
uint32_t chrome_device_pid(const struct chrome_numbers *numbers, uint32_t device);

/* The pid of what CUPTI itself cost. */
uint32_t chrome_overhead_pid(const struct chrome_numbers *numbers);

/* The number a stream has in this file; -1: there is no stream.  process: whose it is. */
int64_t chrome_stream_number(const struct chrome_numbers *numbers, uint32_t process, struct timeline_stream stream);

#endif
