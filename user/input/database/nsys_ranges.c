/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One table has everything of NVTX, domains included, in any order; see database_reader.h. */
#include "input/database/database_reader.h"

#include "input/rows/row_ranges.h"

/* eventType */
enum {
	NVTX_MARK = 34,
	NVTX_PUSH_POP = 59,
	NVTX_START_END = 60,
	NVTX_DOMAIN = 75,
};

enum {
	RANGE_START,
	RANGE_END,
	RANGE_TYPE,
	RANGE_TEXT,
	RANGE_TEXT_ID,
	RANGE_THREAD,
	RANGE_DOMAIN,
	RANGE_COLUMNS,
};

static const char *const columns[RANGE_COLUMNS] = {
	[RANGE_START] = "start",    [RANGE_END] = "end",	  [RANGE_TYPE] = "eventType",  [RANGE_TEXT] = "text",
	[RANGE_TEXT_ID] = "textId", [RANGE_THREAD] = "globalTid", [RANGE_DOMAIN] = "domainId",
};

static const char table[] = "NVTX_EVENTS";

/* Numbers of domains are per process. */
struct domains {
	struct lookup lookup;  /* (pid + 1, number) to index in names */
	ARRAY(uint32_t) names; /* texts; the first is the default domain's */
};

static uint32_t read_label(struct database_reader *reader, struct database_rows *rows)
{
	struct text text = database_text(rows, RANGE_TEXT);

	return text.size ? rows_text(&reader->file->rows, text.bytes, text.size)
			 : database_string_text(reader, database_number(rows, RANGE_TEXT_ID, DATABASE_NONE));
}

static void read_domains(struct database_reader *reader, struct domains *domains)
{
	struct database_rows rows = database_select(&reader->base, table, columns, RANGE_COLUMNS);

	array_push(&domains->names, ROW_NO_TEXT);
	while (database_next(&rows)) {
		int64_t number = database_number(&rows, RANGE_DOMAIN, 0);
		uint32_t pid = database_pid(database_number(&rows, RANGE_THREAD, 0)), *index;

		if (database_number(&rows, RANGE_TYPE, 0) != NVTX_DOMAIN || !number)
			continue;
		if (domains->names.count > UINT16_MAX) {
			reader->file->bad[BAD_ROOM]++;
			continue;
		}
		index = lookup_put(&domains->lookup, foreign_epoch(pid), (uint64_t)number, NONE);
		if (*index != NONE)
			continue;
		*index = (uint32_t)domains->names.count;
		array_push(&domains->names, read_label(reader, &rows));
	}
	database_end(&rows);
}

static uint32_t domain_of(const struct domains *domains, uint32_t pid, int64_t number)
{
	const uint32_t *index = lookup_get(&domains->lookup, foreign_epoch(pid), (uint64_t)number);

	if (!index) /* gputrace's own domains are not per process */
		index = lookup_get(&domains->lookup, foreign_epoch(0), (uint64_t)number);
	return index ? *index : 0;
}

void nsys_read_ranges(struct database_reader *reader)
{
	struct domains domains = {.names = {0}};
	struct database_rows rows;
	uint64_t count = 0;

	read_domains(reader, &domains);
	rows = database_select(&reader->base, table, columns, RANGE_COLUMNS);
	while (database_next(&rows) && !reader->file->rows.error) {
		int64_t type = database_number(&rows, RANGE_TYPE, 0), thread = database_number(&rows, RANGE_THREAD, 0);
		struct row_range range = {.row = {.kind = ROW_RANGE}, .id = ++count};
		bool ended;

		if (type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END)
			continue;
		range.row.pid = database_pid(thread);
		range.row.tid = database_tid(thread);
		if (!database_span(reader, &rows, RANGE_START, RANGE_END, &range.row, &ended) ||
		    !database_thread(reader, &range.row))
			continue;
		range.row.text = read_label(reader, &rows);
		range.domain = (uint16_t)domain_of(&domains, range.row.pid, database_number(&rows, RANGE_DOMAIN, 0));
		range.named = domains.names.items[range.domain];
		range.what = (uint8_t)(type == NVTX_MARK       ? ROW_RANGE_MARK
				       : type == NVTX_PUSH_POP ? ROW_RANGE_PUSH
							       : ROW_RANGE_START);
		row_ranges_add(&reader->file->rows, &range, ended);
	}
	database_end(&rows);
	lookup_free(&domains.lookup);
	array_free(&domains.names);
}
