/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One column of a packed segment: writes its field into many records, one after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/packing/schema.h"
#include "log/packing/varint.h"

struct unpack_column {
	const uint8_t *at, *end; /* the bytes not read yet */
	bool zero;		 /* it was left out, as all its bytes are 0 */
	uint64_t previous;
	uint64_t *values; /* the list of an id column; the first is 0 */
	size_t value_count, value_capacity;
};

/* Records, or elements of arrays, by their offsets from `base`. */
struct unpack_places {
	uint8_t *base;
	const uint32_t *at;
	size_t count;
};

/* Takes the column at *from, length first, and moves *from to its end; false: it is longer than what is there. */
bool unpack_column_begin(struct unpack_column *column, uint64_t previous, const uint8_t **from, const uint8_t *end);
void unpack_column_free(struct unpack_column *column);

/* Writes fields[index] at each place, which must be 0 before; earlier fields must be there.  false: malformed. */
bool unpack_column_field(struct unpack_column *column, struct unpack_places places, const struct schema_field *fields,
			 uint32_t index);

bool unpack_column_delta16(struct unpack_column *column, struct unpack_places places, uint32_t offset);
bool unpack_column_bytes(struct unpack_column *column, uint8_t *to, size_t count);

static inline bool unpack_column_number(struct unpack_column *column, uint64_t *number)
{
	*number = 0;
	return column->zero || varint_next(&column->at, column->end, number);
}

/* The next number as a difference to the one before, modulo 2 to 32. */
static inline bool unpack_column_next32(struct unpack_column *column, uint32_t *value)
{
	uint64_t zigzag;

	if (!unpack_column_number(column, &zigzag))
		return false;
	column->previous = (uint32_t)zigzag_add(column->previous, zigzag);
	*value = (uint32_t)column->previous;
	return true;
}

/* Whether all of it was read. */
static inline bool unpack_column_done(const struct unpack_column *column)
{
	return column->at == column->end;
}
