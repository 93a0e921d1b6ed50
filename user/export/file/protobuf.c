/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/file/protobuf.h"

void proto_end_long(struct sink *memory, size_t begin)
{
	size_t length = memory->used - begin, more = 0, rest = length;

	for (size_t left = length >> 7; left; left >>= 7)
		more++;
	memset(sink_room(memory, more), 0, more);
	memmove(memory->buffer + begin + more, memory->buffer + begin, length);
	memory->used += more;
	for (char *at = memory->buffer + begin - 1;; at++, rest >>= 7) {
		*at = (char)(rest >= 0x80 ? rest | 0x80 : rest);
		if (rest < 0x80)
			break;
	}
}
