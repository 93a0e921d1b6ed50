/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Appends records to a .gpt log, as they come, through one large buffer.  Whatever happens to the disk, what is
 * in the file stays a readable log: whole records, and GPT_END wherever a place for it can be had.  Any thread may
 * call: a lock of its own gives the records of all one order.
 */
#ifndef GPUTRACE_LOG_WRITER_H
#define GPUTRACE_LOG_WRITER_H

#include <stdint.h>

#include <gputrace/record.h>

struct log_writer;

/* Starts a log in an empty regular file; the caller keeps fd. Nothing is written before the first flush. */
struct log_writer *log_writer_open(int fd);

/* Says when recording began (the header's fields). Before it is called the header says "now" of log_writer_open. */
int log_writer_set_start(struct log_writer *writer, uint64_t start_ns, int64_t wall_offset_ns);

/*
 * 0, or the error that ended the writing (-ENOSPC, -EDQUOT, -EFBIG, -EIO ...), then and ever after. -EINVAL: the
 * record's size is impossible; the log goes on without it.
 */
int log_writer_append(struct log_writer *writer, const struct gpt_record *record);

/*
 * Keeps other threads from appending, for one that has many records: it appends them with log_writer_append_locked,
 * and lets others in between now and then.
 */
void log_writer_lock(struct log_writer *writer);
void log_writer_unlock(struct log_writer *writer);
int log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record);

/* Hands what is buffered to the kernel, so that a crash of ours cannot take it. */
int log_writer_flush(struct log_writer *writer);

/*
 * Writes the last record and what is still buffered.  When the disk refuses, the log is truncated at the last whole
 * record that leaves room for GPT_END, whose reason becomes GPT_END_DISK.  Returns the error if there was one.
 */
int log_writer_finish(struct log_writer *writer, struct gpt_end *end);

/* Bytes taken so far, header included. */
uint64_t log_writer_bytes(struct log_writer *writer);

void log_writer_close(struct log_writer *writer);

#endif
