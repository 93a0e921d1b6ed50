/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records of a log one after the other, each whole and of a sane size.  Reads through a window, so a log
 * may be a pipe, may be larger than memory, and may shrink while it is read.  Does not know what records mean.
 */
#ifndef GPUTRACE_LOG_READER_H
#define GPUTRACE_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

/*
 * Keeps every index of the model within 32 bits: the least a record takes per index it makes is 8 bytes
 * plus headers.
 */
#define LOG_BYTES_MAX (32ull << 30)

/* Logs of version 1, under a name of their own: log/reader.h reads those of version 2. */
#define log_reader log_1_reader
#define log_reader_open log_1_reader_open
#define log_reader_close log_1_reader_close
#define log_reader_next log_1_reader_next

struct log_reader {
	int fd;
	bool seekable; /* read by position: the caller's file offset stays */
	bool torn;     /* ended in the middle of a record, or at one that cannot be */
	bool too_long; /* ended at LOG_BYTES_MAX */
	bool at_end;   /* nothing more to read */
	int error;     /* -errno of a failed read, 0 */
	uint8_t *window;
	size_t first, filled; /* unread bytes of the window */
	uint64_t read;	      /* bytes taken from fd */
	struct gpt_log_1_header header;
};

/* Reads and checks the header.  -EPROTO, -EMEDIUMTYPE with *why a literal; -errno of reading, *why NULL. */
int log_reader_open(struct log_reader *reader, int fd, const char **why);
void log_reader_close(struct log_reader *reader);

/* The next record, valid until the next call; NULL at the end (see torn, error). */
const struct gpt_record *log_reader_next(struct log_reader *reader);

#endif
