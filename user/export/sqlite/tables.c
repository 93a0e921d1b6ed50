/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that explain the numbers in the others: names, processes, threads, devices, stacks, enumerations. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "export/sqlite/file.h"

static const struct {
	const char *name, *columns;
} tables[SQLITE_TABLE_COUNT] = {
#define TABLE(enumerator, name, columns) [SQLITE_##enumerator] = {name, columns},
	SQLITE_TABLES(TABLE)
#undef TABLE
};

static unsigned columns_of(const char *columns)
{
	unsigned count = 1;

	for (; *columns; columns++)
		count += *columns == ',';
	return count;
}

static void make_table(struct database *base, enum sqlite_table table)
{
	char *statement = xasprintf("CREATE TABLE %s (%s)", tables[table].name, tables[table].columns), *values;
	unsigned count = columns_of(tables[table].columns);
	int result = sqlite3_exec(base->handle, statement, NULL, NULL, NULL);

	free(statement);
	values = xcalloc(count, 2);
	for (unsigned i = 0; i < count; i++) {
		values[2 * i] = '?';
		values[2 * i + 1] = i + 1 < count ? ',' : 0;
	}
	statement = xasprintf("INSERT INTO %s VALUES (%s)", tables[table].name, values);
	if (result == SQLITE_OK)
		result = sqlite3_prepare_v3(base->handle, statement, -1, SQLITE_PREPARE_PERSISTENT,
					    &base->inserts[table], NULL);
	if (result != SQLITE_OK && !base->result)
		base->result = result;
	free(statement);
	free(values);
}

void sqlite_make_tables(struct database *base)
{
	for (int i = 0; i < SQLITE_TABLE_COUNT && !base->result; i++)
		make_table(base, (enum sqlite_table)i);
}

/* ---- enumerations ---------------------------------------------------------------------------------------------------
 */

struct enumerated {
	uint32_t id;
	const char *name, *label;
};

static void put_enumeration(struct database *base, enum sqlite_table table, const struct enumerated *rows)
{
	for (; rows->name; rows++) {
		row_number(base, table, rows->id);
		row_text(base, table, rows->name);
		row_text(base, table, rows->label);
		row_end(base, table);
	}
}

void sqlite_put_enumerations(struct database *base)
{
	static const struct enumerated copies[] = {
		{0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
		{1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
		{2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
		{3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"},
		{4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"},
		{5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"},
		{6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"},
		{7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"},
		{8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
		{9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
		{10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
		{11, "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"},
		{12, "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"},
		{13, "CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device"},
		{0, NULL, NULL},
	};
	static const struct enumerated memories[] = {
		{0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
		{1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
		{2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
		{3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
		{4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
		{5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
		{6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
		{0, NULL, NULL},
	};
	static const struct enumerated syncs[] = {
		{1, "CUPTI_SYNC_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
		{2, "CUPTI_SYNC_TYPE_STREAM_WAIT_EVENT", "Stream wait event"},
		{3, "CUPTI_SYNC_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
		{4, "CUPTI_SYNC_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"},
		{0, NULL, NULL},
	};

	if (base->result)
		return;
	put_enumeration(base, SQLITE_COPY_KINDS, copies);
	put_enumeration(base, SQLITE_MEMORY_KINDS, memories);
	put_enumeration(base, SQLITE_SYNC_KINDS, syncs);
}

/* ---- when all events are there --------------------------------------------------------------------------------------
 */

static void put_processes(struct database *base, const struct model *model)
{
	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];

		if (base->process >= 0 && i != (uint32_t)base->process)
			continue;
		row_number(base, SQLITE_PROCESSES, global_pid(process->pid));
		row_number(base, SQLITE_PROCESSES, process->pid);
		row_text(base, SQLITE_PROCESSES, process->name);
		row_text(base, SQLITE_PROCESSES, process->cmdline ? process->cmdline : "");
		row_end(base, SQLITE_PROCESSES);
	}
	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		if (base->process >= 0 && thread->process != (uint32_t)base->process)
			continue;
		row_number(base, SQLITE_THREADS, string_id(base, thread->name));
		row_skip(base, 1);
		row_number(base, SQLITE_THREADS, global_tid(model->processes[thread->process].pid, thread->tid));
		row_end(base, SQLITE_THREADS);
	}
}

static void put_devices(struct database *base, const struct model *model)
{
	for (uint32_t i = 0; i < model->device_count; i++) {
		const struct model_device *device = &model->devices[i];
		const uint32_t numbers[] = {
			device->compute_major,
			device->compute_minor,
			device->warp_size,
			device->warp_size ? device->max_threads_per_multiprocessor / device->warp_size : 0,
			device->max_blocks_per_multiprocessor,
			device->max_threads_per_block,
			device->max_registers_per_multiprocessor,
			device->max_registers_per_block,
			device->max_shared_per_multiprocessor,
			device->max_shared_per_block,
		};
		char uuid[2 * sizeof(device->uuid) + 1];

		for (size_t k = 0; k < sizeof(device->uuid); k++)
			snprintf(uuid + 2 * k, 3, "%02x", device->uuid[k]);
		row_number(base, SQLITE_GPUS, device->id);
		row_text(base, SQLITE_GPUS, device->name);
		row_number(base, SQLITE_GPUS, device->memory_bytes);
		row_number(base, SQLITE_GPUS, device->multiprocessors);
		row_text(base, SQLITE_GPUS, uuid);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			row_number(base, SQLITE_GPUS, numbers[k]);
		row_end(base, SQLITE_GPUS);
	}
}

/* Python frames in place of native ones, 0 the innermost. */
static void put_stacks(struct database *base, const struct model *model)
{
	for (size_t i = 0; i < base->stacks.count; i++) {
		uint32_t index = base->stacks.entries[i].key.part[0];
		const struct model_stack *stack = &model->stacks[index];

		for (uint32_t k = 0; k < stack->depth && !base->result; k++) {
			const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + k]];
			const struct model_code *code = &model->codes[frame->code];

			row_number(base, SQLITE_STACKS, index + 1ull);
			row_number(base, SQLITE_STACKS, string_id(base, code->name));
			row_number(base, SQLITE_STACKS, string_id(base, code->file));
			row_number(base, SQLITE_STACKS, !code->described);
			row_skip(base, 1);
			row_number(base, SQLITE_STACKS, k);
			row_number_unless(base, SQLITE_STACKS, frame->line, 0);
			row_number_unless(base, SQLITE_STACKS, code->first_line, 0);
			row_end(base, SQLITE_STACKS);
		}
	}
}

static void put_strings(struct database *base)
{
	for (uint32_t i = 0; i < base->texts.at.count && !base->result; i++) {
		row_number(base, SQLITE_STRINGS, i + 1ull);
		row_text(base, SQLITE_STRINGS, texts_at(&base->texts, i));
		row_end(base, SQLITE_STRINGS);
	}
}

static void put_session(struct database *base, const struct model *model)
{
	uint64_t wall = base->start_ns + (uint64_t)model_source(model)->wall_offset_ns;
	uint64_t duration = model->end_ns > base->start_ns ? model->end_ns - base->start_ns : 0;
	time_t seconds = (time_t)(wall / 1000000000);
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	row_number(base, SQLITE_SESSION, wall);
	row_text(base, SQLITE_SESSION, text);
	row_skip(base, 1);
	row_end(base, SQLITE_SESSION);

	row_number(base, SQLITE_DETAILS, 0);
	row_number(base, SQLITE_DETAILS, duration);
	row_number(base, SQLITE_DETAILS, 0);
	row_number(base, SQLITE_DETAILS, duration);
	row_end(base, SQLITE_DETAILS);
}

static void put_meta(struct database *base, const char *name, const char *value)
{
	row_text(base, SQLITE_META, name);
	row_text(base, SQLITE_META, value);
	row_end(base, SQLITE_META);
}

void sqlite_put_tables(struct database *base, const struct model *model)
{
	const struct model_source *source = model_source(model);
	char complete[32];

	put_processes(base, model);
	put_devices(base, model);
	put_stacks(base, model);
	put_strings(base);
	put_session(base, model);
	snprintf(complete, sizeof(complete), "%u.%03u", model_completeness(model) / 1000,
		 model_completeness(model) % 1000);
	put_meta(base, "EXPORTER", "gputrace " GPUTRACE_VERSION);
	put_meta(base, "EXPORT_SCHEMA_VERSION", "3.16"); /* nsys' version, as far as tables are the same */
	if (model_is_foreign(model))
		put_meta(base, "RECORDED_BY", source->tool); /* after EXPORTER, which says that it is gputrace's word */
	put_meta(base, "HOST", source->host);
	put_meta(base, "TARGET", source->target);
	put_meta(base, "COMPLETE_PERCENT", complete);
}
