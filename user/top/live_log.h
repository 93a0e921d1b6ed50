/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The latest of a log that is being written: its last seconds as tables or stacks.  Only the segments that these need
 * are read; what is older and needed no more is taken from the disk.
 */
#ifndef GPUTRACE_TOP_LIVE_LOG_H
#define GPUTRACE_TOP_LIVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "top/tables.h"

/* What lies back this long can still be written into a file of its own. */
#define LIVE_LOG_KEPT_NS 30000000000ull

struct live_log {
	int fd;			   /* of the log */
	uint64_t at;		   /* offset after the segments that were seen */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: of the recording, of what is in the log */
	int64_t wall_offset_ns;
	uint64_t freed; /* offset up to which what is old was looked at */
};

/* The descriptor stays the caller's.  Nothing may be in the log yet. */
void live_log_open(struct live_log *live, int fd);

/* Looks for new segments.  Whether there are any. */
bool live_log_update(struct live_log *live);

/*
 * The span of that length that ends as late as its GPU work is in the log.  False: there is nothing yet.
 */
bool live_log_span(const struct live_log *live, uint64_t length_ns, uint64_t *from_ns, uint64_t *to_ns);

/* The report's tables of [from, to); to be freed.  0 or -errno of reading. */
int live_log_tables(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, struct kept_tables *tables);

/* Folded stacks of GPU time in it, or of launches where there is none, as text to be freed.  0 or -errno. */
int live_log_stacks(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, char **text);

/* The span as a file in the format of that name's suffix, into fd.  0 or -errno. */
int live_log_export(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, const char *name, int fd);

/* The disk gets back what is older than LIVE_LOG_KEPT_NS, where the file system can. */
void live_log_free_old(struct live_log *live);

#endif
