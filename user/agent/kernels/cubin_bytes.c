/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/kernels/cubin_bytes.h"

#include <string.h>

uint64_t cubin_take(struct cubin_bytes *bytes, unsigned count)
{
	uint64_t value = 0;

	if (bytes->failed || count > bytes->size - bytes->at) {
		bytes->failed = true;
		return 0;
	}
	memcpy(&value, bytes->data + bytes->at, count);
	bytes->at += count;
	return value;
}

uint64_t cubin_take_uleb(struct cubin_bytes *bytes)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && !bytes->failed; shift += 7) {
		byte = cubin_take(bytes, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	return value;
}

int64_t cubin_take_sleb(struct cubin_bytes *bytes)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && !bytes->failed; shift += 7) {
		byte = cubin_take(bytes, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

struct cubin_text cubin_take_text(struct cubin_bytes *bytes)
{
	struct cubin_text text = {(const char *)bytes->data + bytes->at, 0};
	const void *end = bytes->failed ? NULL : memchr(text.bytes, 0, bytes->size - bytes->at);

	if (!end) {
		bytes->failed = true;
		return (struct cubin_text){"", 0};
	}
	text.size = (size_t)((const char *)end - text.bytes);
	bytes->at += text.size + 1;
	return text;
}

struct cubin_bytes cubin_part(struct cubin_bytes *bytes, uint64_t size)
{
	struct cubin_bytes part = {.failed = true};

	if (bytes->failed || size > bytes->size - bytes->at) {
		bytes->failed = true;
		return part;
	}
	part = (struct cubin_bytes){.data = bytes->data + bytes->at, .size = (size_t)size};
	bytes->at += (size_t)size;
	return part;
}
