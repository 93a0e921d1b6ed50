/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conversion of hostile strings to printable UTF-8. */
#include "base/safe_text.h"

#include <string.h>

#define REPLACEMENT 0xfffd

bool safe_text_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Writes a character as UTF-8, or a replacement for one that must not be shown; returns the bytes. */
static size_t write_character(char utf8[4], uint32_t c)
{
	if (c >= '\t' && c <= '\r')
		c = ' ';
	if (safe_text_is_control(c) || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = REPLACEMENT;
	if (c < 0x80) {
		utf8[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		utf8[0] = (char)(0xc0 | c >> 6);
		utf8[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		utf8[0] = (char)(0xe0 | c >> 12);
		utf8[1] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	utf8[0] = (char)(0xf0 | c >> 18);
	utf8[1] = (char)(0x80 | (c >> 12 & 0x3f));
	utf8[2] = (char)(0x80 | (c >> 6 & 0x3f));
	utf8[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Bytes from the start that are plain printable ASCII: nearly always all of them. */
static size_t plain_prefix(const uint8_t *bytes, size_t size)
{
	size_t i = 0;

	while (i < size && bytes[i] >= 0x20 && bytes[i] < 0x7f)
		i++;
	return i;
}

/* Reads one character (RFC 3629); returns the bytes it took, at least one; *c is U+FFFD for what is not UTF-8. */
static size_t read_utf8(const uint8_t *bytes, size_t size, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xc2 ? 0 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	uint32_t value = bytes[0];

	*c = REPLACEMENT;
	if (!length || bytes[0] > 0xf4)
		return 1;
	if (length > 1)
		value &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++) {
		if (i >= size || (bytes[i] & 0xc0) != 0x80)
			return i;
		value = value << 6 | (bytes[i] & 0x3f);
	}
	if (length > 1 && (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)))
		return length;
	*c = value;
	return length;
}

size_t safe_text_copy(char *out, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	size_t written = 0;

	while (size) {
		size_t taken = plain_prefix(at, size);
		char utf8[4];
		uint32_t c;

		if (taken) {
			memcpy(out + written, at, taken);
			written += taken;
		} else {
			size_t length;

			taken = read_utf8(at, size, &c);
			length = write_character(utf8, c);
			memcpy(out + written, utf8, length);
			written += length;
		}
		at += taken;
		size -= taken;
	}
	return written;
}

size_t safe_text_copy_kind(char *out, const void *bytes, size_t size, unsigned kind)
{
	const uint8_t *at = bytes;
	size_t plain = kind == 1 ? plain_prefix(at, size) : 0, written = plain;

	if (plain)
		memcpy(out, at, plain);
	for (size_t i = plain; i + kind <= size; i += kind) {
		uint32_t c = 0;

		memcpy(&c, at + i, kind);
		written += write_character(out + written, c);
	}
	return written;
}
