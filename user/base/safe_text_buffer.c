/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Safe texts that need memory (safe_text.h). */
#include "base/safe_text.h"

#include <string.h>

void safe_text_append_utf8(text_buffer *out, const void *bytes, size_t size)
{
	out->items = array_reserve(out->items, 1, out->count, SAFE_TEXT_MAX(size), &out->capacity);
	if (size)
		out->count += safe_text_copy(out->items + out->count, bytes, size);
}

void safe_text_append_kind(text_buffer *out, const void *bytes, size_t size, unsigned kind)
{
	/* a UCS-4 character becomes four bytes at most, a UCS-2 or Latin-1 one three */
	out->items = array_reserve(out->items, 1, out->count, SAFE_TEXT_MAX(size), &out->capacity);
	if (size)
		out->count += safe_text_copy_kind(out->items + out->count, bytes, size, kind);
}

void put_json_string(FILE *out, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	AUTO_FREE char *safe = xmalloc(SAFE_TEXT_MAX(size) + 1);
	size_t length = safe_text_copy(safe, text ? text : "", size);

	fputs(text ? "\"" : "null", out);
	for (size_t i = 0; i < length; i++) {
		if (safe[i] == '"' || safe[i] == '\\')
			fputc('\\', out);
		fputc(safe[i], out);
	}
	if (text)
		fputc('"', out);
}
