/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Linked into a gputrace for tests, between the callers that append records to a log and its writer (ld's --wrap):
 * every record that the log accepts is also written to a second file, one after the other, not packed. The file's name
 * is GPUTRACE_TEST_RECORDS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "log/writer.h"

int __real_log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record);
int __wrap_log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record);
int __wrap_log_writer_append(struct log_writer *writer, const struct gpt_record *record);
int __real_log_writer_finish(struct log_writer *writer, struct gpt_end *end);
int __wrap_log_writer_finish(struct log_writer *writer, struct gpt_end *end);

/* The caller holds the log's lock, or is the last thread. */
static void keep_record(const struct gpt_record *record)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(getenv("GPUTRACE_TEST_RECORDS"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (write(fd, record, record->size) != (ssize_t)record->size) {
		perror("GPUTRACE_TEST_RECORDS");
		abort();
	}
}

int __wrap_log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record)
{
	int err = __real_log_writer_append_locked(writer, record);

	if (!err)
		keep_record(record);
	return err;
}

int __wrap_log_writer_append(struct log_writer *writer, const struct gpt_record *record)
{
	int err;

	log_writer_lock(writer);
	err = __wrap_log_writer_append_locked(writer, record);
	log_writer_unlock(writer);
	return err;
}

int __wrap_log_writer_finish(struct log_writer *writer, struct gpt_end *end)
{
	int err = __real_log_writer_finish(writer, end);

	keep_record(&end->hdr);
	return err;
}
