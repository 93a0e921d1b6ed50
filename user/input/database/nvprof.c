/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that only nvprof's files have; see database_reader.h. */
#include "input/database/database_reader.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

bool nvprof_is(struct database_reader *reader)
{
	return database_has(&reader->base, "StringTable") &&
	       (database_has(&reader->base, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ||
		database_has(&reader->base, "CUPTI_ACTIVITY_KIND_KERNEL") ||
		database_has(&reader->base, "CUPTI_ACTIVITY_KIND_RUNTIME") ||
		database_has(&reader->base, "CUPTI_ACTIVITY_KIND_DRIVER"));
}

/* ---- names and GPUs ---------------------------------------------------------------------------------------------- */

static void read_names(struct database_reader *reader)
{
	static const char *const columns[] = {"objectKind", "objectId", "name"};
	struct database_rows rows = database_select(&reader->base, "CUPTI_ACTIVITY_KIND_NAME", columns, COUNT(columns));

	while (database_next(&rows)) {
		uint32_t pid, tid, text = database_string_text(reader, database_number(&rows, 2, DATABASE_NONE));

		if (nvprof_object(&rows, 0, 1, &pid, &tid) && pid && text != ROW_NO_TEXT)
			foreign_name(reader->file, pid,
				     database_number(&rows, 0, 0) == NVPROF_PROCESS ? FOREIGN_PROCESS : tid, text);
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

/* ---- overhead ---------------------------------------------------------------------------------------------------- */

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
	reader->file->tool = FOREIGN_NVPROF;
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
	nvprof_read_markers(reader);
	read_overheads(reader);
}
