/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded_lines.h"

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
