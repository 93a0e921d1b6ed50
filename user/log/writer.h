/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a log: takes records as they come, in chunks, which a thread of its own packs, compresses and writes as
 * segments (segment.h) while the next one is filled.  Whatever happens to the disk or to us, what is in the file stays
 * a readable log: whole segments, and GPT_END wherever a place for it can be had. Any thread may append: a lock gives
 * the records of all one order.  An append waits only when WRITER_CHUNKS are under way, which takes a disk that is
 * slower than the records come.
 */
#ifndef GPUTRACE_LOG_WRITER_H
#define GPUTRACE_LOG_WRITER_H

#include <stdint.h>

#include <gputrace/record.h>

/* Memory: these, the descriptions (descriptions.h), and some 30 MB to pack and compress one. */
#define WRITER_CHUNK_BYTES (8u << 20)
#define WRITER_CHUNKS 4u

struct log_writer;

/*
 * Starts a log in an empty regular file; the caller keeps fd.  Nothing is written and no thread is there before the
 * first flush or full chunk: processes may be forked until then.
 */
struct log_writer *log_writer_open(int fd);

/* Says when recording began (the header's fields). Before it is called the header says "now" of log_writer_open. */
int log_writer_set_start(struct log_writer *writer, uint64_t start_ns, int64_t wall_offset_ns);

/*
 * 0, or the error that ended the writing (-ENOSPC, -EDQUOT, -EFBIG, -EIO ...), then and ever after; it may be known
 * some records late.  -EINVAL: the record's size is impossible; the log goes on without it.
 */
int log_writer_append(struct log_writer *writer, const struct gpt_record *record);

/*
 * Keeps other threads from appending, for one that has many records: it appends them with log_writer_append_locked,
 * and lets others in between now and then.
 */
void log_writer_lock(struct log_writer *writer);
void log_writer_unlock(struct log_writer *writer);
int log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record);

/*
 * Ends the segment, if it has records, and does not wait for it: what was appended is in the file soon, where a crash
 * of ours cannot take it.  A segment that would repeat more than 1 MB of descriptions, and more than it is worth, goes
 * on, for 10 s at most.
 */
int log_writer_flush(struct log_writer *writer);
/* Ends the segment and waits until it is in the file. */
int log_writer_settle(struct log_writer *writer);

/*
 * Writes what is still there, the last record, and the index.  When the disk refuses, the log is cut after the last
 * whole segment that leaves room for GPT_END, whose reason becomes GPT_END_DISK.  Returns the error if there was one.
 */
int log_writer_finish(struct log_writer *writer, struct gpt_end *end);

/* NULL is allowed. */
void log_writer_close(struct log_writer *writer);

#endif
