/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads JSON from start to end through a buffer, and values in place: a document may be larger than memory.  Made for
 * values of a few megabytes in documents of gigabytes.  The document is hostile.
 *
 * A value that is not in the buffer as a whole stops the reader (json.stopped); the caller goes back to where the value
 * began, reads more (json_refill), and tries again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/safe_text.h"
#include "base/json/bytes.h"

#define JSON_VALUE_MAX (64u << 20) /* bytes; a document with a longer value is refused */

/* Raw text of the document, valid until the next json_refill. */
struct json_text {
	const char *bytes;
	size_t size;
	bool escaped; /* needs json_unescape */
};

struct json {
	struct byte_source source;
	char *buffer;
	size_t capacity;
	const char *at, *end;
	uint64_t before; /* bytes of the document before the buffer */
	bool stopped;	 /* it needs more bytes, or is not JSON */
	bool wrong;	 /* it is not JSON at `at` */
	bool ended;	 /* the buffer holds the last bytes of the document */
	int error;	 /* -errno of reading, as of byte_source_read */
};

void json_open(struct json *json, int fd);
void json_close(struct json *json);

/* Reads more bytes after those from keep on; false: no more bytes, or an error, or the value is too long (-EFBIG). */
bool json_refill(struct json *json, const char *keep);

/* The next non-blank character; '\0' at the end of the buffer. */
char json_peek(struct json *json);

/* Read a value, skipping blanks first.  False: the reader has stopped. */
bool json_string(struct json *json, struct json_text *text);
bool json_skip(struct json *json);
bool json_raw(struct json *json, struct json_text *text);

/*
 * A number times 10^decimals, rounded towards 0 and clamped; also one in a string.  Anything else, such as null, gives
 * `other`.
 */
bool json_number(struct json *json, unsigned decimals, int64_t other, int64_t *value);

/*
 * Members of an object, elements of an array: false at its end, or if the reader has stopped.  The caller sets *first
 * before the first one.
 */
bool json_member(struct json *json, bool *first, struct json_text *key);
bool json_element(struct json *json, bool *first);

/* Appends the unescaped text. */
void json_unescape(text_buffer *out, const struct json_text *text);

static inline bool json_is(const struct json_text *text, const char *word, size_t size)
{
	return text->size == size && !__builtin_memcmp(text->bytes, word, size);
}
#define JSON_IS(text, word) json_is(text, word, sizeof(word) - 1)

static inline bool json_begins(const struct json_text *text, const char *begin, size_t size)
{
	return text->size >= size && !__builtin_memcmp(text->bytes, begin, size);
}
#define JSON_BEGINS(text, begin) json_begins(text, begin, sizeof(begin) - 1)
