/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that only files of nsys and of gputrace have; see database_reader.h. */
#include "input/database/database_reader.h"

#include <string.h>
#include <strings.h>

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))
#define FRAMES_MAX (16u << 20)
#define NS_MAX (INT64_MAX / 4)

/* Times count from the session's start, and some are before it. */
#define ZERO_NS 3600000000000

static bool text_is(struct text text, const char *literal)
{
	return text.size == strlen(literal) && !memcmp(text.bytes, literal, text.size);
}

bool nsys_is(struct database_reader *reader)
{
	return database_has(&reader->base, "StringIds") &&
	       (database_has(&reader->base, "META_DATA_EXPORT") || database_has(&reader->base, "ANALYSIS_DETAILS") ||
		database_has(&reader->base, "TARGET_INFO_SESSION_START_TIME") ||
		database_has_column(&reader->base, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid") ||
		database_has_column(&reader->base, "NVTX_EVENTS", "globalTid"));
}

/* ---- the session ------------------------------------------------------------------------------------------------- */

#define FORM "gputrace (an .sqlite file)"

/* Sets the tool that wrote the file. */
static void read_export(struct database_reader *reader)
{
	static const char *const columns[] = {"name", "value"};
	struct database_rows rows = database_select(&reader->base, "META_DATA_EXPORT", columns, COUNT(columns));
	struct foreign_file *file = reader->file;

	file->tool = FOREIGN_NSYS;
	reader->waits_by_call = true;
	while (database_next(&rows)) {
		struct text name = database_text(&rows, 0), value = database_text(&rows, 1);

		if (text_is(name, "EXPORTER") && value.size >= 8 && !memcmp(value.bytes, "gputrace", 8)) {
			foreign_set_form(file, FORM, (struct text){0});
			reader->waits_by_call = false;
		} else if (text_is(name, "RECORDED_BY") && !reader->waits_by_call) {
			foreign_set_form(file, FORM, value);
		} else if (text_is(name, "HOST") && value.size) {
			file->host = rows_text(&file->rows, value.bytes, value.size);
		}
	}
}

static void read_system(struct database_reader *reader)
{
	static const char *const columns[] = {"name", "value"};
	struct database_rows rows = database_select(&reader->base, "TARGET_INFO_SYSTEM_ENV", columns, COUNT(columns));

	while (database_next(&rows)) {
		struct text name = database_text(&rows, 0), value = database_text(&rows, 1);

		if (text_is(name, "Hostname") && value.size)
			reader->file->host = rows_text(&reader->file->rows, value.bytes, value.size);
	}
}

/* 0: not known. */
static int64_t length_of(int64_t from_ns, int64_t to_ns)
{
	return from_ns >= 0 && to_ns > from_ns ? to_ns - from_ns : 0;
}

static void read_session(struct database_reader *reader)
{
	static const char *const clock[] = {"utcEpochNs"}, *const span[] = {"duration", "startTime", "stopTime"};
	struct database_rows rows = database_select(&reader->base, "TARGET_INFO_SESSION_START_TIME", clock, 1);
	int64_t length_ns;

	if (database_next(&rows)) {
		int64_t begin_ns = database_number(&rows, 0, 0);

		if (begin_ns > ZERO_NS && begin_ns <= INT64_MAX / 2)
			reader->file->wall_offset_ns = begin_ns - ZERO_NS;
	}
	database_end(&rows);
	/* startTime and stopTime are of another clock: in event times, startTime is 0 */
	rows = database_select(&reader->base, "ANALYSIS_DETAILS", span, COUNT(span));
	while (database_next(&rows)) {
		length_ns = database_number(&rows, 0, 0);
		if (length_ns <= 0)
			length_ns = length_of(database_number(&rows, 1, 0), database_number(&rows, 2, 0));
		if (length_ns > 0 && length_ns <= NS_MAX && (uint64_t)length_ns + ZERO_NS > reader->file->end_ns) {
			reader->file->start_ns = ZERO_NS;
			reader->file->end_ns = (uint64_t)length_ns + ZERO_NS;
		}
	}
}

/* ---- processes, threads and GPUs --------------------------------------------------------------------------------- */

static void read_processes(struct database_reader *reader)
{
	static const char *const columns[] = {"globalPid", "pid", "name", "command"};
	static const char *const of_threads[] = {"globalTid", "nameId"};
	struct database_rows rows = database_select(&reader->base, "PROCESSES", columns, COUNT(columns));
	/* gputrace's files also list processes without CUDA calls */
	bool has_commands = database_has_column(&reader->base, "PROCESSES", "command");
	struct foreign_file *file = reader->file;

	while (database_next(&rows)) {
		uint32_t pid = database_small(&rows, 1, database_pid(database_number(&rows, 0, 0)));
		struct text name = database_text(&rows, 2);

		if (pid && name.size)
			foreign_name(file, pid, FOREIGN_PROCESS, rows_text(&file->rows, name.bytes, name.size));
		name = database_text(&rows, 3);
		if (pid && has_commands && file->processes.count < DATABASE_PROCESSES_MAX)
			foreign_process(file, pid)->command = rows_text(&file->rows, name.bytes, name.size);
	}
	rows = database_select(&reader->base, "ThreadNames", of_threads, COUNT(of_threads));
	while (database_next(&rows)) {
		int64_t thread = database_number(&rows, 0, 0);
		uint32_t text = database_string_text(reader, database_number(&rows, 1, DATABASE_NONE));

		if (database_pid(thread) && database_tid(thread) && text != ROW_NO_TEXT)
			foreign_name(file, database_pid(thread), database_tid(thread), text);
	}
}

static const char *const device_columns[DATABASE_DEVICE_COLUMNS] = {
	[DATABASE_DEVICE_ID] = "id",
	[DATABASE_DEVICE_NAME] = "name",
	[DATABASE_DEVICE_UUID] = "uuid",
	[DATABASE_DEVICE_MEMORY] = "totalMemory",
	[DATABASE_DEVICE_SMS] = "smCount",
	[DATABASE_DEVICE_MAJOR] = "computeMajor",
	[DATABASE_DEVICE_MINOR] = "computeMinor",
	[DATABASE_DEVICE_WARP] = "threadsPerWarp",
	[DATABASE_DEVICE_WARPS] = "maxWarpsPerSm",
	[DATABASE_DEVICE_BLOCKS] = "maxBlocksPerSm",
	[DATABASE_DEVICE_THREADS] = "maxThreadsPerBlock",
	[DATABASE_DEVICE_SM_REGISTERS] = "maxRegistersPerSm",
	[DATABASE_DEVICE_REGISTERS] = "maxRegistersPerBlock",
	[DATABASE_DEVICE_SM_SHARED] = "maxShmemPerSm",
	[DATABASE_DEVICE_SHARED] = "maxShmemPerBlock",
};

static const struct foreign_device *gpu_by_id(const struct foreign_file *file, size_t count, uint32_t id)
{
	return find_item(file->devices.items, count, item, item->device.id == id);
}

/* Replaces the system's numbers of GPUs by CUDA's, if they differ: a program may see only some of the GPUs. */
static void renumber_gpus(struct database_reader *reader)
{
	static const char *const columns[] = {"gpuId", "cudaId"};
	struct database_rows rows = database_select(&reader->base, "TARGET_INFO_CUDA_DEVICE", columns, COUNT(columns));
	struct foreign_file *file = reader->file;
	size_t count = file->devices.count;

	while (database_next(&rows)) {
		uint32_t id = database_small(&rows, 1, UINT32_MAX);
		const struct foreign_device *gpu = gpu_by_id(file, count, database_small(&rows, 0, UINT32_MAX));
		struct foreign_device found;
		bool known = false;

		for (size_t i = count; i < file->devices.count; i++)
			known |= file->devices.items[i].device.id == id;
		if (!gpu || id == UINT32_MAX || known || file->devices.count >= 2 * (size_t)DATABASE_DEVICES_MAX)
			continue;
		found = *gpu;
		found.device.id = id;
		array_push(&file->devices, found);
	}
	if (file->devices.count == count)
		return;
	file->devices.count -= count;
	memmove(file->devices.items, file->devices.items + count, file->devices.count * sizeof(*file->devices.items));
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

enum {
	FRAME_STACK,
	FRAME_FUNCTION,
	FRAME_FILE,
	FRAME_DEPTH,
	FRAME_LINE,
	FRAME_FIRST_LINE,
	FRAME_COLUMNS,
};

/* Rows of a stack follow each other, innermost first; false: this row has no place in it. */
static bool add_frame(struct database_reader *reader, struct lookup *codes, const struct database_rows *rows)
{
	struct foreign_file *file = reader->file;
	int64_t id = database_number(rows, FRAME_STACK, DATABASE_NONE), depth = database_number(rows, FRAME_DEPTH, -1);
	struct foreign_code code = {
		.function = database_string_text(reader, database_number(rows, FRAME_FUNCTION, DATABASE_NONE)),
		.file = database_string_text(reader, database_number(rows, FRAME_FILE, DATABASE_NONE)),
		.first_line = database_small(rows, FRAME_FIRST_LINE, 0),
	};
	struct foreign_stack *last;
	uint32_t *index, *known;

	if (id == DATABASE_NONE || file->frames.count >= FRAMES_MAX)
		return false;
	index = lookup_put(&reader->stack_lookup, 1, (uint64_t)id, (uint32_t)file->stacks.count);
	if (*index == file->stacks.count)
		array_push(&file->stacks, ((struct foreign_stack){.first = (uint32_t)file->frames.count}));
	last = &file->stacks.items[*index];
	if (*index + 1 != file->stacks.count || depth != last->depth)
		return false;
	known = lookup_put(codes, code.function == UINT32_MAX ? code.function : code.function + 1,
			   (uint64_t)code.file << 32 | code.first_line, (uint32_t)file->codes.count);
	if (*known == file->codes.count)
		array_push(&file->codes, code);
	array_push(&file->frames, ((struct foreign_frame){*known, database_small(rows, FRAME_LINE, 0)}));
	last->depth++;
	return true;
}

/* nsys has native stacks there, without lines; gputrace has Python's. */
static void read_stacks(struct database_reader *reader)
{
	static const char *const columns[FRAME_COLUMNS] = {"id", "symbol", "module", "stackDepth", "line", "firstLine"};
	struct database_rows rows = {.statement = NULL};
	struct lookup codes = {0};

	if (!database_has_column(&reader->base, "CUDA_CALLCHAINS", "line"))
		return;
	rows = database_select(&reader->base, "CUDA_CALLCHAINS", columns, FRAME_COLUMNS);
	while (database_next(&rows))
		if (!add_frame(reader, &codes, &rows))
			reader->file->bad[BAD_VALUE]++;
	lookup_free(&codes);
}

/* ---- managed memory ---------------------------------------------------------------------------------------------- */

/* Whether the text has the word, which is in lower case. */
static bool text_has(struct text text, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= text.size; i++)
		if (!strncasecmp(text.bytes + i, word, length))
			return true;
	return false;
}

static enum model_migration migration_named(struct text name)
{
	static const struct {
		const char *word;
		enum model_migration cause;
	} words[] = {
		{"user", MODEL_MIGRATION_USER},	       {"coheren", MODEL_MIGRATION_COHERENCE},
		{"fault", MODEL_MIGRATION_COHERENCE},  {"evict", MODEL_MIGRATION_EVICTION},
		{"counter", MODEL_MIGRATION_COUNTERS}, {"prefetch", MODEL_MIGRATION_PREFETCH},
	};

	return value_of_first(COUNT(words), i, text_has(name, words[i].word), words[i].cause, MODEL_MIGRATION_UNKNOWN);
}

/* What migrationCause means is in a table of the file; in a file without it the numbers are CUPTI's. */
static void read_migrations(struct database_reader *reader)
{
	static const char *const columns[] = {"id", "name"};
	struct database_rows rows =
		database_select(&reader->base, "ENUM_CUDA_UNIF_MEM_MIGRATION", columns, COUNT(columns));
	bool has_table = database_has(&reader->base, "ENUM_CUDA_UNIF_MEM_MIGRATION");

	for (unsigned i = 0; i < MODEL_MIGRATIONS; i++)
		reader->migrations[i] = has_table ? MODEL_MIGRATION_UNKNOWN : (uint8_t)i;
	while (database_next(&rows)) {
		uint32_t number = database_small(&rows, 0, MODEL_MIGRATIONS);

		if (number < MODEL_MIGRATIONS)
			reader->migrations[number] = (uint8_t)migration_named(database_text(&rows, 1));
	}
}

/* The copies that they cause are in the table of copies; a fault itself is no work of the GPU. */
static void note_page_faults(struct database_reader *reader)
{
	static const char *const tables[] = {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", "CUDA_UM_GPU_PAGE_FAULT_EVENTS"};
	static const char *const columns[] = {"start"};

	for (size_t i = 0; i < COUNT(tables); i++) {
		struct database_rows rows = database_select(&reader->base, tables[i], columns, COUNT(columns));
		uint64_t count = 0;

		while (database_next(&rows))
			count++;
		if (count)
			foreign_note(reader->file,
				     xasprintf("%llu row%s of %s not read: of page faults of managed memory the file's "
					       "copies are known, not the faults",
					       (unsigned long long)count, count == 1 ? "" : "s", tables[i]));
	}
}

/* ---- memory of CUDA ---------------------------------------------------------------------------------------------- */

enum {
	MEMORY_TIME,
	MEMORY_END,
	MEMORY_PROCESS,
	MEMORY_DEVICE,
	MEMORY_ADDRESS,
	MEMORY_BYTES,
	MEMORY_KIND,
	MEMORY_OPERATION,
	MEMORY_CORR,
	MEMORY_COLUMNS,
};

static void read_memory(struct database_reader *reader)
{
	static const char *const columns[MEMORY_COLUMNS] = {
		[MEMORY_TIME] = "start",	 [MEMORY_END] = "start",
		[MEMORY_PROCESS] = "globalPid",	 [MEMORY_DEVICE] = "deviceId",
		[MEMORY_ADDRESS] = "address",	 [MEMORY_BYTES] = "bytes",
		[MEMORY_KIND] = "memKind",	 [MEMORY_OPERATION] = "memoryOperationType",
		[MEMORY_CORR] = "correlationId",
	};
	struct database_rows rows =
		database_select(&reader->base, "CUDA_GPU_MEMORY_USAGE_EVENTS", columns, MEMORY_COLUMNS);

	while (database_next(&rows) && !reader->file->rows.error) {
		struct row_cuda_memory memory = {.row = {.text = ROW_NO_TEXT, .kind = ROW_CUDA_MEMORY}};
		int64_t kind = database_number(&rows, MEMORY_KIND, -1),
			bytes = database_number(&rows, MEMORY_BYTES, -1);
		bool ended;

		if (!database_span(reader, &rows, MEMORY_TIME, MEMORY_END, &memory.row, &ended))
			continue;
		memory.row.pid = database_pid(database_number(&rows, MEMORY_PROCESS, 0));
		memory.row.corr = database_small(&rows, MEMORY_CORR, 0);
		if (bytes < 0 || !memory.row.pid) {
			reader->file->bad[bytes < 0 ? BAD_VALUE : BAD_OWNER]++;
			continue;
		}
		foreign_process(reader->file, memory.row.pid);
		memory.memory = (struct gpt_agent_memory){
			.operation = database_number(&rows, MEMORY_OPERATION, 0) == 1 ? GPT_AGENT_MEMORY_RELEASED
										      : GPT_AGENT_MEMORY_ALLOCATED,
			.address = (uint64_t)database_number(&rows, MEMORY_ADDRESS, 0),
			.bytes = (uint64_t)bytes,
			.device = database_small(&rows, MEMORY_DEVICE, 0),
			.kind = kind >= 0 && kind < 16 ? (uint32_t)kind + reader->first_memory_kind : 0,
		};
		rows_add(&reader->file->rows, &memory.row, sizeof(memory));
	}
	database_end(&rows);
}

/* ------------------------------------------------------------------------------------------------------------------ */

void nsys_read(struct database_reader *reader)
{
	reader->zero_ns = ZERO_NS;
	reader->first_memory_kind = 1;
	database_read_strings(reader, "StringIds", "id");
	read_export(reader);
	read_system(reader);
	read_session(reader);
	read_processes(reader);
	database_read_gpus(reader, "TARGET_INFO_GPU", device_columns);
	renumber_gpus(reader);
	read_stacks(reader);
	read_migrations(reader);
	database_read_calls(reader, "CUPTI_ACTIVITY_KIND_RUNTIME", GPT_DOMAIN_RUNTIME);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_KERNEL", MODEL_KERNEL);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_MEMCPY", MODEL_MEMCPY);
	database_read_gpu_work(reader, "CUPTI_ACTIVITY_KIND_MEMSET", MODEL_MEMSET);
	database_read_graphs(reader, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
	database_read_syncs(reader, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
	read_memory(reader);
	note_page_faults(reader);
	nsys_read_ranges(reader);
}
