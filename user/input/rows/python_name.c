/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/rows/python_name.h"

#include <string.h>

struct python_name python_name_read(struct text text)
{
	struct python_name name = {.function = text};
	const char *end = text.bytes + text.size, *close = text.bytes, *open;

	while ((close = memchr(close, ')', (size_t)(end - close)))) {
		uint64_t line = 0;

		for (open = close; open > text.bytes && open[-1] >= '0' && open[-1] <= '9'; open--)
			;
		if (close + 2 < end && close[1] == ':' && close[2] == ' ' && open < close && close - open < 10 &&
		    open > text.bytes && open[-1] == '(') {
			for (const char *at = open; at < close; at++)
				line = 10 * line + (uint64_t)(*at - '0');
			name.file = (struct text){text.bytes, (size_t)(open - 1 - text.bytes)};
			name.function = (struct text){close + 3, (size_t)(end - close - 3)};
			name.line = line <= INT32_MAX ? (uint32_t)line : 0;
			name.has_file = true;
			return name;
		}
		close++;
	}
	return name;
}
