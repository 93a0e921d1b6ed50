/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes strings of targets safe to print: valid UTF-8, one line, nothing that steers a terminal.  All output goes
 * through here: messages (msg.c), gputrace doctor, and the strings of reports and files (model/string_pool.c).  Knows
 * encodings, not records.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

typedef ARRAY(char) text_buffer;

/* Appends them as they are; size may be 0. */
static inline void text_append(text_buffer *text, const char *bytes, size_t size)
{
	text->items = array_reserve(text->items, 1, text->count, size, &text->capacity);
	if (size) /* an empty buffer has no memory yet, and memcpy of nothing to NULL is undefined */
		memcpy(text->items + text->count, bytes, size);
	text->count += size;
}

/*
 * C0, C1 and DEL; Unicode 15's Bidi_Control, which changes the direction of the text that follows (UAX 9); separators
 * of lines and paragraphs.
 */
bool safe_text_is_control(uint32_t c);

/* The most that safe_text_copy writes for `size` bytes: U+FFFD has three. */
#define SAFE_TEXT_MAX(size) (3 * (size))

/* As safe_text_append_utf8, to memory of SAFE_TEXT_MAX(size) bytes; returns the bytes written. */
size_t safe_text_copy(char *out, const void *bytes, size_t size);

/* The same for a CPython string: 1 (Latin-1), 2 (UCS-2) or 4 (UCS-4) bytes per character, little-endian. */
size_t safe_text_copy_kind(char *out, const void *bytes, size_t size, unsigned kind);

/*
 * Appends bytes that should be UTF-8.  White space becomes a blank; other control characters, marks that
 * change the direction of text, and bytes that are not UTF-8 become U+FFFD.
 */
void safe_text_append_utf8(text_buffer *out, const void *bytes, size_t size);

/* The same for a CPython string. */
void safe_text_append_kind(text_buffer *out, const void *bytes, size_t size, unsigned kind);

/* Writes a string of JSON with its quotes, made safe; NULL: null. */
void put_json_string(FILE *out, const char *text);
