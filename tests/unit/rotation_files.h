/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of a log in several files: a recording whose clock the test moves, and its files. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "log/rotation.h"
#include "log/writer.h"
#include "log_builder.h"

#define PID 41230
#define TID 41231
#define SECOND_NS 1000000000ull

static int64_t seconds_ahead; /* of every clock */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += seconds_ahead;
	return result;
}

/* ---- the files ----------------------------------------------------------------------------------------------------
 */

#define FILES_MAX 256

static struct {
	int fd;
	bool is_closed, has_segments;
} files[FILES_MAX];

static unsigned opened, said_full, said_room;
static struct rotation_gap gap; /* the last one that was said */
static int open_error;		/* of the next files, or 0 */
static uint64_t subtracted_ns;	/* start of the last file, whose end was made of the recording's */

static bool recording_begun;

static bool on_whether_begun(void *context)
{
	return recording_begun;
}

static int on_open(void *context)
{
	char name[] = "/tmp/gputrace-test-XXXXXX";

	if (open_error)
		return open_error;
	assert_true(opened < FILES_MAX);
	files[opened].fd = mkstemp(name);
	assert_true(files[opened].fd >= 0);
	unlink(name);
	return files[opened++].fd;
}

static void on_close(void *context, int fd, bool has_segments)
{
	for (unsigned i = 0; i < opened; i++)
		if (files[i].fd == fd) {
			assert_false(files[i].is_closed);
			files[i].is_closed = true;
			files[i].has_segments = has_segments;
		}
}

static struct gpt_end *on_end(void *context, uint64_t start_ns, uint64_t end_ns)
{
	struct gpt_end *end = calloc(1, sizeof(*end));

	end->hdr = (struct gpt_record){.size = sizeof(*end), .type = GPT_END};
	return end;
}

static void on_subtract(void *context, uint64_t start_ns, struct gpt_end *end)
{
	subtracted_ns = start_ns;
}

static int64_t on_begin(void *context, uint64_t start_ns)
{
	return 7;
}

static void on_full(void *context, int error)
{
	said_full++;
}

static void on_room(void *context, const struct rotation_gap *over)
{
	said_room++;
	gap = *over;
}

/* As cut_at. */
static const struct gpt_record *cut_calls(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room)
{
	return record->type == GPT_CALL && ((const struct gpt_call *)record)->time_ns >= end_ns ? NULL : record;
}

/* ---- a recording --------------------------------------------------------------------------------------------------
 */

LOG_FN struct log_writer *begin(uint64_t bytes, uint64_t span_ns)
{
	const struct rotation_options options = {.bytes = bytes,
						 .span_ns = span_ns,
						 .has_begun = on_whether_begun,
						 .open = on_open,
						 .close = on_close,
						 .make_end = on_end,
						 .subtract = on_subtract,
						 .begin = on_begin,
						 .say_full = on_full,
						 .say_room = on_room,
						 .cut = cut_calls};
	struct log_writer *writer = log_writer_open(-1);

	for (unsigned i = 0; i < opened; i++)
		close(files[i].fd);
	memset(files, 0, sizeof(files));
	opened = said_full = said_room = 0;
	open_error = 0;
	recording_begun = true;
	log_writer_rotate(writer, &options);
	assert_int_equal(log_writer_set_start(writer, monotonic_ns(), 7), 0);
	return writer;
}

LOG_FN void append_all(struct log_writer *writer, struct log_builder *records)
{
	for (size_t at = 0; at < records->size;) {
		const struct gpt_record *record = (const struct gpt_record *)(records->data + at);

		assert_int_equal(log_writer_append(writer, record), 0);
		at += record->size;
	}
	log_free(records);
}

LOG_FN void describe(struct log_writer *writer)
{
	struct gpt_thread thread = {.hdr = {.size = sizeof(thread), .type = GPT_THREAD}, .pid = PID, .tid = TID};
	struct log_builder records = {0};

	log_text(&records, GPT_NOTE, 0, "of the first second");
	append_all(writer, &records);
	assert_int_equal(log_writer_append(writer, &thread.hdr), 0);
}

LOG_FN int finish(struct log_writer *writer)
{
	struct gpt_end *end = on_end(NULL, 0, 0);
	int err;

	end->time_ns = monotonic_ns();
	end->reason = GPT_END_INTERRUPTED;
	err = log_writer_finish(writer, end);
	free(end);
	log_writer_close(writer);
	return err;
}
