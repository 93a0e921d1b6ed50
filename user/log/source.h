/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a log file, in order.  A regular file is read by position, so the caller's file offset stays, and
 * skipped bytes are never read.  A pipe is read as it comes.  Does not know what the bytes mean.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_source {
	int fd;
	bool seekable;
	uint64_t at; /* bytes read or skipped */
};

void log_source_open(struct log_source *source, int fd);

/* Reads up to `bytes` bytes at the current offset.  Returns how many, fewer only at the end of the file; -errno. */
int64_t log_source_read(struct log_source *source, void *buffer, size_t bytes);

/* The same at another offset of a seekable source, whose current offset stays. */
int64_t log_source_read_at(const struct log_source *source, uint64_t at, void *buffer, size_t bytes);

/* Whether more was skipped than the file has; always false for a pipe. */
bool log_source_is_beyond_end(const struct log_source *source);

/* Skips `bytes` bytes, of a pipe at most what it has: 0, -errno. */
int log_source_skip(struct log_source *source, uint64_t bytes);
