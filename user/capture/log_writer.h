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

struct old_log;

/* Starts a log in an empty regular file; the caller keeps fd. Nothing is written before the first flush. */
struct old_log *old_log_open(int fd);

/* Says when recording began (the header's fields). Before it is called the header says "now" of old_log_open. */
int old_log_set_start(struct old_log *writer, uint64_t start_ns, int64_t wall_offset_ns);

/*
 * 0, or the error that ended the writing (-ENOSPC, -EDQUOT, -EFBIG, -EIO ...), then and ever after. -EINVAL: the
 * record's size is impossible; the log goes on without it.
 */
int old_log_append(struct old_log *writer, const struct gpt_record *record);

/*
 * Keeps other threads from appending, for one that has many records: it appends them with old_log_append_locked,
 * and lets others in between now and then.
 */
void old_log_lock(struct old_log *writer);
void old_log_unlock(struct old_log *writer);
int old_log_append_locked(struct old_log *writer, const struct gpt_record *record);

/* Hands what is buffered to the kernel, so that a crash of ours cannot take it. */
int old_log_flush(struct old_log *writer);

/*
 * Writes the last record and what is still buffered.  When the disk refuses, the log is truncated at the last whole
 * record that leaves room for GPT_END, whose reason becomes GPT_END_DISK.  Returns the error if there was one.
 */
int old_log_finish(struct old_log *writer, struct gpt_end *end);

/* Bytes taken so far, header included. */
uint64_t old_log_bytes(struct old_log *writer);

void old_log_close(struct old_log *writer);

#endif
