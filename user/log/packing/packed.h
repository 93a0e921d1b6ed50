/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packed segment looks like: what pack.c writes and unpack.c reads.
 *
 *	packed:	count, order, then for each type that occurs, by rising type, its columns
 *	count	how many records there are, those inside others included
 *	order	a column: the type of each record, 0 for one that is kept raw.  Records inside another (the tail is
 *		`records`) stand after it
 *	column	its length in bytes, then the bytes; length 0 where all bytes would be 0
 *
 * All numbers outside of raw bytes are varints (LEB128: 7 bits a byte, lowest first, the highest bit says that another
 * byte follows), differences with the sign in the lowest bit (zigzag: 0 -1 1 -2 ...), modulo 2 to the width of the
 * field.
 *
 * Columns of the type 0: one, all raw records, with their headers.  A record is kept raw when its type is not in the
 * schema, when it is shorter than the type's fixed part, and when it would be a record with records inside another.
 * Columns of any other type:
 *
 *	size	gpt_record.size, as delta; the first against FIXED_BYTES
 *	flags	gpt_record.flags, as delta
 *	fields	one each, by code:
 *		delta time wall	difference to the same field of the previous record of the type; for the first, to 0
 *		+FIELD		difference to that field of the same record
 *		id pid		number in a list of values, which starts with the value 0 as number 0;
 *				a number equal to the length of the list is a new value, which follows
 *				as it is and joins the list
 *		raw		the bytes
 *	tail	what follows the fixed part, by schema:
 *		bytes	one column: the bytes
 *		array	as many elements as are complete: one column for each field, all elements of all
 *			records, as above (previous: the previous element, also of another record);
 *			then one column: the bytes that remain
 *		records	one column: for each record, how many bytes at its end are no records;
 *			one column: those bytes
 */
#pragma once

#include <stdint.h>

#include "log/packing/schema.h"

/* The columns of a type in their order; raw records have only column 0. */
enum packed_column {
	PACKED_SIZE = 0,
	PACKED_FLAGS = 1,
	PACKED_FIELDS = 2, /* then those of elements, then of the tail */
};

static inline uint32_t packed_elements(const struct schema_type *type)
{
	return PACKED_FIELDS + type->fixed.count;
}

/* The column of bytes after what the schema knows.  If the tail is records, their number is in the column before. */
static inline uint32_t packed_rest(const struct schema_type *type)
{
	return packed_elements(type) + (type->tail == SCHEMA_RECORDS ? 1 : type->element.count);
}

static inline uint32_t packed_columns(const struct schema_type *type)
{
	return packed_rest(type) + 1;
}
