/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/packing/unpack_column.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "log/packing/varint.h"

#define INLINE static inline __attribute__((always_inline))

bool unpack_column_begin(struct unpack_column *column, uint64_t previous, const uint8_t **from, const uint8_t *end)
{
	uint64_t bytes;

	if (!varint_get(from, end, &bytes) || bytes > (size_t)(end - *from))
		return false;
	column->at = *from;
	column->end = column->at + bytes;
	column->zero = !bytes;
	column->previous = previous;
	column->value_count = 0;
	*from += bytes;
	return true;
}

void unpack_column_free(struct unpack_column *column)
{
	free(column->values);
	memset(column, 0, sizeof(*column));
}

/* Whether the next eight numbers have one byte each; *numbers gets all eight. */
#define AT_ONCE 8
#define LONGER 0x8080808080808080u
#define EACH 0x0101010101010101u

INLINE bool are_short(const uint8_t *at, const uint8_t *end, size_t left, uint64_t *numbers)
{
	if (left < AT_ONCE || end - at < AT_ONCE)
		return false;
	*numbers = field_load(at, AT_ONCE);
	return !(*numbers & LONGER);
}

/* How many numbers are read one by one before are_short() is tried again. */
INLINE size_t one_by_one(size_t left)
{
	return left < AT_ONCE ? left : AT_ONCE;
}

/* Stores one value at all places: all differences are 0. */
INLINE void repeat(struct unpack_places places, uint32_t offset, unsigned bytes, uint64_t value)
{
	for (size_t i = 0; i < places.count; i++)
		field_store(places.base + places.at[i] + offset, bytes, value);
}

INLINE bool get_delta(struct unpack_column *column, struct unpack_places places, uint32_t offset, unsigned bytes)
{
	const uint8_t *at = column->at, *end = column->end;
	uint64_t previous = column->previous, numbers;

	if (column->zero) {
		if (previous)
			repeat(places, offset, bytes, previous);
		return true;
	}
	for (size_t i = 0; i < places.count;) {
		if (are_short(at, end, places.count - i, &numbers)) {
			size_t last = i + AT_ONCE;

			for (; !numbers && i < last; i++) /* all are equal to the one before */
				field_store(places.base + places.at[i] + offset, bytes, previous);
			for (; i < last; i++, numbers >>= 8) {
				previous = zigzag_add(previous, numbers & 0x7f);
				field_store(places.base + places.at[i] + offset, bytes, previous);
			}
			at += AT_ONCE;
			continue;
		}
		for (size_t last = i + one_by_one(places.count - i); i < last; i++) {
			if (!varint_next(&at, end, &numbers))
				return false;
			previous = zigzag_add(previous, numbers);
			field_store(places.base + places.at[i] + offset, bytes, previous);
		}
	}
	column->previous = previous;
	column->at = at;
	return true;
}

INLINE void store_plus(uint8_t *place, uint32_t offset, unsigned bytes, const struct schema_field *base,
		       uint64_t zigzag)
{
	field_store(place + offset, bytes, zigzag_add(field_load_any(place + base->offset, base->bytes), zigzag));
}

INLINE bool get_plus(struct unpack_column *column, struct unpack_places places, uint32_t offset, unsigned bytes,
		     const struct schema_field *base)
{
	const uint8_t *at = column->at, *end = column->end;
	uint64_t zigzag = 0;

	for (size_t i = 0; i < places.count; i++) {
		if (!column->zero && !varint_next(&at, end, &zigzag))
			return false;
		store_plus(places.base + places.at[i], offset, bytes, base, zigzag);
	}
	column->at = at;
	return true;
}

static void add_value(struct unpack_column *column, uint64_t value)
{
	column->values = array_reserve(column->values, sizeof(value), column->value_count, 1, &column->value_capacity);
	column->values[column->value_count++] = value;
}

INLINE bool get_id(struct unpack_column *column, struct unpack_places places, uint32_t offset, unsigned bytes)
{
	const uint8_t *at = column->at, *end = column->end;
	uint64_t number, before = 0, value = 0; /* the value with number 0 */

	if (column->zero)
		return true;
	if (!column->value_count)
		add_value(column, 0);
	for (size_t i = 0; i < places.count;) {
		/* nearly all are equal to the one before */
		if (before <= 0x7f && are_short(at, end, places.count - i, &number) && number == before * EACH) {
			for (size_t last = i + AT_ONCE; i < last; i++)
				field_store(places.base + places.at[i] + offset, bytes, value);
			at += AT_ONCE;
			continue;
		}
		for (size_t last = i + one_by_one(places.count - i); i < last; i++) {
			if (!varint_next(&at, end, &number) || number > column->value_count)
				return false;
			if (number == column->value_count) {
				if ((size_t)(end - at) < bytes)
					return false;
				add_value(column, field_load(at, bytes));
				at += bytes;
			}
			before = number;
			value = column->values[number];
			field_store(places.base + places.at[i] + offset, bytes, value);
		}
	}
	column->at = at;
	return true;
}

INLINE bool get_raw(struct unpack_column *column, struct unpack_places places, uint32_t offset, unsigned bytes)
{
	const uint8_t *at = column->at;

	if (column->zero)
		return true;
	if ((size_t)(column->end - at) / bytes < places.count)
		return false;
	for (size_t i = 0; i < places.count; i++, at += bytes)
		memcpy(places.base + places.at[i] + offset, at, bytes);
	column->at = at;
	return true;
}

/* A separate loop for each width, so that the width is a constant to the compiler. */
#define BY_WIDTH(bytes, get, ...)                                                                                      \
	((bytes) == 1	? get(column, places, offset, 1, ##__VA_ARGS__)                                                \
	 : (bytes) == 2 ? get(column, places, offset, 2, ##__VA_ARGS__)                                                \
	 : (bytes) == 4 ? get(column, places, offset, 4, ##__VA_ARGS__)                                                \
			: get(column, places, offset, 8, ##__VA_ARGS__))

bool unpack_column_field(struct unpack_column *column, struct unpack_places places, const struct schema_field *fields,
			 uint32_t index)
{
	const struct schema_field *field = &fields[index];
	uint32_t offset = field->offset;

	switch (field->code) {
	case SCHEMA_DELTA:
		return BY_WIDTH(field->bytes, get_delta);
	case SCHEMA_PLUS:
		return BY_WIDTH(field->bytes, get_plus, &fields[field->base]);
	case SCHEMA_ID:
		return BY_WIDTH(field->bytes, get_id);
	default:
		return BY_WIDTH(field->bytes, get_raw);
	}
}

bool unpack_column_delta16(struct unpack_column *column, struct unpack_places places, uint32_t offset)
{
	return get_delta(column, places, offset, 2);
}

bool unpack_column_bytes(struct unpack_column *column, uint8_t *to, size_t count)
{
	if (column->zero || !count)
		return true;
	if ((size_t)(column->end - column->at) < count)
		return false;
	memcpy(to, column->at, count);
	column->at += count;
	return true;
}
