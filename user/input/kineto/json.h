/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON from its begin to its end, through a buffer of which values are looked at in place: a document may be larger
 * than memory.  Made for a few megabytes a value and gigabytes of them.  The document is hostile.
 *
 * A value that does not lie in the buffer as a whole stops the reader (json_stops); the caller goes back to where the
 * value began (json_keep), has more read (json_refill), and tries again.
 */
#ifndef GPUTRACE_INPUT_JSON_H
#define GPUTRACE_INPUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/safe_text.h"
#include "input/kineto/bytes.h"

#define JSON_VALUE_MAX (64u << 20) /* bytes; a document with a longer value is refused */

/* As it stands in the document, valid until the next json_refill. */
struct json_text {
	const char *bytes;
	size_t size;
	bool escaped; /* json_unescape makes text of it */
};

struct json {
	struct byte_source source;
	char *buffer;
	size_t capacity;
	const char *at, *end;
	uint64_t before; /* bytes of the document before the buffer */
	bool stopped;	 /* it wants more, or is no JSON */
	bool wrong;	 /* it is no JSON at `at` */
	bool ended;	 /* the buffer holds the last bytes there are */
	int error;	 /* -errno of reading, as of byte_source_read */
};

void json_open(struct json *json, int fd);
void json_close(struct json *json);

/* More after what is kept; false: there is no more, or error, or the value is too long (-EFBIG). */
bool json_refill(struct json *json, const char *keep);

/* The next character that is no blank, '\0' where the buffer ends. */
char json_peek(struct json *json);

/* Values, each after blanks.  False: the reader has stopped. */
bool json_string(struct json *json, struct json_text *text);
bool json_skip(struct json *json);
bool json_raw(struct json *json, struct json_text *text);

/*
 * A number times 10^decimals, rounded towards 0, at most what fits; also one in a string.  Anything else is `other`,
 * such as null.
 */
bool json_number(struct json *json, unsigned decimals, int64_t other, int64_t *value);

/* Members of an object, elements of an array: false at its end, or when the reader has stopped.  *first: is set. */
bool json_member(struct json *json, bool *first, struct json_text *key);
bool json_element(struct json *json, bool *first);

/* Appends the text that an escaped one stands for. */
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

#endif
