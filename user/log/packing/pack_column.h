/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One column of a segment that is being packed: a field of many records, appended as its code says (packed.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "log/packing/schema.h"

struct dictionary_slot {
	uint64_t value;
	uint32_t number;
	uint32_t segment; /* in which the value was seen; another one: the slot is free */
};

/*
 * The values seen in an id column.  Only a few slots are probed for a value: one that is not found there gets another
 * number, which costs bytes but is correct.
 */
struct dictionary {
	struct dictionary_slot *slots;
	uint32_t slot_bits; /* 1 << slot_bits of them */
	uint32_t used;
	uint32_t segment;
	uint32_t count; /* numbers given, including the one of value 0 */
	uint64_t last_value;
	uint32_t last_number;
};

struct pack_column {
	uint8_t *bytes;
	size_t count, capacity;
	uint64_t previous;
	uint64_t any; /* 0: all bytes are 0 */
	struct dictionary dictionary;
};

/* Records, or elements of arrays, by their offsets from `base`. */
struct pack_places {
	const uint8_t *base;
	const uint32_t *at;
	size_t count;
};

/* Empties it for the next segment; the first value will be a difference to `previous`. */
void pack_column_begin(struct pack_column *column, uint64_t previous);
void pack_column_free(struct pack_column *column);

/* Appends fields[index] of each place. */
void pack_column_field(struct pack_column *column, struct pack_places places, const struct schema_field *fields,
		       uint32_t index);

void pack_column_delta32(struct pack_column *column, struct pack_places places, uint32_t offset);
void pack_column_delta16(struct pack_column *column, struct pack_places places, uint32_t offset);
void pack_column_number(struct pack_column *column, uint64_t number);
void pack_column_bytes(struct pack_column *column, const uint8_t *bytes, size_t count);

/* Appends the column's bytes to another column, with their length in front. */
void pack_column_finish(const struct pack_column *column, struct pack_column *to);
