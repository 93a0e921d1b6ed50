/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that only nvprof's files have; see nvprof.h. */
#include "input/nvprof.h"

#include <string.h>

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

/* CUpti_ActivityObjectKind */
enum {
	OBJECT_PROCESS = 1,
	OBJECT_THREAD = 2,
};

/* CUpti_ActivityFlag of markers */
enum {
	MARKER_INSTANT = 1,
	MARKER_START = 2,
	MARKER_END = 4,
};

bool nvprof_is(struct database_reader *reader)
{
	return database_has(&reader->base, "StringTable") &&
	       (database_has(&reader->base, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ||
		database_has(&reader->base, "CUPTI_ACTIVITY_KIND_KERNEL") ||
		database_has(&reader->base, "CUPTI_ACTIVITY_KIND_RUNTIME") ||
		database_has(&reader->base, "CUPTI_ACTIVITY_KIND_DRIVER"));
}

/* CUpti_ActivityObjectKindId: a process and its thread, where the kind says so. */
static bool read_object(struct database_rows *rows, unsigned kind, unsigned id, uint32_t *pid, uint32_t *tid)
{
	int64_t what = database_number(rows, kind, 0);
	struct text bytes = database_blob(rows, id);

	*pid = *tid = 0;
	if ((what != OBJECT_PROCESS && what != OBJECT_THREAD) || bytes.size < sizeof(*pid))
		return false;
	memcpy(pid, bytes.bytes, sizeof(*pid));
	if (what == OBJECT_THREAD && bytes.size >= 2 * sizeof(*pid))
		memcpy(tid, bytes.bytes + sizeof(*pid), sizeof(*tid));
	return true;
}

/* ---- names and GPUs ---------------------------------------------------------------------------------------------- */

static void read_names(struct database_reader *reader)
{
	static const char *const columns[] = {"objectKind", "objectId", "name"};
	struct database_rows rows = database_select(&reader->base, "CUPTI_ACTIVITY_KIND_NAME", columns, COUNT(columns));

	while (database_next(&rows)) {
		uint32_t pid, tid, text = database_string_text(reader, database_number(&rows, 2, DATABASE_NONE));

		if (read_object(&rows, 0, 1, &pid, &tid) && pid && text != ROW_NO_TEXT)
			foreign_name(reader->file, pid,
				     database_number(&rows, 0, 0) == OBJECT_PROCESS ? FOREIGN_PROCESS : tid, text);
	}
}

static const char *const device_columns[DATABASE_DEVICE_COLUMNS] = {
	[DATABASE_DEVICE_ID] = "id",
	[DATABASE_DEVICE_NAME] = "name",
	[DATABASE_DEVICE_UUID] = "uuid",
	[DATABASE_DEVICE_MEMORY] = "globalMemorySize",
	[DATABASE_DEVICE_SMS] = "numMultiprocessors",
	[DATABASE_DEVICE_MAJOR] = "computeCapabilityMajor",
	[DATABASE_DEVICE_MINOR] = "computeCapabilityMinor",
	[DATABASE_DEVICE_WARP] = "numThreadsPerWarp",
	[DATABASE_DEVICE_WARPS] = "maxWarpsPerMultiprocessor",
	[DATABASE_DEVICE_BLOCKS] = "maxBlocksPerMultiprocessor",
	[DATABASE_DEVICE_THREADS] = "maxThreadsPerBlock",
	[DATABASE_DEVICE_SM_REGISTERS] = "maxRegistersPerMultiprocessor",
	[DATABASE_DEVICE_REGISTERS] = "maxRegistersPerBlock",
	[DATABASE_DEVICE_SM_SHARED] = "maxSharedMemoryPerMultiprocessor",
	[DATABASE_DEVICE_SHARED] = "maxSharedMemoryPerBlock",
};

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

enum {
	MARKER_FLAGS,
	MARKER_TIME,
	MARKER_TIME_AGAIN,
	MARKER_ID,
	MARKER_OBJECT_KIND,
	MARKER_OBJECT,
	MARKER_NAME,
	MARKER_DOMAIN,
	MARKER_COLUMNS,
};

static const char *const marker_columns[MARKER_COLUMNS] = {
	[MARKER_FLAGS] = "flags", [MARKER_TIME] = "timestamp",	       [MARKER_TIME_AGAIN] = "timestamp",
	[MARKER_ID] = "id",	  [MARKER_OBJECT_KIND] = "objectKind", [MARKER_OBJECT] = "objectId",
	[MARKER_NAME] = "name",	  [MARKER_DOMAIN] = "domain",
};

/* A domain is the number of its name, 0 the default one; as a key in 16 bits. */
static uint16_t domain_key(struct lookup *domains, uint32_t name)
{
	uint32_t *key = lookup_put(domains, 1, name, 0);

	if (!*key && domains->count <= UINT16_MAX)
		*key = (uint32_t)domains->count;
	return (uint16_t)*key;
}

/*
 * Begin and end are rows of their own, of one id; CUPTI does not tell a push from a start, so all may overlap.
 */
static void read_markers(struct database_reader *reader)
{
	struct database_rows rows =
		database_select(&reader->base, "CUPTI_ACTIVITY_KIND_MARKER", marker_columns, MARKER_COLUMNS);
	struct lookup domains;

	lookup_init(&domains, reader->file->rows.seed);
	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_range range = {.row = {.kind = ROW_RANGE}, .named = ROW_NO_TEXT};
		int64_t flags = database_number(&rows, MARKER_FLAGS, 0), id = database_number(&rows, MARKER_ID, -1);
		bool ended;

		if (!(flags & (MARKER_INSTANT | MARKER_START | MARKER_END)))
			continue;
		if (!read_object(&rows, MARKER_OBJECT_KIND, MARKER_OBJECT, &range.row.pid, &range.row.tid) || id < 0 ||
		    !database_span(reader, &rows, MARKER_TIME, MARKER_TIME_AGAIN, &range.row, &ended)) {
			reader->file->bad++;
			continue;
		}
		/* of a process alone: on its first thread */
		if (!range.row.tid)
			range.row.tid = range.row.pid;
		if (!database_thread(reader, &range.row))
			continue;
		range.id = (uint64_t)id;
		range.row.text = database_string_text(reader, database_number(&rows, MARKER_NAME, DATABASE_NONE));
		range.named = database_string_text(reader, database_number(&rows, MARKER_DOMAIN, DATABASE_NONE));
		if (range.named != ROW_NO_TEXT && reader->file->rows.texts.items[range.named].size)
			range.domain = domain_key(&domains, range.named);
		range.what = flags & MARKER_INSTANT ? ROW_RANGE_MARK
			     : flags & MARKER_START ? ROW_RANGE_START
						    : ROW_RANGE_END;
		rows_add(&reader->file->rows, &range.row, sizeof(range));
	}
	database_end(&rows);
	lookup_free(&domains);
}

/* ---- what it cost ------------------------------------------------------------------------------------------------ */

static void read_overheads(struct database_reader *reader)
{
	static const char *const columns[] = {"start", "end", "overheadKind"};
	struct database_rows rows =
		database_select(&reader->base, "CUPTI_ACTIVITY_KIND_OVERHEAD", columns, COUNT(columns));

	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_overhead overhead = {.row = {.text = ROW_NO_TEXT, .kind = ROW_OVERHEAD}};
		bool ended;

		if (!database_span(reader, &rows, 0, 1, &overhead.row, &ended))
			continue;
		overhead.overhead = database_small(&rows, 2, 0);
		rows_add(&reader->file->rows, &overhead.row, sizeof(overhead));
	}
	database_end(&rows);
}

/* ------------------------------------------------------------------------------------------------------------------ */

void nvprof_read(struct database_reader *reader)
{
	reader->file->tool = "nvprof";
	database_read_strings(reader, "StringTable", "_id_");
	read_names(reader);
	database_read_gpus(reader, "CUPTI_ACTIVITY_KIND_DEVICE", device_columns);
	database_read_calls(reader, "CUPTI_ACTIVITY_KIND_RUNTIME", GPT_DOMAIN_RUNTIME);
	database_read_calls(reader, "CUPTI_ACTIVITY_KIND_DRIVER", GPT_DOMAIN_DRIVER);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", MODEL_KERNEL);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_KERNEL", MODEL_KERNEL);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_MEMCPY", MODEL_MEMCPY);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_MEMCPY2", MODEL_MEMCPY);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_MEMSET", MODEL_MEMSET);
	database_read_syncs(reader, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
	read_markers(reader);
	read_overheads(reader);
}
