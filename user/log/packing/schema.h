/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The schema: which fields each type of record has, how wide they are, and how each is packed.  It stands as text in
 * every log, and a log is unpacked by its own schema: a record can grow, and an unknown type can be skipped.
 * Text, one line a type, words with one blank between them:
 *
 *	TYPE NAME FIXED_BYTES field... [tail]		66 api 40 start_ns:64:time end_ns:64:+start_ns corr:32:delta ...
 *
 * A field is NAME:BITS:CODE, in the order of the struct after its struct gpt_record; there are no gaps.
 *
 *	delta	the difference to this field of the previous record of the type
 *	time	as delta; CLOCK_MONOTONIC, counts for the segment's first and last time
 *	wall	as delta; CUPTI's clock, counts for the segment's first and last wall-clock time
 *	+FIELD	the difference to an earlier field of the same record; counts as that one does
 *	id	one of a few distinct values: its number in a list
 *	pid	as id; counts for the segment's processes
 *	raw	the bytes as they are
 *
 * The tail says what is after the fixed part; without one: bytes.
 *
 *	records			records, one after the other
 *	array:BYTES field...	elements of BYTES bytes, each of these fields
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SCHEMA_TYPES_MAX 256u
#define SCHEMA_FIELDS_MAX 256u /* of a record, and of an element */
#define SCHEMA_NAME_MAX 47u

enum schema_code {
	SCHEMA_DELTA, /* also time, wall */
	SCHEMA_PLUS,
	SCHEMA_ID, /* also pid */
	SCHEMA_RAW,
};

enum schema_meaning {
	SCHEMA_PLAIN,
	SCHEMA_TIME,
	SCHEMA_WALL,
	SCHEMA_PID,
};

enum schema_tail {
	SCHEMA_BYTES,
	SCHEMA_RECORDS,
	SCHEMA_ARRAY,
};

struct schema_field {
	char name[SCHEMA_NAME_MAX + 1];
	uint8_t code;	 /* enum schema_code */
	uint8_t meaning; /* enum schema_meaning */
	uint8_t bytes;	 /* 1, 2, 4, 8 */
	uint16_t base;	 /* SCHEMA_PLUS: index of the other field, less than this one's */
	uint32_t offset; /* in the record or the element */
};

struct schema_fields {
	struct schema_field *items;
	uint32_t count;
	uint32_t bytes; /* where the last one ends: the fixed part of a record (header included), or an element */
};

struct schema_type {
	char name[SCHEMA_NAME_MAX + 1];
	uint16_t type; /* never 0 */
	enum schema_tail tail;
	struct schema_fields fixed;
	struct schema_fields element; /* SCHEMA_ARRAY */
};

struct schema {
	struct schema_type *types; /* by rising type */
	size_t count;
	uint16_t rows[UINT16_MAX + 1]; /* by type: index in types[] + 1, 0: not in the schema */
};

/* The schema of this gputrace's own structs; schema_free it. */
struct schema *schema_own(void);

/* The same as the text for a log, not terminated; free it. */
char *schema_text(size_t *bytes);

/* Parses a log's text, which is not trusted. -EPROTO: it is no usable schema. */
int schema_parse(const char *text, size_t bytes, struct schema **schema);

void schema_free(struct schema *schema);

/* NULL: there is none of that name. */
const struct schema_field *schema_field(const struct schema_fields *fields, const char *name);

/* NULL: not in the schema. */
static inline const struct schema_type *schema_type(const struct schema *schema, uint16_t type)
{
	return schema->rows[type] ? &schema->types[schema->rows[type] - 1] : NULL;
}
