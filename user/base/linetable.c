/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Line tables as described in CPython's Objects/lnotab_notes.txt (up to 3.9: co_lnotab; 3.10: co_linetable)
 * and Objects/locations.md, InternalDocs/code_objects.md (3.11 and later).  The results equal those of
 * PyCode_Addr2Line (Objects/codeobject.c).
 */
#include "base/linetable.h"

#include "base/order.h"

#define LOCATION_UNIT 2 /* bytes: sizeof(_Py_CODEUNIT) */

/* Forms of a location entry (enum _PyCodeLocationInfoKind, Include/cpython/code.h). */
enum {
	LOCATION_ONE_LINE0 = 10, /* below: short forms, on the previous entry's line */
	LOCATION_ONE_LINE2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

#define NO_LINE_310 (-128) /* line delta that means "no line" */

static void add_range(line_ranges *out, uint64_t end, int64_t line)
{
	struct line_range range = {.end = end > UINT32_MAX ? UINT32_MAX : (uint32_t)end,
				   .line = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0};
	struct line_range *last = out->count ? &out->items[out->count - 1] : NULL;

	if (range.end <= (last ? last->end : 0))
		return;
	if (last && last->line == range.line)
		last->end = range.end;
	else
		array_push(out, range);
}

static void decode_lnotab(const uint8_t *table, size_t bytes, bool whole, int64_t line, line_ranges *out)
{
	uint64_t offset = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		offset += table[i];
		add_range(out, offset, line);
		line += (int8_t)table[i + 1];
	}
	if (whole)
		add_range(out, UINT32_MAX, line);
}

static void decode_310(const uint8_t *table, size_t bytes, bool whole, int64_t line, line_ranges *out)
{
	uint64_t offset = 0;

	(void)whole;
	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int delta = (int8_t)table[i + 1];

		offset += table[i];
		if (delta != NO_LINE_310)
			line += delta;
		add_range(out, offset, delta == NO_LINE_310 ? 0 : line);
	}
}

/* A signed varint of a location entry: six bits a byte, lowest first, bit 6 continues, bit 0 of the value is the sign.
 */
static int64_t read_svarint(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < end && shift < 36; shift += 6, at++) {
		value |= (uint64_t)(*at & 0x3f) << shift;
		if (!(*at & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t location_delta(unsigned form, const uint8_t *after, const uint8_t *end)
{
	if (form == LOCATION_NO_COLUMNS || form == LOCATION_LONG)
		return read_svarint(after, end);
	if (form >= LOCATION_ONE_LINE0 && form <= LOCATION_ONE_LINE2)
		return form - LOCATION_ONE_LINE0;
	return 0;
}

static void decode_locations(const uint8_t *table, size_t bytes, bool whole, int64_t line, line_ranges *out)
{
	const uint8_t *at = table, *end = bytes ? table + bytes : table; /* no table: NULL */
	uint64_t offset = 0;

	(void)whole;
	while (at < end) {
		unsigned form = *at >> 3 & 15;

		offset += ((*at & 7u) + 1) * LOCATION_UNIT;
		line += location_delta(form, at + 1, end);
		add_range(out, offset, form == LOCATION_NONE ? 0 : line);
		/* an entry's first byte, and no other, has its top bit set */
		do
			at++;
		while (at < end && !(*at & 0x80));
	}
}

void linetable_decode(enum gpt_linetable kind, const uint8_t *table, size_t bytes, bool whole, uint32_t first_line,
		      line_ranges *out)
{
	static void (*const decoders[])(const uint8_t *, size_t, bool, int64_t, line_ranges *) = {
		[GPT_LINES_LNOTAB] = decode_lnotab,
		[GPT_LINES_310] = decode_310,
		[GPT_LINES_LOCATIONS] = decode_locations,
	};

	if ((unsigned)kind < sizeof(decoders) / sizeof(decoders[0]) && decoders[kind])
		decoders[kind](table, bytes, whole, first_line, out);
}

uint32_t linetable_find(const struct line_range *ranges, size_t count, uint32_t offset)
{
	size_t low = count_while(count, i, ranges[i].end <= offset);

	return low < count ? ranges[low].line : 0;
}
