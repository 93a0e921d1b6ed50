/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The scanner; see json.h.  The buffer ends in 16 zeros, so that the scanner can read 16 bytes at a time. */
#include "base/json/json.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES (1u << 20)
#define PADDING 16u
#define DEPTH_MAX 512 /* nested brackets */

void json_open(struct json *json, int fd)
{
	*json = (struct json){.capacity = FIRST_BYTES};
	byte_source_open(&json->source, fd);
	json->buffer = xcalloc(1, json->capacity + PADDING);
	json->at = json->end = json->buffer;
}

void json_close(struct json *json)
{
	byte_source_close(&json->source);
	free(json->buffer);
	json->buffer = NULL;
}

/* Makes room after the kept bytes; false: they are too long already. */
static bool make_room(struct json *json, size_t kept)
{
	char *larger;

	if (kept <= json->capacity / 2)
		return true;
	if (json->capacity > JSON_VALUE_MAX)
		return false;
	larger = xcalloc(1, 2 * json->capacity + PADDING);
	memcpy(larger, json->buffer, kept);
	free(json->buffer);
	json->buffer = larger;
	json->capacity *= 2;
	return true;
}

bool json_refill(struct json *json, const char *keep)
{
	size_t kept = (size_t)(json->end - keep), at = (size_t)(json->at - keep);
	int64_t got;

	if (json->wrong || json->ended || json->error)
		return false;
	json->before += (uint64_t)(keep - json->buffer);
	memmove(json->buffer, keep, kept);
	if (!make_room(json, kept)) {
		json->error = -EFBIG;
		return false;
	}
	got = byte_source_read(&json->source, json->buffer + kept, json->capacity - kept);
	json->error = got < 0 ? (int)got : 0;
	json->ended = !got;
	json->at = json->buffer + at;
	json->end = json->buffer + kept + (got > 0 ? got : 0);
	memset((char *)json->end, 0, PADDING);
	json->stopped &= got <= 0;
	return got > 0;
}

static bool stop_parsing(struct json *json, bool wrong)
{
	json->stopped = true;
	json->wrong |= wrong;
	return false;
}

/* Stops at unexpected input: malformed, except at the end of the buffer, where more may follow. */
static bool stop_here(struct json *json)
{
	return stop_parsing(json, json->at < json->end);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_blanks(struct json *json)
{
	const __m128i blank = _mm_set1_epi8(' ');
	const char *at = json->at;

	while (is_blank(*at)) {
		at++;
		/* indentation */
		if (*at == ' ' && at + 16 <= json->end) {
			int others = ~_mm_movemask_epi8(
				_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), blank));

			at += others & 0xffff ? __builtin_ctz((unsigned)others) : 16;
		}
	}
	json->at = at < json->end ? at : json->end;
}

char json_peek(struct json *json)
{
	if (is_blank(*json->at))
		skip_blanks(json);
	return *json->at;
}

static bool json_take(struct json *json, char c)
{
	if (json_peek(json) != c || json->at >= json->end)
		return false;
	json->at++;
	return true;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* The next quotation mark or backslash, or the end. */
static const char *find_mark(const char *at, const char *end)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');

	for (; at < end; at += 16) {
		__m128i some = _mm_loadu_si128((const __m128i *)(const void *)at);
		int marks =
			_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(some, quote), _mm_cmpeq_epi8(some, backslash)));

		if (marks)
			return at + __builtin_ctz((unsigned)marks) < end ? at + __builtin_ctz((unsigned)marks) : end;
	}
	return end;
}

bool json_string(struct json *json, struct json_text *text)
{
	const char *at;

	if (json_peek(json) != '"')
		return stop_here(json);
	text->bytes = at = json->at + 1;
	text->escaped = false;
	for (;;) {
		at = find_mark(at, json->end);
		if (at >= json->end)
			return stop_parsing(json, false);
		if (*at == '"')
			break;
		text->escaped = true;
		at += 2;
	}
	text->size = (size_t)(at - text->bytes);
	json->at = at + 1;
	return true;
}

static bool take_hex(const char *at, const char *end, uint32_t *value)
{
	*value = 0;
	if (end - at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = at[i];
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;

		if (digit == 16)
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

static void append_character(text_buffer *out, uint32_t c)
{
	char bytes[4];

	if (c < 0x80) {
		bytes[0] = (char)c;
		text_append(out, bytes, 1);
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		text_append(out, bytes, 2);
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		text_append(out, bytes, 3);
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (c & 0x3f));
		text_append(out, bytes, 4);
	}
}

/* Appends the character after "\u", or the one that a surrogate pair makes; returns the position after it. */
static const char *append_unicode(text_buffer *out, const char *at, const char *end)
{
	uint32_t c, low;

	if (!take_hex(at, end, &c))
		return at;
	at += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
	    take_hex(at + 2, end, &low) && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	}
	append_character(out, c);
	return at;
}

void json_unescape(text_buffer *out, const struct json_text *text)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *at = text->bytes, *end = at + text->size;

	while (at < end) {
		const char *mark = memchr(at, '\\', (size_t)(end - at)), *letter;

		text_append(out, at, (size_t)((mark ? mark : end) - at));
		if (!mark || mark + 1 >= end)
			return;
		at = mark + 2;
		letter = mark[1] ? strchr(from, mark[1]) : NULL;
		if (mark[1] == 'u')
			at = append_unicode(out, at, end);
		else
			text_append(out, letter ? &to[letter - from] : mark + 1, 1);
	}
}

/* ---- other values ------------------------------------------------------------------------------------------------ */

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
	       c == '.';
}

/* Skips a number, a word of JSON, or a word that some writers use for numbers. */
static bool skip_plain(struct json *json)
{
	const char *at = json->at;

	while (is_plain(*at))
		at++;
	if (at == json->at)
		return stop_here(json);
	json->at = at;
	/* it may continue after the buffer */
	return at < json->end || stop_parsing(json, false);
}

bool json_skip(struct json *json)
{
	struct json_text text;
	unsigned depth = 0;

	do {
		char c = json_peek(json);

		if (c == '"') {
			if (!json_string(json, &text))
				return false;
		} else if (c == '{' || c == '[') {
			json->at++;
			if (++depth > DEPTH_MAX)
				return stop_parsing(json, true);
		} else if (depth && (c == '}' || c == ']')) {
			json->at++;
			depth--;
		} else if (depth && (c == ',' || c == ':')) {
			json->at++;
		} else if (!skip_plain(json)) {
			return false;
		}
	} while (depth);
	return true;
}

bool json_raw(struct json *json, struct json_text *text)
{
	json_peek(json);
	text->bytes = json->at;
	text->escaped = false;
	if (!json_skip(json))
		return false;
	text->size = (size_t)(json->at - text->bytes);
	return true;
}

/* Scales a number of digits and a point, as most are; an exponent is left to strtold. */
static int64_t scale_number(const char *at, const char *end, unsigned decimals, int64_t other)
{
	const char *from = at;
	bool below = at < end && *at == '-', any = false, too_large = false;
	uint64_t value = 0;
	int left = -1; /* decimals still to come, after the point; -1: no point yet */

	for (at += below; at < end; at++) {
		if (*at == '.' && left < 0) {
			left = (int)decimals;
		} else if (*at >= '0' && *at <= '9') {
			any = true;
			if (!left)
				continue;
			left -= left > 0;
			too_large |= value > (uint64_t)INT64_MAX / 10 - 1;
			value = too_large ? 0 : 10 * value + (uint64_t)(*at - '0');
		} else if ((*at == 'e' || *at == 'E') && any && end - from < 64) {
			char number[64] = "";
			long double scaled;

			memcpy(number, from, (size_t)(end - from));
			scaled = strtold(number, NULL);
			for (unsigned i = 0; i < decimals; i++)
				scaled *= 10;
			return scaled >= -9e18L && scaled <= 9e18L ? (int64_t)scaled : other;
		} else {
			return other;
		}
	}
	for (left = left < 0 ? (int)decimals : left; left; left--) {
		too_large |= value > (uint64_t)INT64_MAX / 10;
		value = too_large ? 0 : 10 * value;
	}
	if (!any)
		return other;
	if (too_large)
		return below ? INT64_MIN : INT64_MAX;
	return below ? -(int64_t)value : (int64_t)value;
}

bool json_number(struct json *json, unsigned decimals, int64_t other, int64_t *value)
{
	struct json_text text;
	char c = json_peek(json);

	*value = other;
	if (c == '"') {
		if (!json_string(json, &text))
			return false;
	} else if (c == '{' || c == '[') {
		return json_skip(json);
	} else {
		text.bytes = json->at;
		if (!skip_plain(json))
			return false;
		text.size = (size_t)(json->at - text.bytes);
	}
	*value = scale_number(text.bytes, text.bytes + text.size, decimals, other);
	return true;
}

/* Enters an object or array, or steps over a comma; whether an element follows. */
static bool goes_on(struct json *json, bool *first, char opens, char closes)
{
	if (*first) {
		*first = false;
		if (!json_take(json, opens))
			return stop_here(json);
		if (json_take(json, closes))
			return false;
		return true;
	}
	if (json_take(json, closes))
		return false;
	/* some writers leave a comma before the end */
	if (!json_take(json, ','))
		return stop_here(json);
	return !json_take(json, closes);
}

bool json_member(struct json *json, bool *first, struct json_text *key)
{
	if (!goes_on(json, first, '{', '}') || !json_string(json, key))
		return false;
	return json_take(json, ':') || stop_here(json);
}

bool json_element(struct json *json, bool *first)
{
	if (!goes_on(json, first, '[', ']'))
		return false;
	return json_peek(json) || stop_here(json);
}
