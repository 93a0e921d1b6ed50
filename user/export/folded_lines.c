/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded_lines.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct folded_line *)left)->text, ((const struct folded_line *)right)->text);
}

void folded_lines_put(struct sink *sink, struct folded_line *lines, size_t count)
{
	qsort(lines, count, sizeof(*lines), by_text);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && !strcmp(lines[i].text, lines[i + 1].text)) {
			lines[i + 1].value += lines[i].value;
		} else {
			sink_text(sink, lines[i].text);
			sink_char(sink, ' ');
			sink_u64(sink, lines[i].value);
			sink_char(sink, '\n');
		}
		free(lines[i].text);
	}
}

/* Whether text ends in a blank and a number, which flamegraph.pl would take for a count. */
static bool ends_like_count(const char *text, size_t length)
{
	size_t at = length;

	while (at && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'))
		at--;
	return at && at < length && text[at - 1] == ' ';
}

void folded_put_frame(struct sink *out, const char *text)
{
	size_t begin;

	if (out->used)
		sink_char(out, ';');
	begin = out->used;
	for (; *text; text++)
		sink_char(out, *text == ';' || (unsigned char)*text < 0x20 || *text == 0x7f ? '_' : *text);
	if (out->used == begin)
		sink_char(out, '?');
	if (ends_like_count(out->buffer + begin, out->used - begin)) {
		char *blank = memrchr(out->buffer + begin, ' ', out->used - begin);

		*blank = '_';
	}
}
