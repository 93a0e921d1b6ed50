/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The destination of an export: one large buffer in front of a file descriptor, gzip if asked for, and the few number
 * and string forms that the formats need, written without printf because a trace has millions of them.  Errors stick:
 * after the first one everything is dropped, and sink_close returns it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/threads/cancel.h"

struct deflater;

struct sink {
	char *buffer;
	size_t used, capacity;
	int fd;			     /* -1: the buffer grows instead of being written */
	int error;		     /* negative errno, sticky */
	struct deflater *deflater;   /* NULL: written as it is */
	const struct cancel *cancel; /* ends the export with -ECANCELED; NULL: nothing does */
	uint64_t most;		     /* limit of the file in bytes, 0: none; one more ends the export with -EFBIG */
	uint64_t written;	     /* bytes written to the file */
	uint64_t bytes;		     /* bytes put so far, before compression, without those in the buffer */
};

/* The most bytes that sink_room may be asked for. */
#define SINK_ROOM_MAX 4096u

/* Starts a sink over fd, which stays the caller's. */
void sink_open(struct sink *sink, int fd, bool gzip);

/* Starts a sink that collects in memory: text is buffer[0..used). */
void sink_open_memory(struct sink *sink);

/* Writes the rest and frees the buffer.  Returns 0 or the first error. */
int sink_close(struct sink *sink);

/* Makes room; for the inline functions below. */
void sink_make_room(struct sink *sink, size_t bytes);

/* Room for `bytes` (at most SINK_ROOM_MAX) characters: write there, then add to sink->used. */
static inline char *sink_room(struct sink *sink, size_t bytes)
{
	if (sink->capacity - sink->used < bytes)
		sink_make_room(sink, bytes);
	return sink->buffer + sink->used;
}

static inline void sink_short(struct sink *sink, const char *text, size_t length)
{
	memcpy(sink_room(sink, length), text, length);
	sink->used += length;
}

/* Any number of bytes. */
void sink_put_long(struct sink *sink, const char *text, size_t length);

static inline void sink_put(struct sink *sink, const char *text, size_t length)
{
	if (length <= SINK_ROOM_MAX)
		sink_short(sink, text, length);
	else
		sink_put_long(sink, text, length);
}

#define sink_literal(sink, text) sink_short((sink), "" text, sizeof(text) - 1)

static inline void sink_char(struct sink *sink, char c)
{
	*sink_room(sink, 1) = c;
	sink->used++;
}

void sink_text(struct sink *sink, const char *text);
void sink_u64(struct sink *sink, uint64_t value);
void sink_i64(struct sink *sink, int64_t value);

/* Nanoseconds as microseconds with exactly three decimals. */
void sink_us(struct sink *sink, uint64_t ns);

/* A non-negative number with up to six decimals; NaN becomes 0, and more than 1e12 becomes 1e12. */
void sink_fraction(struct sink *sink, double value);

/* A JSON string with its quotes. */
void sink_json(struct sink *sink, const char *text);

/*
 * As printf, of JSON: %s is a string with its quotes, %u and %d are 32 bits, PRIu64 and PRId64 64.  For what is not
 * written a million times.
 */
void sink_print(struct sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string without its quotes; `;` becomes `_` when asked for (stacks are joined by it). */
void sink_json_part(struct sink *sink, const char *text, bool replace_semicolons);

/* Text as it is, with U+FFFD for invalid UTF-8. */
void sink_utf8(struct sink *sink, const char *text);
