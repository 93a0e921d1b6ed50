/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs starts and ends of markers while reading, if the start is within reach, so that one row is stored and passed on
 * instead of two.  Others are passed on as they are, and model/ pairs them.
 */
#include "input/database/database_reader.h"

#include <string.h>

/* Starts that wait for their end; a power of two.  CUPTI numbers markers consecutively. */
#define OPEN_MARKERS 65536u

/* CUpti_ActivityFlag of markers */
enum {
	MARKER_INSTANT = 1,
	MARKER_START = 2,
	MARKER_END = 4,
};

enum {
	MARKER_FLAGS,
	MARKER_TIME,
	MARKER_ID,
	MARKER_OBJECT_KIND,
	MARKER_OBJECT,
	MARKER_NAME,
	MARKER_DOMAIN,
	MARKER_COLUMNS,
};

static const char *const marker_columns[MARKER_COLUMNS] = {
	[MARKER_FLAGS] = "flags",     [MARKER_TIME] = "timestamp",
	[MARKER_ID] = "id",	      [MARKER_OBJECT_KIND] = "objectKind",
	[MARKER_OBJECT] = "objectId", [MARKER_NAME] = "name",
	[MARKER_DOMAIN] = "domain",
};

struct open_marker {
	uint64_t id;
	uint64_t at;  /* rows_kept */
	uint32_t pid; /* 0: the slot is free */
};

struct markers {
	struct database_reader *reader;
	struct database_rows rows;
	struct lookup domains; /* (1, text) to key */
	struct open_marker *open;
	struct lookup apart; /* (epoch, id) with a start that was not paired here: none of this id is any more */
	uint32_t pid, tid;   /* the latest thread that was added to the file; 0: none */
	int64_t domain;	     /* the domain of the row before, and its text and key */
	uint32_t domain_text;
	uint16_t domain_key;
};

/* CUpti_ActivityObjectKindId: a process and its thread, if the kind says so. */
bool nvprof_object(struct database_rows *rows, unsigned kind, unsigned id, uint32_t *pid, uint32_t *tid)
{
	int64_t what = database_number(rows, kind, 0);
	struct text bytes = database_blob(rows, id);

	*pid = *tid = 0;
	if ((what != NVPROF_PROCESS && what != NVPROF_THREAD) || bytes.size < sizeof(*pid))
		return false;
	memcpy(pid, bytes.bytes, sizeof(*pid));
	if (what == NVPROF_THREAD && bytes.size >= 2 * sizeof(*pid))
		memcpy(tid, bytes.bytes + sizeof(*pid), sizeof(*tid));
	return true;
}

/* A domain is the number of its name, 0 for the default one; returns a key of 16 bits. */
static uint16_t key_of_domain(struct lookup *domains, uint32_t name)
{
	uint32_t *key = lookup_put(domains, 1, name, 0);

	if (!*key && domains->count <= UINT16_MAX)
		*key = (uint32_t)domains->count;
	return (uint16_t)*key;
}

static void read_domain(struct markers *markers, struct row_range *range)
{
	const struct rows *rows = &markers->reader->file->rows;
	int64_t domain = database_number(&markers->rows, MARKER_DOMAIN, DATABASE_NONE);

	if (domain != markers->domain) {
		uint32_t text = database_string_text(markers->reader, domain);
		bool named = text != ROW_NO_TEXT && rows->texts.items[text].size;

		markers->domain = domain;
		markers->domain_text = text;
		markers->domain_key = named ? key_of_domain(&markers->domains, text) : 0;
	}
	range->named = markers->domain_text;
	range->domain = markers->domain_key;
}

/* False: not on a valid thread. */
static bool find_thread(struct markers *markers, struct row *row)
{
	/* a marker of a process alone is on its first thread */
	if (!row->tid)
		row->tid = row->pid;
	if (row->pid && row->pid == markers->pid && row->tid == markers->tid)
		return true;
	if (!database_thread(markers->reader, row))
		return false;
	markers->pid = row->pid;
	markers->tid = row->tid;
	return true;
}

static void begin_range(struct markers *markers, const struct row_range *range)
{
	uint64_t at = rows_add(&markers->reader->file->rows, &range->row, sizeof(*range));
	struct open_marker *open = &markers->open[range->id & (OPEN_MARKERS - 1)];

	/* the marker in the slot outlasts many others, or its end does not come */
	if (open->pid)
		lookup_put(&markers->apart, foreign_epoch(open->pid), open->id, 0);
	open->pid = 0;
	if (!markers->apart.count || !lookup_get(&markers->apart, foreign_epoch(range->row.pid), range->id))
		*open = (struct open_marker){.id = range->id, .at = at, .pid = range->row.pid};
}

/* Closes the start of an end, if it is within reach and not later than the end. */
static bool close_begun(struct markers *markers, const struct row_range *end)
{
	struct open_marker *open = &markers->open[end->id & (OPEN_MARKERS - 1)];
	struct rows *rows = &markers->reader->file->rows;
	struct row_range *begun;

	if (open->pid != end->row.pid || open->id != end->id)
		return false;
	begun = (struct row_range *)rows_kept(rows, open->at);
	if (begun && end->row.start_ns < begun->row.start_ns)
		return false;
	open->pid = 0;
	if (!begun)
		return false;
	begun->what = ROW_RANGE_WHOLE;
	begun->closes_ns = end->row.start_ns;
	rows_see_end(rows, begun->closes_ns);
	return true;
}

static void read_marker(struct markers *markers, int64_t flags)
{
	struct database_reader *reader = markers->reader;
	struct row_range range = {.row = {.kind = ROW_RANGE}, .named = ROW_NO_TEXT};
	int64_t id = database_number(&markers->rows, MARKER_ID, -1);
	bool has_owner =
		nvprof_object(&markers->rows, MARKER_OBJECT_KIND, MARKER_OBJECT, &range.row.pid, &range.row.tid);

	if (!has_owner || id < 0 || !database_moment(reader, &markers->rows, MARKER_TIME, &range.row)) {
		reader->file->bad[!has_owner ? BAD_OWNER : id < 0 ? BAD_VALUE : BAD_TIME]++;
		return;
	}
	if (!find_thread(markers, &range.row))
		return;
	range.id = (uint64_t)id;
	range.what = flags & MARKER_INSTANT ? ROW_RANGE_MARK : flags & MARKER_START ? ROW_RANGE_START : ROW_RANGE_END;
	if (range.what == ROW_RANGE_END && close_begun(markers, &range))
		return;
	range.row.text = database_string_text(reader, database_number(&markers->rows, MARKER_NAME, DATABASE_NONE));
	read_domain(markers, &range);
	if (range.what == ROW_RANGE_START)
		begin_range(markers, &range);
	else
		rows_add(&reader->file->rows, &range.row, sizeof(range));
}

void nvprof_read_markers(struct database_reader *reader)
{
	struct markers markers = {.reader = reader, .domain = DATABASE_NONE, .domain_text = ROW_NO_TEXT};

	markers.rows = database_select(&reader->base, "CUPTI_ACTIVITY_KIND_MARKER", marker_columns, MARKER_COLUMNS);
	markers.open = xcalloc(OPEN_MARKERS, sizeof(*markers.open));
	while (database_next(&markers.rows) && !reader->file->rows.error) {
		int64_t flags = database_number(&markers.rows, MARKER_FLAGS, 0);

		if (flags & (MARKER_INSTANT | MARKER_START | MARKER_END))
			read_marker(&markers, flags);
	}
	database_end(&markers.rows);
	lookup_free(&markers.domains);
	lookup_free(&markers.apart);
	free(markers.open);
}
