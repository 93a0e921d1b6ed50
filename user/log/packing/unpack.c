/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Works in windows of some thousand records, as pack.c: finds where each will be and writes its header, then writes
 * each field of each type into all of them.
 */
#include "log/packing/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/log.h>
#include <gputrace/record.h>

#include "base/array.h"
#include "log/packing/packed.h"
#include "log/packing/unpack_column.h"
#include "log/packing/varint.h"

#define WINDOW 1024u	      /* records */
#define ZEROED_AT_ONCE 65536u /* bytes */

/* The columns of one type; the first row is for raw records. */
struct unpack_row {
	const struct schema_type *type; /* NULL: raw */
	struct unpack_column *columns;
	uint32_t column_count;
	bool used; /* in this segment */
	uint32_t in_window, first_in_window;
};

struct unpacker {
	const struct schema *schema;
	struct unpack_row *rows; /* by rising type; [0]: raw */
	size_t row_count;

	uint32_t *at;	      /* WINDOW: where records begin */
	uint16_t *row_of;     /* WINDOW */
	uint32_t *sorted;     /* WINDOW: at[], row by row */
	uint32_t *element_at; /* WINDOW */
};

/* Where the next record goes. */
struct position {
	uint8_t *records;
	size_t bytes, at;
	size_t zeroed;	   /* records[] is zeroed up to here: columns that were left out write nothing */
	size_t batch_end;  /* end of the record around it; 0: none */
	size_t batch_rest; /* where the last record inside that one ends */
	struct unpack_column order;
	uint64_t left; /* records */
};

struct unpacker *unpacker_new(const struct schema *schema)
{
	struct unpacker *unpacker = xcalloc(1, sizeof(*unpacker));

	unpacker->schema = schema;
	unpacker->row_count = schema->count + 1;
	unpacker->rows = xcalloc(unpacker->row_count, sizeof(*unpacker->rows));
	for (size_t i = 0; i < unpacker->row_count; i++) {
		struct unpack_row *row = &unpacker->rows[i];

		row->type = i ? &schema->types[i - 1] : NULL;
		row->column_count = i ? packed_columns(row->type) : 1;
	}
	unpacker->at = xmalloc(WINDOW * sizeof(*unpacker->at));
	unpacker->row_of = xmalloc(WINDOW * sizeof(*unpacker->row_of));
	unpacker->sorted = xmalloc(WINDOW * sizeof(*unpacker->sorted));
	unpacker->element_at = xmalloc(WINDOW * sizeof(*unpacker->element_at));
	return unpacker;
}

void unpacker_free(struct unpacker *unpacker)
{
	if (!unpacker)
		return;
	for (size_t i = 0; i < unpacker->row_count; i++) {
		for (uint32_t j = 0; unpacker->rows[i].columns && j < unpacker->rows[i].column_count; j++)
			unpack_column_free(&unpacker->rows[i].columns[j]);
		free(unpacker->rows[i].columns);
	}
	free(unpacker->rows);
	free(unpacker->at);
	free(unpacker->row_of);
	free(unpacker->sorted);
	free(unpacker->element_at);
	free(unpacker);
}

/* ---- the columns -------------------------------------------------------------------------------------------- */

/* NULL: the type is not in the schema. */
static struct unpack_row *row_of(const struct unpacker *unpacker, uint64_t type)
{
	if (type > UINT16_MAX || (type && !unpacker->schema->rows[type]))
		return NULL;
	return &unpacker->rows[unpacker->schema->rows[type]];
}

/* The row of the next record; NULL: the order ends too early, or names a type that is not in the schema. */
static struct unpack_row *next_row(const struct unpacker *unpacker, struct unpack_column *order)
{
	uint64_t type;

	return unpack_column_number(order, &type) ? row_of(unpacker, type) : NULL;
}

/* Finds the rows that the segment uses; `order` is a copy, as it is read again later. */
static bool find_rows(struct unpacker *unpacker, struct unpack_column order, uint64_t count)
{
	bool seen[UINT8_MAX + 1] = {false}; /* types, which are looked up after the loop */

	for (size_t i = 0; i < unpacker->row_count; i++)
		unpacker->rows[i].used = false;
	while (count--) {
		struct unpack_row *row;
		uint64_t type;

		if (!unpack_column_number(&order, &type))
			return false;
		if (type <= UINT8_MAX) {
			seen[type] = true;
			continue;
		}
		row = row_of(unpacker, type);
		if (!row)
			return false;
		row->used = true;
	}
	for (unsigned type = 0; type <= UINT8_MAX; type++) {
		struct unpack_row *row = seen[type] ? row_of(unpacker, type) : NULL;

		if (seen[type] && !row)
			return false;
		if (row)
			row->used = true;
	}
	return unpack_column_done(&order);
}

static bool begin_row(struct unpack_row *row, const uint8_t **from, const uint8_t *end)
{
	if (!row->columns)
		row->columns = xcalloc(row->column_count, sizeof(*row->columns));
	for (uint32_t i = 0; i < row->column_count; i++)
		if (!unpack_column_begin(&row->columns[i], row->type && i == PACKED_SIZE ? row->type->fixed.bytes : 0,
					 from, end))
			return false;
	return true;
}

static bool begin_columns(struct unpacker *unpacker, struct position *position, const uint8_t *packed, size_t size)
{
	const uint8_t *end = packed + size;

	/* each record has at least 8 bytes */
	if (!varint_get(&packed, end, &position->left) || position->left > position->bytes / 8 ||
	    !unpack_column_begin(&position->order, 0, &packed, end) ||
	    !find_rows(unpacker, position->order, position->left))
		return false;
	return !any_of(unpacker->row_count, i,
		       unpacker->rows[i].used && !begin_row(&unpacker->rows[i], &packed, end)) &&
	       packed == end;
}

static bool are_columns_done(const struct unpacker *unpacker)
{
	for (size_t i = 0; i < unpacker->row_count; i++)
		for (uint32_t j = 0; unpacker->rows[i].used && j < unpacker->rows[i].column_count; j++)
			if (!unpack_column_done(&unpacker->rows[i].columns[j]))
				return false;
	return true;
}

/* ---- where records are -------------------------------------------------------------------------------------- */

/* The end of what is around the next record: a batch's records, or all records. */
static size_t limit_of(const struct position *position)
{
	return position->batch_end ? position->batch_rest : position->bytes;
}

/* Zeroes at least to the end of the next record, and more, as that memory is written soon. */
static void zero_until(struct position *position, size_t end)
{
	size_t bytes = end > position->zeroed ? end - position->zeroed : 0;

	if (!bytes)
		return;
	if (bytes < ZEROED_AT_ONCE)
		bytes = ZEROED_AT_ONCE;
	if (bytes > position->bytes - position->zeroed)
		bytes = position->bytes - position->zeroed;
	memset(position->records + position->zeroed, 0, bytes);
	position->zeroed += bytes;
}

static void leave_batch(struct position *position)
{
	if (position->batch_end && position->at == position->batch_rest) {
		position->at = position->batch_end;
		position->batch_end = 0;
	}
}

/* Copies a whole raw record as it is. */
static bool take_raw(struct position *position, struct unpack_row *row)
{
	struct unpack_column *column = &row->columns[0];
	size_t room = limit_of(position) - position->at;
	struct gpt_record record = {.size = 0};

	if (room < sizeof(record))
		return false;
	if (!column->zero && (size_t)(column->end - column->at) >= sizeof(record))
		memcpy(&record, column->at, sizeof(record));
	if (record.size < sizeof(record) || record.size % 8 || record.size > room)
		return false;
	zero_until(position, position->at + record.size);
	if (!unpack_column_bytes(column, position->records + position->at, record.size))
		return false;
	position->at += record.size;
	return true;
}

/* Steps into a record whose tail is records. */
static bool enter_batch(struct position *position, struct unpack_row *row, size_t end)
{
	struct unpack_column *rest = &row->columns[packed_rest(row->type)];
	size_t tail = position->at + row->type->fixed.bytes;
	uint64_t rest_bytes;

	if (position->batch_end || !unpack_column_number(rest - 1, &rest_bytes) || rest_bytes > end - tail ||
	    !unpack_column_bytes(rest, position->records + end - rest_bytes, rest_bytes))
		return false;
	position->at = tail;
	position->batch_rest = end - rest_bytes;
	position->batch_end = end;
	return true;
}

/* Writes the header of the next record, except its flags. */
static bool take_record(struct position *position, struct unpack_row *row)
{
	struct gpt_record record = {.type = row->type->type};

	if (!unpack_column_next32(&row->columns[PACKED_SIZE], &record.size) || record.size % 8 ||
	    record.size < row->type->fixed.bytes || record.size > limit_of(position) - position->at)
		return false;
	zero_until(position, position->at + record.size);
	memcpy(position->records + position->at, &record, sizeof(record));
	if (row->type->tail == SCHEMA_RECORDS)
		return enter_batch(position, row, position->at + record.size);
	position->at += record.size;
	return true;
}

/* Fills at[] and row_of[]. */
static bool take_window(struct unpacker *unpacker, struct position *position, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct unpack_row *row = next_row(unpacker, &position->order);

		if (!row)
			return false;
		unpacker->at[i] = (uint32_t)position->at;
		unpacker->row_of[i] = (uint16_t)(row - unpacker->rows);
		if (row->type ? !take_record(position, row) : !take_raw(position, row))
			return false;
		leave_batch(position);
	}
	return true;
}

static void sort_window(struct unpacker *unpacker, uint32_t count)
{
	uint32_t first = 0;

	for (size_t i = 0; i < unpacker->row_count; i++)
		unpacker->rows[i].in_window = 0;
	for (uint32_t i = 0; i < count; i++)
		unpacker->rows[unpacker->row_of[i]].in_window++;
	for (size_t i = 0; i < unpacker->row_count; i++) {
		unpacker->rows[i].first_in_window = first;
		first += unpacker->rows[i].in_window;
		unpacker->rows[i].in_window = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct unpack_row *row = &unpacker->rows[unpacker->row_of[i]];

		unpacker->sorted[row->first_in_window + row->in_window++] = unpacker->at[i];
	}
}

/* ---- what is in them ---------------------------------------------------------------------------------------- */

static uint32_t size_of(struct unpack_places places, size_t i)
{
	return (uint32_t)field_load(places.base + places.at[i] + offsetof(struct gpt_record, size), 4);
}

static bool unpack_elements(struct unpacker *unpacker, struct unpack_row *row, uint8_t *base, uint32_t count)
{
	struct unpack_places places = {base, unpacker->element_at, count};
	uint32_t first = packed_elements(row->type);

	return !any_of(row->type->element.count, i,
		       !unpack_column_field(&row->columns[first + i], places, row->type->element.items, i));
}

static bool unpack_array(struct unpacker *unpacker, struct unpack_row *row, struct unpack_places places)
{
	struct unpack_column *rest = &row->columns[packed_rest(row->type)];
	uint32_t element_bytes = row->type->element.bytes, count = 0;

	for (size_t i = 0; i < places.count; i++) {
		uint32_t at = places.at[i] + row->type->fixed.bytes, end = places.at[i] + size_of(places, i);

		for (; end - at >= element_bytes; at += element_bytes) {
			unpacker->element_at[count++] = at;
			if (count == WINDOW) {
				if (!unpack_elements(unpacker, row, places.base, count))
					return false;
				count = 0;
			}
		}
		if (!unpack_column_bytes(rest, places.base + at, end - at))
			return false;
	}
	return unpack_elements(unpacker, row, places.base, count);
}

static bool unpack_tails(struct unpack_row *row, struct unpack_places places)
{
	struct unpack_column *column = &row->columns[packed_rest(row->type)];
	uint32_t fixed = row->type->fixed.bytes;

	for (size_t i = 0; i < places.count && !column->zero; i++)
		if (!unpack_column_bytes(column, places.base + places.at[i] + fixed, size_of(places, i) - fixed))
			return false;
	return true;
}

static bool unpack_row(struct unpacker *unpacker, struct unpack_row *row, struct unpack_places places)
{
	if (!unpack_column_delta16(&row->columns[PACKED_FLAGS], places, offsetof(struct gpt_record, flags)))
		return false;
	for (uint32_t i = 0; i < row->type->fixed.count; i++)
		if (!unpack_column_field(&row->columns[PACKED_FIELDS + i], places, row->type->fixed.items, i))
			return false;
	if (row->type->tail == SCHEMA_ARRAY)
		return unpack_array(unpacker, row, places);
	return row->type->tail == SCHEMA_RECORDS || unpack_tails(row, places);
}

static bool unpack_window(struct unpacker *unpacker, uint8_t *records)
{
	for (size_t i = 1; i < unpacker->row_count; i++) {
		struct unpack_row *row = &unpacker->rows[i];
		struct unpack_places places = {records, unpacker->sorted + row->first_in_window, row->in_window};

		if (places.count && !unpack_row(unpacker, row, places))
			return false;
	}
	return true;
}

int unpack(struct unpacker *unpacker, const uint8_t *packed, size_t size, uint8_t *records, size_t record_bytes)
{
	struct position position = {.records = records, .bytes = record_bytes};

	if (record_bytes > GPT_LOG_RECORD_BYTES_MAX || !begin_columns(unpacker, &position, packed, size))
		return -EPROTO;
	while (position.left) {
		uint32_t count = position.left < WINDOW ? (uint32_t)position.left : WINDOW;

		if (!take_window(unpacker, &position, count))
			return -EPROTO;
		sort_window(unpacker, count);
		if (!unpack_window(unpacker, records))
			return -EPROTO;
		position.left -= count;
	}
	if (position.at != record_bytes || position.batch_end || !are_columns_done(unpacker))
		return -EPROTO;
	return 0;
}
