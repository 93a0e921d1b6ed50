/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers, times and texts of a profiler's database; see database_reader.h. */
#include "input/database/database_reader.h"

#define STRINGS_MAX (4u << 20)
#define THREADS_MAX (1u << 20)
#define NS_MAX (INT64_MAX / 4) /* some 73 years: later times are invalid */

bool database_reader_open(struct database_reader *reader, int fd, struct foreign_file *file)
{
	*reader = (struct database_reader){.file = file};
	return database_open(&reader->base, fd);
}

void database_reader_close(struct database_reader *reader)
{
	database_close(&reader->base);
	lookup_free(&reader->string_lookup);
	lookup_free(&reader->stack_lookup);
	lookup_free(&reader->waiting_calls);
	lookup_free(&reader->numbered_calls);
	array_free(&reader->strings);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Takes a number for the text that is added next; false: another text has it already. */
static bool take_number(struct database_reader *reader, int64_t number)
{
	uint32_t *index;

	if (!reader->strings.count)
		reader->first_string = number;
	if (reader->strings_in_row == reader->strings.count &&
	    (uint64_t)number - (uint64_t)reader->first_string == reader->strings_in_row) {
		reader->strings_in_row++;
		return true;
	}
	if (database_string(reader, number))
		return false;
	index = lookup_put(&reader->string_lookup, 1, (uint64_t)number, NONE);
	*index = (uint32_t)reader->strings.count;
	return true;
}

void database_read_strings(struct database_reader *reader, const char *table, const char *id)
{
	const char *const columns[] = {id, "value"};
	struct database_rows rows = database_select(&reader->base, table, columns, 2);

	while (database_next(&rows)) {
		int64_t number = database_number(&rows, 0, DATABASE_NONE);
		struct text value = database_text(&rows, 1);

		if (number == DATABASE_NONE || reader->strings.count >= STRINGS_MAX) {
			reader->file->bad[number == DATABASE_NONE ? BAD_VALUE : BAD_ROOM]++;
			continue;
		}
		if (take_number(reader, number))
			array_push(&reader->strings,
				   ((struct database_string){
					   .text = rows_new_text(&reader->file->rows, value.bytes, value.size)}));
	}
}

struct database_string *database_string(struct database_reader *reader, int64_t id)
{
	uint64_t in_row = (uint64_t)id - (uint64_t)reader->first_string;
	uint32_t *index;

	if (in_row < reader->strings_in_row)
		return &reader->strings.items[in_row];
	index = lookup_get(&reader->string_lookup, 1, (uint64_t)id);
	return index ? &reader->strings.items[*index] : NULL;
}

uint32_t database_string_text(struct database_reader *reader, int64_t id)
{
	struct database_string *string = database_string(reader, id);

	return string ? string->text : ROW_NO_TEXT;
}

uint32_t database_small(const struct database_rows *rows, unsigned column, uint32_t unknown)
{
	int64_t value = database_number(rows, column, DATABASE_NONE);

	return value >= 0 && value < UINT32_MAX ? (uint32_t)value : unknown;
}

/* False: an impossible time. */
static bool shift_time(const struct database_reader *reader, int64_t time_ns, uint64_t *shifted)
{
	if (time_ns < -reader->zero_ns || time_ns > NS_MAX)
		return false;
	*shifted = (uint64_t)(time_ns + reader->zero_ns);
	return true;
}

bool database_moment(const struct database_reader *reader, const struct database_rows *rows, unsigned column,
		     struct row *row)
{
	if (!shift_time(reader, database_number(rows, column, DATABASE_NONE), &row->start_ns))
		return false;
	row->end_ns = row->start_ns;
	return true;
}

bool database_span(struct database_reader *reader, const struct database_rows *rows, unsigned start, unsigned end,
		   struct row *row, bool *ended)
{
	int64_t end_ns = database_number(rows, end, DATABASE_NONE);

	if (shift_time(reader, database_number(rows, start, DATABASE_NONE), &row->start_ns)) {
		row->end_ns = row->start_ns;
		*ended = end_ns != DATABASE_NONE;
		if (!*ended || (shift_time(reader, end_ns, &row->end_ns) && row->end_ns >= row->start_ns))
			return true;
	}
	reader->file->bad[BAD_TIME]++;
	return false;
}

bool database_thread(struct database_reader *reader, const struct row *row)
{
	if (!row->pid || !row->tid || reader->file->threads.count >= THREADS_MAX) {
		reader->file->bad[row->pid && row->tid ? BAD_ROOM : BAD_OWNER]++;
		return false;
	}
	foreign_thread(reader->file, row->pid, row->tid);
	return true;
}
