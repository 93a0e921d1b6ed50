/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Goes through the records in windows of some thousand: sorts a window's records by type, then appends each field of
 * each type to its column.  So the records that were read for one column are still in the cache for the next one.
 */
#include "log/packing/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/record.h>
#include <gputrace/walk.h>

#include "base/array.h"
#include "log/packing/pack_column.h"
#include "log/packing/pack_summary.h"
#include "log/packing/packed.h"
#include "log/packing/varint.h"

#define WINDOW 4096u /* records */

/* The columns of one type; the first row is for raw records. */
struct pack_row {
	const struct schema_type *type; /* NULL: raw */
	struct pack_column *columns;
	uint32_t column_count;
	bool used; /* in this segment */
	uint32_t in_window, first_in_window;
};

struct packer {
	const struct schema *schema;
	struct pack_row *rows; /* by rising type; [0]: raw */
	size_t row_count;
	struct pack_column order, packed;
	struct pack_summary summary;

	uint32_t *at;	      /* WINDOW: where records begin */
	uint16_t *row_of;     /* WINDOW */
	uint32_t *sorted;     /* WINDOW: at[], row by row */
	uint32_t *element_at; /* WINDOW */
};

/* Where the next record is. */
struct position {
	const uint8_t *records;
	size_t bytes, at;
	size_t batch_end;  /* end of the record around it; 0: none */
	size_t batch_rest; /* where the last record inside that one ends */
	uint32_t top;	   /* records so far, without those inside others */
	bool wall_is_mono; /* the last batch's wall times are by CLOCK_MONOTONIC */
};

struct packer *packer_new(const struct schema *schema)
{
	struct packer *packer = xcalloc(1, sizeof(*packer));

	packer->schema = schema;
	packer->row_count = schema->count + 1;
	packer->rows = xcalloc(packer->row_count, sizeof(*packer->rows));
	for (size_t i = 0; i < packer->row_count; i++) {
		struct pack_row *row = &packer->rows[i];

		row->type = i ? &schema->types[i - 1] : NULL;
		row->column_count = i ? packed_columns(row->type) : 1;
	}
	packer->at = xmalloc(WINDOW * sizeof(*packer->at));
	packer->row_of = xmalloc(WINDOW * sizeof(*packer->row_of));
	packer->sorted = xmalloc(WINDOW * sizeof(*packer->sorted));
	packer->element_at = xmalloc(WINDOW * sizeof(*packer->element_at));
	return packer;
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	for (size_t i = 0; i < packer->row_count; i++) {
		for (uint32_t j = 0; packer->rows[i].columns && j < packer->rows[i].column_count; j++)
			pack_column_free(&packer->rows[i].columns[j]);
		free(packer->rows[i].columns);
	}
	free(packer->rows);
	pack_column_free(&packer->order);
	pack_column_free(&packer->packed);
	free(packer->at);
	free(packer->row_of);
	free(packer->sorted);
	free(packer->element_at);
	free(packer);
}

static void begin_row(struct pack_row *row)
{
	if (!row->columns)
		row->columns = xcalloc(row->column_count, sizeof(*row->columns));
	for (uint32_t i = 0; i < row->column_count; i++)
		pack_column_begin(&row->columns[i], 0);
	if (row->type)
		row->columns[PACKED_SIZE].previous = row->type->fixed.bytes;
	row->used = true;
}

/* ---- where records are -------------------------------------------------------------------------------------- */

/* Steps into a record whose tail is records; bytes at its end that are no record go into its columns at once. */
static void enter_batch(struct position *position, struct pack_row *row, size_t end)
{
	const uint8_t *tail = position->records + position->at + row->type->fixed.bytes;
	size_t bytes = end - position->at - row->type->fixed.bytes, records = 0;
	uint32_t rest = packed_rest(row->type);

	while (record_at(tail, bytes, &records))
		continue;
	pack_column_number(&row->columns[rest - 1], bytes - records);
	pack_column_bytes(&row->columns[rest], tail + records, bytes - records);
	position->at += row->type->fixed.bytes;
	position->batch_rest = position->at + records;
	position->batch_end = end;
}

/* Whether the next record is one of the repeated ones, or inside the last of them. */
static bool is_repeated(const struct position *position, uint32_t repeated)
{
	return position->top < repeated || (position->top == repeated && position->batch_end && repeated);
}

static void leave_batch(struct position *position)
{
	if (position->batch_end && position->at == position->batch_rest) {
		position->at = position->batch_end;
		position->batch_end = 0;
	}
}

/* The number of the type's row, or of the row for raw records. */
static uint16_t choose_row(const struct packer *packer, const struct gpt_record *record, bool inside)
{
	uint16_t number = packer->schema->rows[record->type];
	const struct schema_type *type = number ? &packer->schema->types[number - 1] : NULL;

	return type && record->size >= type->fixed.bytes && !(inside && type->tail == SCHEMA_RECORDS) ? number : 0;
}

/* Fills at[] and row_of[]; stops at the first record that is not repeated, and where the meaning of wall changes. */
static uint32_t take_window(struct packer *packer, struct position *position, uint32_t repeated)
{
	uint32_t count = 0;
	bool in_repeated = is_repeated(position, repeated);

	while (count < WINDOW && position->at < position->bytes) {
		const struct gpt_record *record = (const struct gpt_record *)(position->records + position->at);
		bool inside = position->batch_end;
		struct pack_row *row = &packer->rows[choose_row(packer, record, inside)];
		size_t end = position->at + record->size;

		if (in_repeated != is_repeated(position, repeated))
			break;
		if (row->type && row->type->tail == SCHEMA_RECORDS) {
			bool is_mono = record->type == GPT_AGENT_BATCH && record->flags & GPT_BATCH_MONOTONIC;

			if (is_mono != position->wall_is_mono && count)
				break;
			position->wall_is_mono = is_mono;
		}
		packer->at[count] = (uint32_t)position->at;
		packer->row_of[count++] = (uint16_t)(row - packer->rows);
		position->top += !inside;
		if (!row->used)
			begin_row(row);
		if (row->type && row->type->tail == SCHEMA_RECORDS)
			enter_batch(position, row, end);
		else
			position->at = end;
		leave_batch(position);
	}
	return count;
}

static void sort_window(struct packer *packer, uint32_t count)
{
	uint32_t first = 0;

	for (size_t i = 0; i < packer->row_count; i++)
		packer->rows[i].in_window = 0;
	for (uint32_t i = 0; i < count; i++)
		packer->rows[packer->row_of[i]].in_window++;
	for (size_t i = 0; i < packer->row_count; i++) {
		packer->rows[i].first_in_window = first;
		first += packer->rows[i].in_window;
		packer->rows[i].in_window = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct pack_row *row = &packer->rows[packer->row_of[i]];

		packer->sorted[row->first_in_window + row->in_window++] = packer->at[i];
	}
}

/* ---- what is in them ---------------------------------------------------------------------------------------- */

static const struct gpt_record *record_of(struct pack_places places, size_t i)
{
	return (const struct gpt_record *)(places.base + places.at[i]);
}

static void pack_raw(struct pack_row *row, struct pack_places places)
{
	for (size_t i = 0; i < places.count; i++)
		pack_column_bytes(&row->columns[0], places.base + places.at[i], record_of(places, i)->size);
}

static void pack_elements(struct packer *packer, struct pack_row *row, const uint8_t *base, uint32_t count)
{
	struct pack_places places = {base, packer->element_at, count};
	uint32_t first = packed_elements(row->type);

	for (uint32_t i = 0; i < row->type->element.count; i++)
		pack_column_field(&row->columns[first + i], places, row->type->element.items, i);
}

static void pack_array(struct packer *packer, struct pack_row *row, struct pack_places places)
{
	uint32_t element_bytes = row->type->element.bytes, count = 0;

	for (size_t i = 0; i < places.count; i++) {
		uint32_t at = places.at[i] + row->type->fixed.bytes, end = places.at[i] + record_of(places, i)->size;

		for (; end - at >= element_bytes; at += element_bytes) {
			packer->element_at[count++] = at;
			if (count == WINDOW) {
				pack_elements(packer, row, places.base, count);
				count = 0;
			}
		}
		pack_column_bytes(&row->columns[packed_rest(row->type)], places.base + at, end - at);
	}
	pack_elements(packer, row, places.base, count);
}

static void pack_tails(struct pack_row *row, struct pack_places places)
{
	struct pack_column *column = &row->columns[packed_rest(row->type)];
	uint32_t fixed = row->type->fixed.bytes;

	for (size_t i = 0; i < places.count; i++)
		if (record_of(places, i)->size > fixed)
			pack_column_bytes(column, places.base + places.at[i] + fixed,
					  record_of(places, i)->size - fixed);
}

static void pack_row(struct packer *packer, struct pack_row *row, struct pack_places places)
{
	pack_column_delta32(&row->columns[PACKED_SIZE], places, offsetof(struct gpt_record, size));
	pack_column_delta16(&row->columns[PACKED_FLAGS], places, offsetof(struct gpt_record, flags));
	for (uint32_t i = 0; i < row->type->fixed.count; i++)
		pack_column_field(&row->columns[PACKED_FIELDS + i], places, row->type->fixed.items, i);
	if (row->type->tail == SCHEMA_ARRAY)
		pack_array(packer, row, places);
	else if (row->type->tail == SCHEMA_BYTES)
		pack_tails(row, places);
}

static void pack_window(struct packer *packer, const uint8_t *records, uint32_t count)
{
	uint8_t types[WINDOW * 3], *to = types;

	for (uint32_t i = 0; i < count; i++) {
		const struct schema_type *type = packer->rows[packer->row_of[i]].type;

		to = varint_put(to, type ? type->type : 0);
	}
	pack_column_bytes(&packer->order, types, (size_t)(to - types));
	for (size_t i = 0; i < packer->row_count; i++) {
		struct pack_row *row = &packer->rows[i];
		struct pack_places places = {records, packer->sorted + row->first_in_window, row->in_window};

		if (!places.count)
			continue;
		if (row->type)
			pack_row(packer, row, places);
		else
			pack_raw(row, places);
	}
}

/* ---- the segment -------------------------------------------------------------------------------------------- */

/* A raw record counts as one of its type if the schema has that. */
static void summarize_window(struct packer *packer, const struct position *position)
{
	const struct pack_row *raw = &packer->rows[0];
	struct pack_places places = {position->records, packer->sorted, raw->in_window};

	for (size_t i = 0; i < places.count; i++)
		packer->summary.counts[packer->schema->rows[record_of(places, i)->type]]++;
	for (size_t i = 1; i < packer->row_count; i++) {
		const struct pack_row *row = &packer->rows[i];

		places = (struct pack_places){position->records, packer->sorted + row->first_in_window, row->in_window};
		packer->summary.counts[i] += places.count;
		if (places.count)
			pack_summary_add(&packer->summary, row->type, places, position->wall_is_mono);
	}
}

/* Whether the sizes add up to exactly that many bytes. */
static bool are_whole(const uint8_t *records, size_t bytes)
{
	size_t at = 0;

	while (record_at(records, bytes, &at))
		continue;
	return at == bytes;
}

static void put_together(struct packer *packer, uint64_t count)
{
	pack_column_number(&packer->packed, count);
	pack_column_finish(&packer->order, &packer->packed);
	for (size_t i = 0; i < packer->row_count; i++)
		for (uint32_t j = 0; packer->rows[i].used && j < packer->rows[i].column_count; j++)
			pack_column_finish(&packer->rows[i].columns[j], &packer->packed);
}

int pack(struct packer *packer, const void *records, size_t bytes, uint32_t repeated, struct pack_out *out)
{
	struct position position = {.records = records, .bytes = bytes};
	uint64_t all = 0;
	uint32_t count;

	if (bytes > GPT_LOG_RECORD_BYTES_MAX)
		return -E2BIG;
	if (!are_whole(records, bytes))
		return -EINVAL;
	for (size_t i = 0; i < packer->row_count; i++)
		packer->rows[i].used = false;
	pack_column_begin(&packer->order, 0);
	pack_column_begin(&packer->packed, 0);
	pack_summary_begin(&packer->summary);
	for (;;) {
		bool in_repeated = is_repeated(&position, repeated);

		count = take_window(packer, &position, repeated);
		if (!count)
			break;
		sort_window(packer, count);
		pack_window(packer, records, count);
		if (!in_repeated)
			summarize_window(packer, &position);
		all += count;
	}
	put_together(packer, all);
	out->packed = packer->packed.bytes;
	out->packed_bytes = packer->packed.count;
	out->records = position.top;
	pack_summary_finish(&packer->summary, packer->schema, out);
	return 0;
}
