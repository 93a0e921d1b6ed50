/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of this gputrace's schema, from the rows of record.h and agent.h. */
#include "log/packing/schema.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

struct field_row {
	const char *name, *code;
	size_t bytes;
	size_t all_bytes; /* of an array: of all its elements; else 0 */
};

#define FIELD_ROW(type, name, code, ...) {#name, code, sizeof(type), 0},
#define ARRAY_ROW(type, name, count, bytes, code) {#name, code, bytes, (count) * sizeof(type)},
#define FIELD_ROWS(record) GPT_ROWS_##record(FIELD_ROW, FIELD_ROW, ARRAY_ROW)

/* call_rows, call_args_rows and so on, by the names in logs; and those of elements of arrays. */
#define RECORD_ROWS(type, number, name, record, ...) static const struct field_row name##_rows[] = {FIELD_ROWS(record)};
GPT_RECORDS(RECORD_ROWS)
GPT_AGENT_RECORDS(RECORD_ROWS)
static const struct field_row pyframe_rows[] = {FIELD_ROWS(pyframe)};
static const struct field_row native_ip_rows[] = {FIELD_ROWS(native_ip)};
static const struct field_row end_counter_rows[] = {FIELD_ROWS(end_counter)};

struct type_row {
	const char *name;
	uint16_t type;
	size_t bytes;
	const struct field_row *fields;
	size_t field_count;
	enum schema_tail tail;
	const struct field_row *element; /* SCHEMA_ARRAY */
	size_t element_count, element_bytes;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TAIL_BYTES SCHEMA_BYTES, NULL, 0, 0
#define TAIL_RECORDS SCHEMA_RECORDS, NULL, 0, 0
#define TAIL_PYFRAMES SCHEMA_ARRAY, pyframe_rows, COUNT(pyframe_rows), sizeof(struct gpt_pyframe)
#define TAIL_ADDRESSES SCHEMA_ARRAY, native_ip_rows, COUNT(native_ip_rows), sizeof(__u64)
#define TAIL_COUNTERS SCHEMA_ARRAY, end_counter_rows, COUNT(end_counter_rows), sizeof(__u64)
#define TYPE_ROW(type, number, name, record, bytes, least, tail, ...)                                                  \
	{#name, type, bytes, name##_rows, COUNT(name##_rows), TAIL_##tail},

static const struct type_row types[] = {GPT_RECORDS(TYPE_ROW) GPT_AGENT_RECORDS(TYPE_ROW)};

/* A code "NAME=code" says by which other name logs have the field. */
static void print_field(FILE *file, const struct field_row *field)
{
	const char *equals = strchr(field->code, '=');

	if (equals)
		fprintf(file, " %.*s:%zu:%s", (int)(equals - field->code), field->code, field->bytes * 8, equals + 1);
	else
		fprintf(file, " %s:%zu:%s", field->name, field->bytes * 8, field->code);
}

static void print_fields(FILE *file, const struct field_row *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct field_row *field = &fields[i];

		if (!field->all_bytes)
			print_field(file, field);
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
