/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/packing/schema.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "base/array.h"
#include "base/order.h"

/* A piece of the text, from whose front words or lines are taken. */
struct words {
	const char *at, *end;
};

static bool take_until(struct words *left, char separator, struct words *taken)
{
	const char *found = left->at < left->end ? memchr(left->at, separator, (size_t)(left->end - left->at)) : NULL;

	if (left->at >= left->end)
		return false;
	taken->at = left->at;
	taken->end = found ? found : left->end;
	left->at = found ? found + 1 : left->end;
	return true;
}

static bool word_is(struct words word, const char *text)
{
	size_t bytes = (size_t)(word.end - word.at);

	return strlen(text) == bytes && !memcmp(word.at, text, bytes);
}

static bool word_starts(struct words *word, const char *text)
{
	size_t bytes = strlen(text);

	if ((size_t)(word->end - word->at) < bytes || memcmp(word->at, text, bytes))
		return false;
	word->at += bytes;
	return true;
}

/* Decimal, without a sign and without leading zeros; up to `most`. */
static bool word_number(struct words word, uint32_t most, uint32_t *number)
{
	uint64_t sum = 0;

	if (word.at == word.end || (*word.at == '0' && word.end - word.at > 1))
		return false;
	for (; word.at < word.end; word.at++) {
		if (*word.at < '0' || *word.at > '9')
			return false;
		sum = sum * 10 + (uint64_t)(*word.at - '0');
		if (sum > most)
			return false;
	}
	*number = (uint32_t)sum;
	return true;
}

static bool word_name(struct words word, char name[SCHEMA_NAME_MAX + 1])
{
	size_t bytes = (size_t)(word.end - word.at);

	if (!bytes || bytes > SCHEMA_NAME_MAX)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		bool letter = (word.at[i] >= 'a' && word.at[i] <= 'z') || word.at[i] == '_';

		if (!letter && (!i || word.at[i] < '0' || word.at[i] > '9'))
			return false;
	}
	memcpy(name, word.at, bytes);
	name[bytes] = 0;
	return true;
}

const struct schema_field *schema_field(const struct schema_fields *fields, const char *name)
{
	return array_find(fields, item, !strcmp(item->name, name));
}

static bool read_code(struct words word, const struct schema_fields *fields, struct schema_field *field)
{
	static const struct {
		const char *name;
		uint8_t code, meaning;
	} codes[] = {
		{"delta", SCHEMA_DELTA, SCHEMA_PLAIN}, {"time", SCHEMA_DELTA, SCHEMA_TIME},
		{"wall", SCHEMA_DELTA, SCHEMA_WALL},   {"id", SCHEMA_ID, SCHEMA_PLAIN},
		{"pid", SCHEMA_ID, SCHEMA_PID},	       {"raw", SCHEMA_RAW, SCHEMA_PLAIN},
	};

	if (word_starts(&word, "+")) {
		char name[SCHEMA_NAME_MAX + 1];
		const struct schema_field *base = word_name(word, name) ? schema_field(fields, name) : NULL;

		if (!base)
			return false;
		field->code = SCHEMA_PLUS;
		field->base = (uint16_t)(base - fields->items);
		/* a difference to a pid is not itself the record's process */
		field->meaning = base->meaning == SCHEMA_PID ? SCHEMA_PLAIN : base->meaning;
		return true;
	}
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (word_is(word, codes[i].name)) {
			field->code = codes[i].code;
			field->meaning = codes[i].meaning;
			return true;
		}
	return false;
}

/* Appends NAME:BITS:CODE. */
static bool read_field(struct words word, struct schema_fields *fields, size_t *capacity)
{
	struct schema_field field = {.offset = fields->bytes};
	struct words name, bits;
	uint32_t width;

	if (fields->count == SCHEMA_FIELDS_MAX || !take_until(&word, ':', &name) || !take_until(&word, ':', &bits) ||
	    !word_name(name, field.name) || schema_field(fields, field.name) || !word_number(bits, 64, &width) ||
	    (width != 8 && width != 16 && width != 32 && width != 64) || !read_code(word, fields, &field))
		return false;
	field.bytes = (uint8_t)(width / 8);
	fields->items = array_reserve(fields->items, sizeof(field), fields->count, 1, capacity);
	fields->items[fields->count++] = field;
	fields->bytes += field.bytes;
	return true;
}

/* Parses a line without its newline; the caller frees what it puts into *type, also when the line is wrong. */
static bool read_type(struct words line, struct schema_type *type)
{
	struct words word;
	uint32_t number, fixed, element = 0;
	size_t fixed_capacity = 0, element_capacity = 0;

	if (!take_until(&line, ' ', &word) || !word_number(word, UINT16_MAX, &number) || !number ||
	    !take_until(&line, ' ', &word) || !word_name(word, type->name) || !take_until(&line, ' ', &word) ||
	    !word_number(word, GPT_RECORD_MAX, &fixed))
		return false;
	type->type = (uint16_t)number;
	type->fixed.bytes = sizeof(struct gpt_record);
	while (take_until(&line, ' ', &word)) {
		if (type->tail == SCHEMA_RECORDS)
			return false; /* nothing after it */
		if (type->tail == SCHEMA_ARRAY) {
			if (!read_field(word, &type->element, &element_capacity))
				return false;
		} else if (word_is(word, "records")) {
			type->tail = SCHEMA_RECORDS;
		} else if (word_starts(&word, "array:")) {
			type->tail = SCHEMA_ARRAY;
			if (!word_number(word, GPT_RECORD_MAX, &element))
				return false;
		} else if (!read_field(word, &type->fixed, &fixed_capacity)) {
			return false;
		}
	}
	if (type->tail == SCHEMA_RECORDS && fixed % 8)
		return false; /* records begin at multiples of 8 */
	return type->fixed.bytes == fixed && type->element.bytes == element &&
	       (type->tail != SCHEMA_ARRAY || type->element.count);
}

static void free_type(struct schema_type *type)
{
	free(type->fixed.items);
	free(type->element.items);
}

DEFINE_ORDER(by_type, struct schema_type, lower_first(a->type, b->type))

/* Sorts, and fills rows[]; false: a type is there twice. */
static bool index_types(struct schema *schema)
{
	sort_items(schema->types, schema->count, sizeof(*schema->types), by_type);
	for (size_t i = 0; i < schema->count; i++) {
		if (schema->rows[schema->types[i].type])
			return false;
		schema->rows[schema->types[i].type] = (uint16_t)(i + 1);
	}
	return true;
}

int schema_parse(const char *text, size_t bytes, struct schema **schema)
{
	struct words left = {text, text + bytes}, line;
	struct schema *made;
	size_t capacity = 0;

	*schema = NULL;
	if (bytes > GPT_LOG_SCHEMA_MAX || (bytes && text[bytes - 1] != '\n'))
		return -EPROTO;
	made = xcalloc(1, sizeof(*made));
	while (take_until(&left, '\n', &line)) {
		struct schema_type type = {0};

		if (made->count == SCHEMA_TYPES_MAX || !read_type(line, &type)) {
			free_type(&type);
			goto refused;
		}
		made->types = array_reserve(made->types, sizeof(type), made->count, 1, &capacity);
		made->types[made->count++] = type;
	}
	if (!index_types(made))
		goto refused;
	*schema = made;
	return 0;

refused:
	schema_free(made);
	return -EPROTO;
}

struct schema *schema_own(void)
{
	struct schema *schema;
	size_t bytes;
	AUTO_FREE char *text = schema_text(&bytes);

	if (schema_parse(text, bytes, &schema))
		abort(); /* never happens: test_log_schema.c */
	return schema;
}

void schema_free(struct schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; i < schema->count; i++)
		free_type(&schema->types[i]);
	free(schema->types);
	free(schema);
}
