/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/packing/pack_column.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "log/packing/varint.h"

#define INLINE static inline __attribute__((always_inline))

#define SLOT_BITS_FIRST 8
#define SLOT_BITS_MAX 16
#define PROBES 8

void pack_column_begin(struct pack_column *column, uint64_t previous)
{
	struct dictionary *dictionary = &column->dictionary;

	column->count = 0;
	column->any = 0;
	column->previous = previous;
	dictionary->segment++;
	if (!dictionary->segment && dictionary->slots) { /* once in four thousand million segments */
		memset(dictionary->slots, 0, sizeof(*dictionary->slots) << dictionary->slot_bits);
		dictionary->segment = 1;
	}
	dictionary->used = 0;
	dictionary->count = 1;
	dictionary->last_value = 0;
	dictionary->last_number = 0;
}

void pack_column_free(struct pack_column *column)
{
	free(column->bytes);
	free(column->dictionary.slots);
	memset(column, 0, sizeof(*column));
}

/* Makes room for `bytes` more bytes, which may be 0; returns where they go. */
static uint8_t *reserve_bytes(struct pack_column *column, size_t bytes)
{
	column->bytes = array_reserve(column->bytes, 1, column->count, bytes + 1, &column->capacity);
	return column->bytes + column->count;
}

INLINE uint32_t slot_of(uint64_t value, uint32_t bits)
{
	value ^= value >> 32;
	return (uint32_t)(value * 0x9e3779b97f4a7c15u >> (64 - bits));
}

/* The slot of a value; if it has none, the one to use for it. */
static struct dictionary_slot *find_slot(struct dictionary *dictionary, uint64_t value)
{
	uint32_t mask = (1u << dictionary->slot_bits) - 1, first = slot_of(value, dictionary->slot_bits);

	for (uint32_t i = 0; i < PROBES; i++) {
		struct dictionary_slot *slot = &dictionary->slots[(first + i) & mask];

		if (slot->segment != dictionary->segment || slot->value == value)
			return slot;
	}
	return &dictionary->slots[first];
}

static void grow_dictionary(struct dictionary *dictionary)
{
	AUTO_FREE struct dictionary_slot *old = dictionary->slots;
	size_t count = old ? (size_t)1 << dictionary->slot_bits : 0;

	dictionary->slot_bits = old ? dictionary->slot_bits + 1 : SLOT_BITS_FIRST;
	dictionary->slots = xcalloc((size_t)1 << dictionary->slot_bits, sizeof(*old));
	dictionary->used = 0;
	for (size_t i = 0; i < count; i++)
		if (old[i].segment == dictionary->segment) {
			*find_slot(dictionary, old[i].value) = old[i];
			dictionary->used++;
		}
}

/* The number of a value; a new value gets the length of the list so far. */
static uint32_t number_of(struct dictionary *dictionary, uint64_t value)
{
	struct dictionary_slot *slot;

	if (!value)
		return 0;
	if (!dictionary->slots || (dictionary->used >> (dictionary->slot_bits - 1) && /* half full */
				   dictionary->slot_bits < SLOT_BITS_MAX))
		grow_dictionary(dictionary);
	slot = find_slot(dictionary, value);
	if (slot->segment == dictionary->segment && slot->value == value)
		return slot->number;
	dictionary->used += slot->segment != dictionary->segment;
	*slot = (struct dictionary_slot){value, dictionary->count, dictionary->segment};
	return dictionary->count++;
}

INLINE void put_delta(struct pack_column *column, struct pack_places places, uint32_t offset, unsigned bytes)
{
	uint8_t *start = reserve_bytes(column, places.count * VARINT_MAX), *to = start;
	uint64_t previous = column->previous, any = column->any;

	for (size_t i = 0; i < places.count; i++) {
		uint64_t value = field_load(places.base + places.at[i] + offset, bytes);
		uint64_t zigzag = zigzag_of(value, previous, bytes);

		any |= zigzag;
		to = varint_put(to, zigzag);
		previous = value;
	}
	column->previous = previous;
	column->any = any;
	column->count += (size_t)(to - start);
}

INLINE void put_plus(struct pack_column *column, struct pack_places places, uint32_t offset, unsigned bytes,
		     const struct schema_field *base)
{
	uint8_t *start = reserve_bytes(column, places.count * VARINT_MAX), *to = start;
	uint64_t any = column->any;

	for (size_t i = 0; i < places.count; i++) {
		const uint8_t *place = places.base + places.at[i];
		uint64_t from = field_load_any(place + base->offset, base->bytes);
		uint64_t zigzag = zigzag_of(field_load(place + offset, bytes), from, bytes);

		any |= zigzag;
		to = varint_put(to, zigzag);
	}
	column->any = any;
	column->count += (size_t)(to - start);
}

INLINE void put_id(struct pack_column *column, struct pack_places places, uint32_t offset, unsigned bytes)
{
	uint8_t *start = reserve_bytes(column, places.count * (VARINT_MAX + 8)), *to = start;
	struct dictionary *dictionary = &column->dictionary;
	uint64_t last_value = dictionary->last_value, any = column->any;
	uint32_t last_number = dictionary->last_number;

	for (size_t i = 0; i < places.count; i++) {
		uint64_t value = field_load(places.base + places.at[i] + offset, bytes);
		uint32_t known = dictionary->count;

		if (value != last_value) {
			last_value = value;
			last_number = number_of(dictionary, value);
		}
		any |= last_number;
		to = varint_put(to, last_number);
		if (last_number == known) {
			field_store(to, bytes, value);
			to += bytes;
		}
	}
	dictionary->last_value = last_value;
	dictionary->last_number = last_number;
	column->any = any;
	column->count += (size_t)(to - start);
}

INLINE void put_raw(struct pack_column *column, struct pack_places places, uint32_t offset, unsigned bytes)
{
	uint8_t *to = reserve_bytes(column, places.count * 8);
	uint64_t any = column->any;

	for (size_t i = 0; i < places.count; i++, to += bytes) {
		uint64_t value = field_load(places.base + places.at[i] + offset, bytes);

		any |= value;
		field_store(to, bytes, value);
	}
	column->any = any;
	column->count += places.count * bytes;
}

/* A separate loop for each width, so that the width is a constant to the compiler. */
#define BY_WIDTH(bytes, put, ...)                                                                                      \
	do {                                                                                                           \
		switch (bytes) {                                                                                       \
		case 1:                                                                                                \
			put(column, places, offset, 1, ##__VA_ARGS__);                                                 \
			break;                                                                                         \
		case 2:                                                                                                \
			put(column, places, offset, 2, ##__VA_ARGS__);                                                 \
			break;                                                                                         \
		case 4:                                                                                                \
			put(column, places, offset, 4, ##__VA_ARGS__);                                                 \
			break;                                                                                         \
		default:                                                                                               \
			put(column, places, offset, 8, ##__VA_ARGS__);                                                 \
		}                                                                                                      \
	} while (0)

void pack_column_field(struct pack_column *column, struct pack_places places, const struct schema_field *fields,
		       uint32_t index)
{
	const struct schema_field *field = &fields[index];
	uint32_t offset = field->offset;

	switch (field->code) {
	case SCHEMA_DELTA:
		BY_WIDTH(field->bytes, put_delta);
		break;
	case SCHEMA_PLUS:
		BY_WIDTH(field->bytes, put_plus, &fields[field->base]);
		break;
	case SCHEMA_ID:
		BY_WIDTH(field->bytes, put_id);
		break;
	default:
		BY_WIDTH(field->bytes, put_raw);
	}
}

void pack_column_delta32(struct pack_column *column, struct pack_places places, uint32_t offset)
{
	put_delta(column, places, offset, 4);
}

void pack_column_delta16(struct pack_column *column, struct pack_places places, uint32_t offset)
{
	put_delta(column, places, offset, 2);
}

void pack_column_number(struct pack_column *column, uint64_t number)
{
	column->count = (size_t)(varint_put(reserve_bytes(column, VARINT_MAX), number) - column->bytes);
	column->any |= number;
}

void pack_column_bytes(struct pack_column *column, const uint8_t *bytes, size_t count)
{
	uint8_t *to = reserve_bytes(column, count);

	if (!count)
		return;
	memcpy(to, bytes, count);
	column->count += count;
	for (size_t i = 0; i < count && !column->any; i++)
		column->any |= bytes[i];
}

void pack_column_finish(const struct pack_column *column, struct pack_column *to)
{
	size_t count = column->any ? column->count : 0;

	pack_column_number(to, count);
	pack_column_bytes(to, column->bytes, count);
}
