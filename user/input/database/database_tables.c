/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that are CUPTI's records: calls, GPU work, waits; see database_reader.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/database/database_reader.h"
#include "input/names.h"
#include "input/rows/row_captures.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))
#define PRINTED 64

/* The process of GPU work; 0: the file does not say, or names too many processes. */
static uint32_t process_of(struct database_reader *reader, int64_t global)
{
	uint32_t pid = database_pid(global);

	if (!pid || reader->file->processes.count >= DATABASE_PROCESSES_MAX)
		return 0;
	foreign_process(reader->file, pid);
	return pid;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* nsys has the thread in one number and a name; nvprof has two numbers and CUPTI's callback id. */
enum {
	CALL_START,
	CALL_END,
	CALL_CORR,
	CALL_RESULT,
	CALL_THREAD,
	CALL_NAME,
	CALL_STACK,
	CALL_PID,
	CALL_TID,
	CALL_CBID,
	CALL_CAPTURED, /* gputrace's own */
	CALL_OF_BACKWARD,
};

static const char *const call_columns[] = {
	[CALL_START] = "start",	       [CALL_END] = "end",	     [CALL_CORR] = "correlationId",
	[CALL_RESULT] = "returnValue", [CALL_THREAD] = "globalTid",  [CALL_NAME] = "nameId",
	[CALL_STACK] = "callchainId",  [CALL_PID] = "processId",     [CALL_TID] = "threadId",
	[CALL_CBID] = "cbid",	       [CALL_CAPTURED] = "captured", [CALL_OF_BACKWARD] = "ofBackward",
};

static uint16_t api_of(struct database_reader *reader, struct database_string *string)
{
	const struct rows *rows = &reader->file->rows;
	struct text text = {.bytes = "", .size = 0};

	if (string->has_api)
		return string->api;
	if (string->text < rows->texts.count)
		text = rows->texts.items[string->text];
	string->api = name_to_any_api(text.bytes, text.size);
	string->wait = (uint8_t)name_to_wait(text.bytes, text.size);
	string->has_api = true;
	return string->api;
}

/* nvprof names no calls: those whose name is unknown are shown by number. */
static uint16_t api_by_number(struct database_reader *reader, int64_t cbid, enum gpt_api_domain domain)
{
	uint16_t api = cbid > 0 && cbid < 1 << 12 ? GPT_API(domain, cbid) : 0;
	char name[PRINTED];
	uint32_t *known;
	int size;

	if (api && api_class(api) != GPT_CLASS_NONE)
		return api;
	known = lookup_put(&reader->numbered_calls, domain, (uint64_t)cbid, 0);
	if (!*known && name_of_cbid(domain, cbid)) {
		*known = name_to_any_api(name_of_cbid(domain, cbid), strlen(name_of_cbid(domain, cbid)));
	} else if (!*known) {
		size = snprintf(name, sizeof(name), cbid > 0 ? "%s call %" PRId64 : "%s call without a name",
				domain == GPT_DOMAIN_RUNTIME ? "CUDA runtime" : "CUDA driver", cbid);
		*known = api_named(name, (size_t)size);
	}
	return (uint16_t)*known;
}

void database_read_calls(struct database_reader *reader, const char *table, enum gpt_api_domain domain)
{
	struct database_rows rows = database_select(&reader->base, table, call_columns, COUNT(call_columns));

	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_call call = {.row = {.text = ROW_NO_TEXT, .kind = ROW_CALL}};
		struct database_string *name =
			database_string(reader, database_number(&rows, CALL_NAME, DATABASE_NONE));
		int64_t global = database_number(&rows, CALL_THREAD, 0);
		uint32_t *stack;
		bool ended;

		call.api = name ? api_of(reader, name)
				: api_by_number(reader, database_number(&rows, CALL_CBID, 0), domain);
		call.row.pid = global ? database_pid(global) : database_small(&rows, CALL_PID, 0);
		call.row.tid = global ? database_tid(global) : (uint32_t)database_number(&rows, CALL_TID, 0);
		if (!database_span(reader, &rows, CALL_START, CALL_END, &call.row, &ended) ||
		    !database_thread(reader, &call.row))
			continue;
		call.row.corr = database_small(&rows, CALL_CORR, 0);
		call.result = (int32_t)database_number(&rows, CALL_RESULT, 0);
		call.unfinished = !ended;
		call.captured = database_number(&rows, CALL_CAPTURED, 0) != 0;
		call.inherited = database_number(&rows, CALL_OF_BACKWARD, 0) != 0;
		if (reader->waits_by_call && name && name->wait && call.row.corr)
			lookup_put(&reader->waiting_calls, foreign_epoch(call.row.pid), call.row.corr, name->wait);
		stack = lookup_get(&reader->stack_lookup, 1, (uint64_t)database_number(&rows, CALL_STACK, 0));
		call.stack = stack ? *stack + 1 : 0;
		row_captures_add_call(reader->file, &call);
	}
	database_end(&rows);
}

/* ---- GPU work ---------------------------------------------------------------------------------------------------- */

enum {
	GPU_START,
	GPU_END,
	GPU_DEVICE,
	GPU_CONTEXT,
	GPU_STREAM,
	GPU_CORR,
	GPU_PROCESS,
	GPU_GRAPH_NODE,
	GPU_GRAPH,
	GPU_BYTES,
	GPU_COPY_KIND,
	GPU_FROM,
	GPU_TO,
	GPU_SET_IN,
	GPU_SET_IN_OLD,
	GPU_NAME,
	GPU_MANGLED_NAME,
	GPU_SHORT_NAME,
	GPU_NAME_OLD,
	GPU_REGISTERS,
	GPU_STATIC_SHARED,
	GPU_DYNAMIC_SHARED,
	GPU_LOCAL,
	GPU_GRID,
	GPU_BLOCK = GPU_GRID + 3,
	GPU_MIGRATION = GPU_BLOCK + 3,
	GPU_CAPTURED_BY, /* gputrace's own */
};

static const char *const gpu_columns[] = {
	[GPU_START] = "start",
	[GPU_END] = "end",
	[GPU_DEVICE] = "deviceId",
	[GPU_CONTEXT] = "contextId",
	[GPU_STREAM] = "streamId",
	[GPU_CORR] = "correlationId",
	[GPU_PROCESS] = "globalPid",
	[GPU_GRAPH_NODE] = "graphNodeId",
	[GPU_GRAPH] = "graphId",
	[GPU_BYTES] = "bytes",
	[GPU_COPY_KIND] = "copyKind",
	[GPU_FROM] = "srcKind",
	[GPU_TO] = "dstKind",
	[GPU_SET_IN] = "memKind",
	[GPU_SET_IN_OLD] = "memoryKind",
	[GPU_NAME] = "demangledName",
	[GPU_MANGLED_NAME] = "mangledName",
	[GPU_SHORT_NAME] = "shortName",
	[GPU_NAME_OLD] = "name",
	[GPU_REGISTERS] = "registersPerThread",
	[GPU_STATIC_SHARED] = "staticSharedMemory",
	[GPU_DYNAMIC_SHARED] = "dynamicSharedMemory",
	[GPU_LOCAL] = "localMemoryPerThread",
	[GPU_GRID] = "gridX",
	[GPU_GRID + 1] = "gridY",
	[GPU_GRID + 2] = "gridZ",
	[GPU_BLOCK] = "blockX",
	[GPU_BLOCK + 1] = "blockY",
	[GPU_BLOCK + 2] = "blockZ",
	[GPU_MIGRATION] = "migrationCause",
	[GPU_CAPTURED_BY] = "capturedBy",
};

static uint32_t kernel_name(struct database_reader *reader, const struct database_rows *rows)
{
	static const unsigned columns[] = {GPU_NAME, GPU_MANGLED_NAME, GPU_SHORT_NAME, GPU_NAME_OLD};
	uint32_t text = ROW_NO_TEXT;

	for (size_t i = 0; i < COUNT(columns) && text == ROW_NO_TEXT; i++)
		text = database_string_text(reader, database_number(rows, columns[i], DATABASE_NONE));
	return text;
}

static uint8_t memory_kind(const struct database_reader *reader, const struct database_rows *rows, unsigned column)
{
	int64_t kind = database_number(rows, column, -1);

	return kind >= 0 && kind < 16 ? (uint8_t)(kind + reader->first_memory_kind) : 0;
}

static uint8_t migration_of(const struct database_reader *reader, const struct database_rows *rows)
{
	uint32_t number = database_small(rows, GPU_MIGRATION, 0);

	return number < MODEL_MIGRATIONS ? reader->migrations[number] : MODEL_MIGRATION_UNKNOWN;
}

static bool read_place(struct database_reader *reader, const struct database_rows *rows, struct row_gpu *gpu)
{
	bool ended;

	gpu->row = (struct row){.text = ROW_NO_TEXT, .kind = ROW_GPU};
	/* both 0: CUPTI had no times for it */
	if (!database_number(rows, GPU_START, 0) && !database_number(rows, GPU_END, 0)) {
		reader->file->bad[BAD_TIME]++;
		return false;
	}
	if (!database_span(reader, rows, GPU_START, GPU_END, &gpu->row, &ended))
		return false;
	if (!ended) {
		reader->file->bad[BAD_TIME]++;
		return false;
	}
	gpu->row.pid = process_of(reader, database_number(rows, GPU_PROCESS, 0));
	gpu->row.corr = database_small(rows, GPU_CORR, 0);
	gpu->work.device = database_small(rows, GPU_DEVICE, 0);
	gpu->work.context = database_small(rows, GPU_CONTEXT, 0);
	gpu->work.stream = database_small(rows, GPU_STREAM, 0);
	return true;
}

/* Numbers of GPU work that have a column each. */
enum {
	NUMBER_BYTES,
	NUMBER_REGISTERS,
	NUMBER_STATIC_SHARED,
	NUMBER_DYNAMIC_SHARED,
	NUMBER_LOCAL,
	NUMBER_GRID,
	NUMBER_BLOCK = NUMBER_GRID + 3,
	NUMBERS = NUMBER_BLOCK + 3,
};

/* Returns the numbers that the row lacks, as bits of enum model_gpu_unknown; these are set to 0. */
static uint8_t read_numbers(const struct database_rows *rows, uint64_t numbers[NUMBERS])
{
	static const struct {
		uint8_t column, unknown;
	} of[NUMBERS] = {
		[NUMBER_BYTES] = {GPU_BYTES, MODEL_GPU_NO_BYTES},
		[NUMBER_REGISTERS] = {GPU_REGISTERS, MODEL_GPU_NO_REGISTERS},
		[NUMBER_STATIC_SHARED] = {GPU_STATIC_SHARED, MODEL_GPU_NO_STATIC_SHARED},
		[NUMBER_DYNAMIC_SHARED] = {GPU_DYNAMIC_SHARED, MODEL_GPU_NO_DYNAMIC_SHARED},
		[NUMBER_LOCAL] = {GPU_LOCAL, MODEL_GPU_NO_LOCAL},
		[NUMBER_GRID] = {GPU_GRID, MODEL_GPU_NO_LAUNCH},
		[NUMBER_GRID + 1] = {GPU_GRID + 1, MODEL_GPU_NO_LAUNCH},
		[NUMBER_GRID + 2] = {GPU_GRID + 2, MODEL_GPU_NO_LAUNCH},
		[NUMBER_BLOCK] = {GPU_BLOCK, MODEL_GPU_NO_LAUNCH},
		[NUMBER_BLOCK + 1] = {GPU_BLOCK + 1, MODEL_GPU_NO_LAUNCH},
		[NUMBER_BLOCK + 2] = {GPU_BLOCK + 2, MODEL_GPU_NO_LAUNCH},
	};
	uint8_t unknown = 0;

	for (size_t i = 0; i < NUMBERS; i++) {
		int64_t value = database_number(rows, of[i].column, -1);

		if (value < 0)
			unknown |= of[i].unknown;
		numbers[i] = value < 0 || (i != NUMBER_BYTES && value >= UINT32_MAX) ? 0 : (uint64_t)value;
	}
	return unknown;
}

void database_read_gpu_work(struct database_reader *reader, const char *table, enum model_gpu_kind kind)
{
	struct database_rows rows = database_select(&reader->base, table, gpu_columns, COUNT(gpu_columns));

	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_gpu gpu = {.work = {.kind = kind & 63}};
		struct model_gpu *work = &gpu.work;
		uint64_t numbers[NUMBERS];
		uint32_t captured_by;

		if (!read_place(reader, &rows, &gpu))
			continue;
		work->graph_node = (uint64_t)database_number(&rows, GPU_GRAPH_NODE, 0);
		work->graph = database_small(&rows, GPU_GRAPH, 0);
		captured_by = database_small(&rows, GPU_CAPTURED_BY, 0);
		if (work->graph_node && captured_by)
			foreign_node(reader->file, gpu.row.pid, work->graph_node, captured_by);
		work->unknown = read_numbers(&rows, numbers);
		if (kind == MODEL_KERNEL) {
			gpu.row.text = kernel_name(reader, &rows);
			work->registers = (uint32_t)numbers[NUMBER_REGISTERS];
			work->static_shared_bytes = (uint32_t)numbers[NUMBER_STATIC_SHARED];
			work->dynamic_shared_bytes = (uint32_t)numbers[NUMBER_DYNAMIC_SHARED];
			work->local_bytes = (uint32_t)numbers[NUMBER_LOCAL];
			for (unsigned i = 0; i < 3; i++) {
				work->grid[i] = (uint32_t)numbers[NUMBER_GRID + i];
				work->block[i] = (uint32_t)numbers[NUMBER_BLOCK + i];
			}
		} else if (kind == MODEL_MEMCPY) {
			work->bytes = numbers[NUMBER_BYTES];
			work->memcpy_kind = (uint8_t)(database_small(&rows, GPU_COPY_KIND, 0) & 0xff);
			work->from = memory_kind(reader, &rows, GPU_FROM);
			work->to = memory_kind(reader, &rows, GPU_TO);
			work->migration = migration_of(reader, &rows);
		} else {
			work->bytes = numbers[NUMBER_BYTES];
			work->to = memory_kind(reader, &rows, GPU_SET_IN);
			if (!work->to)
				work->to = memory_kind(reader, &rows, GPU_SET_IN_OLD);
		}
		rows_add(&reader->file->rows, &gpu.row, sizeof(gpu));
	}
	database_end(&rows);
}

void database_read_graphs(struct database_reader *reader, const char *table)
{
	struct database_rows rows = database_select(&reader->base, table, gpu_columns, COUNT(gpu_columns));

	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_gpu gpu = {.work = {.kind = MODEL_KERNEL, .unknown = UINT8_MAX}};
		char name[PRINTED];
		int size;

		if (!read_place(reader, &rows, &gpu))
			continue;
		size = snprintf(name, sizeof(name), "[CUDA graph %u]", database_small(&rows, GPU_GRAPH, 0));
		gpu.row.text = rows_text(&reader->file->rows, name, (size_t)size);
		rows_add(&reader->file->rows, &gpu.row, sizeof(gpu));
	}
	database_end(&rows);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

enum {
	SYNC_START,
	SYNC_END,
	SYNC_DEVICE,
	SYNC_CONTEXT,
	SYNC_STREAM,
	SYNC_CORR,
	SYNC_PROCESS,
	SYNC_KIND,
	SYNC_EVENT,
	SYNC_KIND_OLD,
	SYNC_EVENT_OLD,
};

static const char *const sync_columns[] = {
	[SYNC_START] = "start",		  [SYNC_END] = "end",
	[SYNC_DEVICE] = "deviceId",	  [SYNC_CONTEXT] = "contextId",
	[SYNC_STREAM] = "streamId",	  [SYNC_CORR] = "correlationId",
	[SYNC_PROCESS] = "globalPid",	  [SYNC_KIND] = "syncType",
	[SYNC_EVENT] = "eventId",	  [SYNC_KIND_OLD] = "type",
	[SYNC_EVENT_OLD] = "cudaEventId",
};

/*
 * nsys' numbers of wait kinds differ from the table of kinds in its own files, and from version to version (seen: 2020
 * to 2025).  So the call's name decides, else which of stream and event is set.
 */
static uint32_t kind_of_wait(const struct database_reader *reader, const struct row_sync *sync)
{
	const uint32_t *known = lookup_get(&reader->waiting_calls, foreign_epoch(sync->row.pid), sync->row.corr);
	bool stream = sync->sync.stream != UINT32_MAX, event = sync->sync.event != UINT32_MAX;

	if (known)
		return *known;
	if (event)
		return stream ? GPT_AGENT_SYNC_STREAM_WAITS_EVENT : GPT_AGENT_SYNC_EVENT;
	return stream ? GPT_AGENT_SYNC_STREAM : GPT_AGENT_SYNC_CONTEXT;
}

void database_read_syncs(struct database_reader *reader, const char *table)
{
	struct database_rows rows = database_select(&reader->base, table, sync_columns, COUNT(sync_columns));

	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_sync sync = {.row = {.text = ROW_NO_TEXT, .kind = ROW_SYNC}};
		bool ended;

		if (!database_span(reader, &rows, SYNC_START, SYNC_END, &sync.row, &ended))
			continue;
		sync.row.pid = process_of(reader, database_number(&rows, SYNC_PROCESS, 0));
		sync.row.corr = database_small(&rows, SYNC_CORR, 0);
		sync.device = database_small(&rows, SYNC_DEVICE, 0);
		sync.sync = (struct gpt_agent_sync){
			.context = database_small(&rows, SYNC_CONTEXT, 0),
			.stream = database_small(&rows, SYNC_STREAM, UINT32_MAX),
			.event = database_small(&rows, SYNC_EVENT, database_small(&rows, SYNC_EVENT_OLD, UINT32_MAX)),
			.kind = database_small(&rows, SYNC_KIND, database_small(&rows, SYNC_KIND_OLD, 0)),
		};
		if (reader->waits_by_call)
			sync.sync.kind = kind_of_wait(reader, &sync);
		rows_add(&reader->file->rows, &sync.row, sizeof(sync));
	}
	database_end(&rows);
}
