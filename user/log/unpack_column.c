/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/unpack_column.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "log/varint.h"

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

/* Most numbers are one byte. */
INLINE bool next_number(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
	if (*at < end && **at < 0x80) {
		*number = *(*at)++;
		return true;
	}
	return varint_get(at, end, number);
}

INLINE bool get_delta(struct unpack_column *column, struct unpack_places places, uint32_t offset, unsigned bytes)
{
	const uint8_t *at = column->at, *end = column->end;
	uint64_t previous = column->previous, zigzag;

	if (column->zero && !previous)
		return true;
	for (size_t i = 0; i < places.count; i++) {
		if (column->zero)
			zigzag = 0;
		else if (!next_number(&at, end, &zigzag))
			return false;
		previous = zigzag_add(previous, zigzag);
		field_store(places.base + places.at[i] + offset, bytes, previous);
	}
	column->previous = previous;
	column->at = at;
	return true;
}

INLINE bool get_plus(struct unpack_column *column, struct unpack_places places, uint32_t offset, unsigned bytes,
		     const struct schema_field *base)
{
	const uint8_t *at = column->at, *end = column->end;
	uint64_t zigzag;

	for (size_t i = 0; i < places.count; i++) {
		uint8_t *place = places.base + places.at[i];

		if (column->zero)
			zigzag = 0;
		else if (!next_number(&at, end, &zigzag))
			return false;
		field_store(place + offset, bytes,
			    zigzag_add(field_load_any(place + base->offset, base->bytes), zigzag));
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
	uint64_t number;

	if (column->zero)
		return true;
	if (!column->value_count)
		add_value(column, 0);
	for (size_t i = 0; i < places.count; i++) {
		if (!next_number(&at, end, &number) || number > column->value_count)
			return false;
		if (number == column->value_count) {
			if ((size_t)(end - at) < bytes)
				return false;
			add_value(column, field_load(at, bytes));
			at += bytes;
		}
		field_store(places.base + places.at[i] + offset, bytes, column->values[number]);
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

/* A loop of its own for each width, which the compiler knows then. */
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

bool unpack_column_number(struct unpack_column *column, uint64_t *number)
{
	*number = 0;
	return column->zero || next_number(&column->at, column->end, number);
}

bool unpack_column_next32(struct unpack_column *column, uint32_t *value)
{
	uint64_t zigzag;

	if (!unpack_column_number(column, &zigzag))
		return false;
	column->previous = (uint32_t)zigzag_add(column->previous, zigzag);
	*value = (uint32_t)column->previous;
	return true;
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
