/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Profilers' databases, made by test code after their documented tables: SQL statements are run in memory and the
 * result becomes a file; files are read back as traces. Include it after cmocka.h.
 */
#pragma once

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input/foreign_trace.h"
#include "model_check.h"
#include "trace_print.h"

#define BUILDER_FN __attribute__((unused)) static

/* pid 70, thread 71 */
#define NSYS_PID "1174405120"
#define NSYS_TID "1174405191"

static const struct trace_division in_one = {.whole_bytes = UINT64_MAX},
				   in_parts = {.chunk_records = 1, .part_events = 1};

BUILDER_FN int file_of_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("database", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

/* The database's bytes; free them with sqlite3_free. */
BUILDER_FN unsigned char *database_bytes(const char *const *statements, sqlite3_int64 *size)
{
	unsigned char *bytes;
	sqlite3 *base;

	assert_int_equal(sqlite3_open(":memory:", &base), SQLITE_OK);
	for (; *statements; statements++)
		if (sqlite3_exec(base, *statements, NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", *statements, sqlite3_errmsg(base));
	bytes = sqlite3_serialize(base, "main", size, 0);
	assert_non_null(bytes);
	sqlite3_close(base);
	return bytes;
}

BUILDER_FN int database_file(const char *const *statements)
{
	sqlite3_int64 size;
	unsigned char *bytes = database_bytes(statements, &size);
	int fd = file_of_bytes(bytes, (size_t)size);

	sqlite3_free(bytes);
	return fd;
}

/* Closes the file. */
BUILDER_FN struct trace *open_file(int fd, const struct trace_division *division)
{
	struct trace *trace = NULL;
	char *why = NULL;

	assert_true(foreign_is(fd));
	if (foreign_trace_open(fd, division, &trace, &why))
		fail_msg("%s", why ? why : "not opened");
	close(fd);
	return trace;
}

BUILDER_FN struct trace *open_database(const char *const *statements)
{
	return open_file(database_file(statements), &in_one);
}

BUILDER_FN char *printed(const char *const *statements, const struct trace_division *division)
{
	struct trace *trace = open_file(database_file(statements), division);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	trace_print(out, trace);
	assert_int_equal(trace->error, 0);
	two_pass_trace_close(trace);
	fclose(out);
	return text;
}

BUILDER_FN void assert_same_in_parts(const char *const *statements)
{
	char *one = printed(statements, &in_one), *many = printed(statements, &in_parts);

	assert_string_equal(many, one);
	free(one);
	free(many);
}

/* The reason of a refusal; the caller frees it. */
BUILDER_FN char *refused(int fd)
{
	struct trace *trace;
	char *why = NULL;

	assert_int_equal(foreign_trace_open(fd, &in_one, &trace, &why), -EPROTO);
	assert_non_null(why);
	close(fd);
	return why;
}
