/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a log file, in order.  A regular file is read by position, so the caller's file offset stays, and what
 * is not wanted is never read.  A pipe is read as it comes.  Knows nothing of what the bytes mean.
 */
#ifndef GPUTRACE_LOG_SOURCE_H
#define GPUTRACE_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_source {
	int fd;
	bool seekable;
	uint64_t at; /* bytes taken or passed over */
};

void log_source_open(struct log_source *source, int fd);

/* Up to `bytes` at the current place: how many came, fewer only at the end of the file; -errno. */
int64_t log_source_read(struct log_source *source, void *buffer, size_t bytes);

/* The same at another place of a seekable source, which stays where it is. */
int64_t log_source_read_at(const struct log_source *source, uint64_t at, void *buffer, size_t bytes);

/* Whether more was passed over than the file has; a pipe does not say. */
bool log_source_is_beyond_end(const struct log_source *source);

/* Passes over `bytes`, of a pipe at most what it has: 0, -errno. */
int log_source_skip(struct log_source *source, uint64_t bytes);

#endif
