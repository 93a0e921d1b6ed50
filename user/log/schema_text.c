/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of this gputrace's schema, from schema_rows.h; compiling this file checks the rows against the structs. */
#include "log/schema.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

#include "log/schema_rows.h"

/* Declares each struct again, packed, from its rows: if offsets or size differ, a row is missing or misplaced. */
#define FIELD_BYTES(S, member) sizeof(((recorded_##S *)0)->member)
#define PACKED_FIELD(S, name, member, code) char name[FIELD_BYTES(S, member)];
#define PACKED_ARRAY(S, name, member, bytes, code) char name[FIELD_BYTES(S, member)];
#define SAME_FIELD(S, name, member, code)                                                                              \
	_Static_assert(offsetof(struct rows_##S, name) == offsetof(recorded_##S, member), "schema rows of " #S);       \
	_Static_assert(FIELD_BYTES(S, member) <= 8, "schema rows of " #S ": an array");
#define SAME_ARRAY(S, name, member, bytes, code)                                                                       \
	_Static_assert(offsetof(struct rows_##S, name) == offsetof(recorded_##S, member), "schema rows of " #S);       \
	_Static_assert(FIELD_BYTES(S, member) % (bytes) == 0, "schema rows of " #S);

#define CHECK_STRUCT(S, type, FIELDS)                                                                                  \
	typedef type recorded_##S;                                                                                     \
	struct __attribute__((packed)) rows_##S {                                                                      \
		struct gpt_record hdr;                                                                                 \
		FIELDS(PACKED_FIELD, PACKED_ARRAY, S)                                                                  \
	};                                                                                                             \
	FIELDS(SAME_FIELD, SAME_ARRAY, S)                                                                              \
	_Static_assert(sizeof(struct rows_##S) == sizeof(recorded_##S), "schema rows of " #S ": not all fields");
#define CHECK_ELEMENT(S, type, FIELDS, element)                                                                        \
	typedef type recorded_##S;                                                                                     \
	struct __attribute__((packed)) rows_##S {                                                                      \
		FIELDS(PACKED_FIELD, PACKED_ARRAY, S)                                                                  \
	};                                                                                                             \
	FIELDS(SAME_FIELD, SAME_ARRAY, S)                                                                              \
	_Static_assert(sizeof(struct rows_##S) == sizeof(recorded_##S), "schema rows of " #S ": not all fields");      \
	_Static_assert(sizeof(struct rows_##S) == sizeof(element), "schema rows of " #S);

SCHEMA_STRUCTS(CHECK_STRUCT)
SCHEMA_ELEMENTS(CHECK_ELEMENT)

/* -Wswitch: each enumerator has a row. */
#define ENUMERATOR(enumerator, name, S, tail, E) case enumerator:
__attribute__((unused)) static void each_type_has_a_row(enum gpt_record_type type, enum gpt_agent_record_type in_batch)
{
	switch (type) {
		SCHEMA_RECORDS(ENUMERATOR)
		break;
	}
	switch (in_batch) {
		SCHEMA_AGENT_RECORDS(ENUMERATOR)
	case GPT_AGENT_TYPES_END:
		break;
	}
}

struct field_row {
	const char *name, *code;
	size_t bytes;
	size_t all_bytes; /* of an array: of all its elements; else 0 */
};

#define FIELD_ROW(S, name, member, code) {#name, code, FIELD_BYTES(S, member), 0},
#define ARRAY_ROW(S, name, member, bytes, code) {#name, code, bytes, FIELD_BYTES(S, member)},
#define STRUCT_ROWS(S, type, FIELDS) static const struct field_row S##_rows[] = {FIELDS(FIELD_ROW, ARRAY_ROW, S)};
#define ELEMENT_ROWS(S, type, FIELDS, element) STRUCT_ROWS(S, type, FIELDS)

SCHEMA_STRUCTS(STRUCT_ROWS)
SCHEMA_ELEMENTS(ELEMENT_ROWS)
static const struct field_row none_rows[1];
typedef char recorded_none;

struct type_row {
	const char *name;
	uint16_t type;
	enum schema_tail tail;
	size_t bytes, element_bytes;
	const struct field_row *fields, *element;
	size_t field_count, element_count;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TYPE_ROW(enumerator, name, S, tail, E)                                                                         \
	{#name,	   enumerator,	    tail,	    sizeof(recorded_##S), sizeof(recorded_##E), S##_rows,              \
	 E##_rows, COUNT(S##_rows), COUNT(E##_rows)},

static const struct type_row types[] = {SCHEMA_RECORDS(TYPE_ROW) SCHEMA_AGENT_RECORDS(TYPE_ROW)};

static void print_fields(FILE *file, const struct field_row *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct field_row *field = &fields[i];

		if (!field->all_bytes)
			fprintf(file, " %s:%zu:%s", field->name, field->bytes * 8, field->code);
		for (size_t at = 0; at < field->all_bytes; at += field->bytes)
			fprintf(file, " %s%zu:%zu:%s", field->name, at / field->bytes, field->bytes * 8, field->code);
	}
}

char *schema_text(size_t *bytes)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, bytes);

	if (!file)
		abort(); /* no memory */
	for (const struct type_row *row = types; row < types + COUNT(types); row++) {
		fprintf(file, "%u %s %zu", row->type, row->name, row->bytes);
		print_fields(file, row->fields, row->field_count);
		if (row->tail == SCHEMA_RECORDS)
			fputs(" records", file);
		if (row->tail == SCHEMA_ARRAY) {
			fprintf(file, " array:%zu", row->element_bytes);
			print_fields(file, row->element, row->element_count);
		}
		fputc('\n', file);
	}
	if (fclose(file))
		abort();
	return text;
}
