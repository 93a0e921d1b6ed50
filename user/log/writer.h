/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a log: collects records in chunks.  A thread of its own packs, compresses and writes each chunk as a segment
 * (segment.h) while the next one is filled.  If the disk fails or gputrace is killed, the file is still a readable log:
 * whole segments, and GPT_END where there is room for it.  Any thread may append: a lock puts all records in one order.
 * An append waits only when WRITER_CHUNKS are under way, that is, when the disk is slower than the records come.
 */
#pragma once

#include <stdint.h>

#include <gputrace/record.h>

/* Memory: these, the descriptions (descriptions.h), and some 30 MB to pack and compress one. */
#define WRITER_CHUNK_BYTES (8u << 20)
#define WRITER_CHUNK_LEAST (2u << 20) /* with a limit of memory */
#define WRITER_CHUNKS 4u

struct log_writer;
struct recent_log;

/*
 * Starts a log in an empty regular file; the caller keeps fd.  Before the first flush or full chunk nothing is written
 * and there is no thread, so that processes may be forked until then.
 */
struct log_writer *log_writer_open(int fd);

/*
 * From here on the file stays empty, and segments are kept in memory, as recent_segments_new says.  To be called before
 * the first record.
 */
void log_writer_keep_recent(struct log_writer *writer, uint64_t keep_ns, uint64_t bytes);

/* From here on it has no more than a third of so many bytes. To be called before the first record. */
void log_writer_bound_memory(struct log_writer *writer, uint64_t bytes);

struct rotation_options;

/* From here on the log goes into files as rotation.h says. To be called before the first record. */
void log_writer_rotate(struct log_writer *writer, const struct rotation_options *options);

/*
 * What is kept, up to the latest record; waits until that is in a segment.  The caller frees it.  NULL: the log is
 * written into its file; *error: what ended the writing.
 */
struct recent_log *log_writer_take_recent(struct log_writer *writer, int *error);
/* As recent_segments_need; from any thread. */
void log_writer_need_recent(struct log_writer *writer, uint64_t since_ns);

/* Says when recording began (the header's fields). Before it is called the header says "now" of log_writer_open. */
int log_writer_set_start(struct log_writer *writer, uint64_t start_ns, int64_t wall_offset_ns);

/*
 * 0, or the error that ended the writing (-ENOSPC, -EDQUOT, -EFBIG, -EIO ...), also for all later records; it may be
 * returned some records late.  -EINVAL: the record's size is impossible; the log goes on without it.
 */
int log_writer_append(struct log_writer *writer, const struct gpt_record *record);

/*
 * Keeps other threads from appending, for a caller with many records: it appends them with log_writer_append_locked,
 * and unlocks now and then to let others append.
 */
void log_writer_lock(struct log_writer *writer);
void log_writer_unlock(struct log_writer *writer);
int log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record);

/*
 * Ends the segment, if it has records, without waiting for it: what was appended is soon in the file, where a crash of
 * gputrace cannot lose it.  A segment that would repeat more than 1 MB of descriptions, and more than half as much as
 * it has of its own, is not ended before it is 10 s old.
 */
int log_writer_flush(struct log_writer *writer);
/* Ends the segment and waits until it is in the file. */
int log_writer_settle(struct log_writer *writer);

/*
 * Writes what is left, the last record, and the index.  When a write fails, the log is cut after the last whole segment
 * that leaves room for GPT_END, whose reason becomes GPT_END_DISK.  Returns the error if there was one.
 */
int log_writer_finish(struct log_writer *writer, struct gpt_end *end);

/* NULL is allowed. */
void log_writer_close(struct log_writer *writer);
