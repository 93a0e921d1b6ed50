/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strings of targets made safe: valid UTF-8, one line, nothing that steers a terminal.  Knows encodings,
 * not records.
 */
#ifndef GPUTRACE_SAFE_TEXT_H
#define GPUTRACE_SAFE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

typedef ARRAY(char) text_buffer;

/*
 * Appends bytes that claim to be UTF-8.  White space becomes a blank; other control characters, marks that
 * change the direction of text, and whatever is not UTF-8 become U+FFFD.
 */
void safe_text_append_utf8(text_buffer *out, const void *bytes, size_t size);

/* The same for a CPython string: 1 (Latin-1), 2 (UCS-2) or 4 (UCS-4) bytes per character, little-endian. */
void safe_text_append_kind(text_buffer *out, const void *bytes, size_t size, unsigned kind);

#endif
