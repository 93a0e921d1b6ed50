/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats numbers and JSON strings; does not know where they go. */
#include <stdarg.h>
#include <string.h>

#include "export/file/sink.h"

#define DIGITS_MAX 20 /* of 2^64 - 1 */

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				  "8081828384858687888990919293949596979899";

/* Writes the digits so that they end at `end`; returns their start. */
static char *digits_before(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, digit_pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, digit_pairs + 2 * value, 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

void sink_u64(struct sink *sink, uint64_t value)
{
	char text[DIGITS_MAX], *start = digits_before(text + DIGITS_MAX, value);

	sink_short(sink, start, (size_t)(text + DIGITS_MAX - start));
}

void sink_i64(struct sink *sink, int64_t value)
{
	if (value < 0)
		sink_char(sink, '-');
	sink_u64(sink, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void sink_us(struct sink *sink, uint64_t ns)
{
	char tail[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10)};

	sink_u64(sink, ns / 1000);
	sink_short(sink, tail, sizeof(tail));
}

void sink_fraction(struct sink *sink, double value)
{
	uint64_t millionths;
	char digits[6];
	int kept = 6;

	if (!(value > 0))
		value = 0;
	if (value > 1e12)
		value = 1e12;
	millionths = (uint64_t)(value * 1e6 + 0.5);
	sink_u64(sink, millionths / 1000000);
	millionths %= 1000000;
	for (int i = 5; i >= 0; i--, millionths /= 10)
		digits[i] = (char)('0' + millionths % 10);
	while (kept > 1 && digits[kept - 1] == '0')
		kept--;
	sink_char(sink, '.');
	sink_short(sink, digits, (size_t)kept);
}

/* Length of the valid UTF-8 sequence at text (NUL-terminated), 0: not valid (RFC 3629, so no surrogates). */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first, last, second_low, second_high, length;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (text[1] < forms[i].second_low || text[1] > forms[i].second_high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

/* Characters that are written as they are; a table is faster than comparisons. */
static const bool is_plain[256] = {
	[' '] = true, ['!'] = true, ['#' ... ':'] = true, ['<' ... '['] = true, [']' ... '~'] = true,
};

/* Writes one character that needs escaping or checking; returns how many bytes of text it took. */
static size_t put_special(struct sink *sink, const unsigned char *text, bool replace_semicolons)
{
	static const char hex[] = "0123456789abcdef";
	char escape[6] = {'\\', 'u', '0', '0', hex[*text >> 4], hex[*text & 15]};
	size_t length;

	if (*text == ';') {
		sink_char(sink, replace_semicolons ? '_' : ';');
		return 1;
	}
	if (*text == '"' || *text == '\\') {
		escape[1] = (char)*text;
		sink_short(sink, escape, 2);
		return 1;
	}
	if (*text < 0x80) {
		sink_short(sink, escape, 6);
		return 1;
	}
	length = utf8_length(text);
	if (length)
		sink_short(sink, (const char *)text, length);
	else
		sink_literal(sink, "\xef\xbf\xbd"); /* U+FFFD */
	return length ? length : 1;
}

void sink_json_part(struct sink *sink, const char *text, bool replace_semicolons)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		const unsigned char *run = at;

		while (is_plain[*at])
			at++;
		sink_put(sink, (const char *)run, (size_t)(at - run));
		if (*at)
			at += put_special(sink, at, replace_semicolons);
	}
}

void sink_json(struct sink *sink, const char *text)
{
	sink_char(sink, '"');
	sink_json_part(sink, text, false);
	sink_char(sink, '"');
}

static bool is_ascii(const char *text, size_t length)
{
	uint64_t eight, bits = 0;
	size_t i = 0;

	for (; i + sizeof(eight) <= length; i += sizeof(eight)) {
		memcpy(&eight, text + i, sizeof(eight));
		bits |= eight;
	}
	for (; i < length; i++)
		bits |= (unsigned char)text[i];
	return !(bits & 0x8080808080808080);
}

static void put_utf8(struct sink *sink, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		const unsigned char *run = at;
		size_t length = 0;

		while (*at && (*at < 0x80 || (length = utf8_length(at))))
			at += *at < 0x80 ? 1 : length;
		sink_put(sink, (const char *)run, (size_t)(at - run));
		if (*at) {
			sink_literal(sink, "\xef\xbf\xbd"); /* U+FFFD */
			at++;
		}
	}
}

void sink_utf8(struct sink *sink, const char *text)
{
	size_t length = strlen(text);

	if (is_ascii(text, length))
		sink_put(sink, text, length);
	else
		put_utf8(sink, text);
}

void sink_print(struct sink *sink, const char *format, ...)
{
	const char *next;
	va_list args;

	va_start(args, format);
	for (; (next = strchr(format, '%')); format = next + 1) {
		bool is_long = next[1] == 'l';

		sink_put(sink, format, (size_t)(next - format));
		next += 1 + is_long;
		if (*next == 's')
			sink_json(sink, va_arg(args, const char *));
		else if (*next == 'u')
			sink_u64(sink, is_long ? va_arg(args, uint64_t) : va_arg(args, uint32_t));
		else
			sink_i64(sink, is_long ? va_arg(args, int64_t) : va_arg(args, int32_t));
	}
	sink_text(sink, format);
	va_end(args);
}
