/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/packing/reshape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/log.h>
#include <gputrace/record.h>
#include <gputrace/walk.h>

#include "base/array.h"
#include "log/packing/varint.h"

/* Offsets and widths of a field, in the source and in the target. */
struct move {
	uint32_t from, to;
	uint8_t from_bytes, to_bytes;
};

struct moves {
	ARRAY(struct move) list;
	uint32_t known; /* bytes of the target up to the last field that is moved */
};

/* How records of one type are converted. */
struct shape {
	const struct schema_type *from, *to; /* to == NULL: records stay as they are */
	struct moves fixed, element;
	const struct schema_field *length; /* if the tail is records: the field `bytes` of the target */
	const struct schema_field *from_length;
};

struct reshaper {
	struct schema *to;
	const struct schema *from;
	struct shape *shapes; /* as from->types */
	ARRAY(uint8_t) out;
};

static bool same_fields(const struct schema_fields *left, const struct schema_fields *right)
{
	if (left->count != right->count)
		return false;
	return !any_of(left->count, i,
		       strcmp(left->items[i].name, right->items[i].name) ||
			       left->items[i].bytes != right->items[i].bytes);
}

static bool same_layout(const struct schema_type *left, const struct schema_type *right)
{
	return left->tail == right->tail && same_fields(&left->fixed, &right->fixed) &&
	       same_fields(&left->element, &right->element);
}

static void find_moves(struct moves *moves, const struct schema_fields *from, const struct schema_fields *to)
{
	for (uint32_t i = 0; i < to->count; i++) {
		const struct schema_field *target = &to->items[i], *source = schema_field(from, target->name);

		if (!source)
			continue;
		array_push(&moves->list, ((struct move){source->offset, target->offset, source->bytes, target->bytes}));
		moves->known = target->offset + target->bytes;
	}
}

static void find_shape(struct shape *shape, const struct schema_type *from, const struct schema_type *to)
{
	shape->from = from;
	/* a type with records inside is converted even if its own layout is the same */
	if (!to || (same_layout(from, to) && from->tail != SCHEMA_RECORDS))
		return;
	shape->to = to;
	shape->fixed.known = sizeof(struct gpt_record);
	find_moves(&shape->fixed, &from->fixed, &to->fixed);
	find_moves(&shape->element, &from->element, &to->element);
	shape->from_length = schema_field(&from->fixed, "bytes");
	shape->length = schema_field(&to->fixed, "bytes");
}

struct reshaper *reshaper_new(const struct schema *from, struct schema *to)
{
	struct reshaper *reshaper;
	bool same = true;

	for (size_t i = 0; i < from->count; i++) {
		const struct schema_type *other = schema_type(to, from->types[i].type);

		same = same && (!other || same_layout(&from->types[i], other));
	}
	if (same) {
		schema_free(to);
		return NULL;
	}
	reshaper = xcalloc(1, sizeof(*reshaper));
	reshaper->from = from;
	reshaper->to = to;
	reshaper->shapes = xcalloc(from->count, sizeof(*reshaper->shapes));
	for (size_t i = 0; i < from->count; i++)
		find_shape(&reshaper->shapes[i], &from->types[i], schema_type(to, from->types[i].type));
	return reshaper;
}

void reshaper_free(struct reshaper *reshaper)
{
	if (!reshaper)
		return;
	for (size_t i = 0; i < reshaper->from->count; i++) {
		array_free(&reshaper->shapes[i].fixed.list);
		array_free(&reshaper->shapes[i].element.list);
	}
	free(reshaper->shapes);
	schema_free(reshaper->to);
	array_free(&reshaper->out);
	free(reshaper);
}

/* Appends `bytes` zeros; returns where they are, valid until the next call. */
static uint8_t *append_zeros(struct reshaper *reshaper, size_t bytes)
{
	reshaper->out.items =
		array_reserve(reshaper->out.items, 1, reshaper->out.count, bytes + 1, &reshaper->out.capacity);
	memset(reshaper->out.items + reshaper->out.count, 0, bytes);
	reshaper->out.count += bytes;
	return reshaper->out.items + reshaper->out.count - bytes;
}

static void append_bytes(struct reshaper *reshaper, const uint8_t *bytes, size_t count)
{
	uint8_t *to = append_zeros(reshaper, count);

	if (count)
		memcpy(to, bytes, count);
}

static bool is_too_much(const struct reshaper *reshaper)
{
	return reshaper->out.count > GPT_LOG_RECORD_BYTES_MAX;
}

static void store_any(uint8_t *to, unsigned bytes, uint64_t value)
{
	memcpy(to, &value, bytes);
}

static void move_fields(const struct moves *moves, const uint8_t *from, uint8_t *to)
{
	array_each (move, &moves->list) {
		store_any(to + move->to, move->to_bytes, field_load_any(from + move->from, move->from_bytes));
	}
}

static bool reshape_records(struct reshaper *reshaper, const uint8_t *bytes, size_t size, size_t *at, bool inside);

/* Converts as many bytes of records as the batch says it has; leaves out what follows. */
static bool reshape_batch(struct reshaper *reshaper, const struct shape *shape, const uint8_t *record, size_t tail,
			  size_t begin)
{
	size_t length = tail, at = 0, before = reshaper->out.count;

	if (shape->from_length) {
		uint64_t said = field_load_any(record + shape->from_length->offset, shape->from_length->bytes);

		length = said < tail ? said : tail;
	}
	if (!reshape_records(reshaper, record + shape->from->fixed.bytes, length, &at, true))
		return false;
	append_bytes(reshaper, record + shape->from->fixed.bytes + at, length - at);
	if (shape->length)
		store_any(reshaper->out.items + begin + shape->length->offset, shape->length->bytes,
			  reshaper->out.count - before);
	return true;
}

static bool reshape_array(struct reshaper *reshaper, const struct shape *shape, const uint8_t *elements, size_t tail)
{
	for (; tail >= shape->from->element.bytes && !is_too_much(reshaper); tail -= shape->from->element.bytes) {
		move_fields(&shape->element, elements, append_zeros(reshaper, shape->to->element.bytes));
		elements += shape->from->element.bytes;
	}
	return !is_too_much(reshaper);
}

/* Converts a record that has at least its fixed part. */
static bool reshape_record(struct reshaper *reshaper, const struct shape *shape, const struct gpt_record *record)
{
	const uint8_t *bytes = (const uint8_t *)record;
	size_t tail = record->size - shape->from->fixed.bytes, begin = reshaper->out.count;
	/* the tail must not lie where fields that the log lacks would be */
	uint32_t fixed = tail || shape->to->tail != SCHEMA_BYTES ? shape->to->fixed.bytes : shape->fixed.known;
	struct gpt_record header = *record;

	move_fields(&shape->fixed, bytes, append_zeros(reshaper, fixed));
	if (shape->from->tail != shape->to->tail || shape->to->tail == SCHEMA_BYTES)
		append_bytes(reshaper, bytes + shape->from->fixed.bytes, tail);
	else if (shape->to->tail == SCHEMA_ARRAY
			 ? !reshape_array(reshaper, shape, bytes + shape->from->fixed.bytes, tail)
			 : !reshape_batch(reshaper, shape, bytes, tail, begin))
		return false;
	append_zeros(reshaper, -(reshaper->out.count - begin) & 7);
	header.size = (uint32_t)(reshaper->out.count - begin);
	memcpy(reshaper->out.items + begin, &header, sizeof(header));
	return !is_too_much(reshaper);
}

/* Converts records as far as they are whole; *at is where they end. */
static bool reshape_records(struct reshaper *reshaper, const uint8_t *bytes, size_t size, size_t *at, bool inside)
{
	const struct gpt_record *record;

	while ((record = record_at(bytes, size, at)) != NULL) {
		uint16_t row = reshaper->from->rows[record->type];
		const struct shape *shape = row ? &reshaper->shapes[row - 1] : NULL;

		if (!shape || !shape->to || record->size < shape->from->fixed.bytes ||
		    (inside && shape->from->tail == SCHEMA_RECORDS))
			append_bytes(reshaper, (const uint8_t *)record, record->size);
		else if (!reshape_record(reshaper, shape, record))
			return false;
	}
	return !is_too_much(reshaper);
}

int reshape(struct reshaper *reshaper, const uint8_t *records, size_t bytes, const uint8_t **out, size_t *out_bytes)
{
	size_t at = 0;

	reshaper->out.count = 0;
	if (!reshape_records(reshaper, records, bytes, &at, false) || at != bytes)
		return -EPROTO;
	*out = reshaper->out.items;
	*out_bytes = reshaper->out.count;
	return 0;
}
