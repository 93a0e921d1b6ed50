/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a log that is being written: its last seconds as tables or stacks.  Only the segments that these need are
 * read.  Older segments that are no longer needed are freed on disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "top/stacks.h"
#include "top/tables.h"

/* The last records, of this length, can still be written into a file of their own. */
#define LIVE_LOG_KEPT_NS 30000000000ull

struct trace;

struct live_log {
	int fd;			   /* of the log */
	uint64_t at;		   /* offset of the end of the segments seen */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: the recording's start, the end of the log's records */
	int64_t wall_offset_ns;
	uint64_t freed; /* offset up to which old segments were examined */
};

/* The caller keeps the descriptor.  The log may still be empty. */
void live_log_open(struct live_log *live, int fd);

/* Looks for new segments; returns whether there are any. */
bool live_log_update(struct live_log *live);

/*
 * The latest span of that length whose GPU work is in the log.  False: there is nothing yet.
 */
bool live_log_span(const struct live_log *live, uint64_t length_ns, uint64_t *from_ns, uint64_t *to_ns);

typedef int live_use_fn(struct trace *trace, void *context);

/* Has the span used as a trace. 0 or -errno, of reading or of the use. */
int live_log_use(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, live_use_fn *use, void *context);

/*
 * The report's tables of [from, to), with its verdict in brief for a screen of that width; the caller frees them.  0 or
 * -errno of reading.
 */
int live_log_tables(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, unsigned width,
		    struct kept_tables *tables);

/*
 * Folded stacks of that time in the span, of GPU work by launches if it has no times, as text that the caller frees.  0
 * or -errno, -ENODATA: there are no samples, or no idle time.
 */
int live_log_stacks(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, enum top_time time, char **text);

/* Writes the span into fd, in the format of that name's suffix.  0 or -errno. */
int live_log_export(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, const char *name, int fd);

/* Frees the disk blocks of what is older than LIVE_LOG_KEPT_NS, if the file system can. */
void live_log_free_old(struct live_log *live);
