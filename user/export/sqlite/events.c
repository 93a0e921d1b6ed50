/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the events of a part of a trace as rows. */
#include <string.h>

#include "export/sqlite/file.h"

/* eventType of NVTX_EVENTS. */
enum {
	NVTX_MARK = 34,
	NVTX_PUSH_POP = 59,
	NVTX_START_END = 60,
	NVTX_DOMAIN = 75,
};

/* eventClass */
enum {
	CLASS_RUNTIME = 0,
	CLASS_DRIVER = 1,
};

static bool is_wanted(const struct database *base, uint32_t process)
{
	return base->process < 0 || process == (uint32_t)base->process;
}

static void put_calls(struct database *base, const struct model *part)
{
	for (uint32_t i = part->calls_in_part.from;
	     i < in_part_end(&part->calls_in_part, part->call_count) && !base->result; i++) {
		const struct model_call *call = &part->calls[i];
		const struct model_thread *thread = &part->threads[call->thread];

		if (!is_wanted(base, thread->process) || call->number == CALL_OUTSIDE)
			continue;
		row_number(base, SQLITE_CALLS, since_start(base, call->start_ns));
		row_number_if(base, SQLITE_CALLS, call->end_ns, since_start(base, call->end_ns));
		row_number(base, SQLITE_CALLS, api_is_of_driver(call->api) ? CLASS_DRIVER : CLASS_RUNTIME);
		row_number(base, SQLITE_CALLS, global_tid(part->processes[thread->process].pid, thread->tid));
		row_number_unless(base, SQLITE_CALLS, call->corr, 0);
		row_number(base, SQLITE_CALLS, string_id(base, api_name(call->api)));
		row_number_if(base, SQLITE_CALLS, call->end_ns, (uint64_t)(int64_t)call->result);
		if (call->stack != NONE)
			tally_at(&base->stacks, (struct tally_key){{call->stack}});
		row_number_if(base, SQLITE_CALLS, call->stack != NONE, call->stack + 1ull);
		row_number_unless(base, SQLITE_CALLS, call->captured, 0);
		row_number_unless(base, SQLITE_CALLS, call->stack_state == GPT_STACK_BACKWARD, 0);
		row_end(base, SQLITE_CALLS);
	}
}

/* ---- GPU operations -------------------------------------------------------------------------------------------------
 */

/* "void a::b::kernel<int>(float*)" is "kernel". */
static uint64_t bare_name(struct database *base, const char *whole)
{
	static const char anonymous[] = "(anonymous namespace)::";
	const char *begin = whole, *end, *skipped;
	AUTO_FREE char *copy = NULL;

	while ((skipped = strstr(begin, anonymous)))
		begin = skipped + sizeof(anonymous) - 1;
	end = begin + strcspn(begin, "<(");
	if (end == begin) /* the name has another form */
		return string_id(base, whole);
	for (const char *at = begin; at < end; at++)
		if (*at == ' ' || *at == ':')
			begin = at + 1;
	copy = xasprintf("%.*s", (int)(end - begin), begin);
	return string_id(base, *copy ? copy : whole);
}

static struct kernel_names names_of(struct database *base, const struct model *part, uint32_t name)
{
	const char *text = name != NONE ? part->strings[name] : "?";
	struct kernel_names *names;

	if (name == NONE)
		return (struct kernel_names){(uint32_t)string_id(base, text), (uint32_t)string_id(base, text)};
	while (base->kernels.count <= name)
		array_push(&base->kernels, ((struct kernel_names){0}));
	names = &base->kernels.items[name];
	if (!names->whole)
		*names = (struct kernel_names){(uint32_t)string_id(base, text), (uint32_t)bare_name(base, text)};
	return *names;
}

/* The first columns of the three tables. */
static void put_place(struct database *base, enum sqlite_table table, const struct model *part,
		      const struct model_gpu *op)
{
	row_number(base, table, since_start(base, op->start_ns));
	row_number(base, table, since_start(base, op->end_ns));
	row_number(base, table, op->device);
	row_number(base, table, op->context);
	row_skip(base, 1); /* greenContextId */
	row_number(base, table, op->stream);
	row_number_unless(base, table, op->corr, 0);
	row_number(base, table, global_pid(part->processes[op->process].pid));
}

/* Their last columns, which are gputrace's own. */
static void put_graph(struct database *base, enum sqlite_table table, const struct model *part,
		      const struct model_gpu *op)
{
	row_number_unless(base, table, op->graph, 0);
	row_number_unless(base, table, op->captured_by == NONE ? 0 : part->calls[op->captured_by].corr, 0);
}

/* unknown: the number is NULL if the source did not report it. */
static void row_number_of(struct database *base, enum sqlite_table table, const struct model_gpu *op,
			  enum model_gpu_unknown unknown, uint64_t value)
{
	row_number_if(base, table, !(op->unknown & unknown), value);
}

static void put_kernel(struct database *base, const struct model *part, const struct model_gpu *op)
{
	const enum sqlite_table table = SQLITE_KERNELS;
	struct kernel_names names = names_of(base, part, op->name);

	put_place(base, table, part, op);
	row_number(base, table, names.whole);
	row_number(base, table, names.bare);
	row_skip(base, 3); /* mangledName, launchType, cacheConfig */
	row_number_of(base, table, op, MODEL_GPU_NO_REGISTERS, op->registers);
	for (int i = 0; i < 3; i++)
		row_number_of(base, table, op, MODEL_GPU_NO_LAUNCH, op->grid[i]);
	for (int i = 0; i < 3; i++)
		row_number_of(base, table, op, MODEL_GPU_NO_LAUNCH, op->block[i]);
	row_number_of(base, table, op, MODEL_GPU_NO_STATIC_SHARED, op->static_shared_bytes);
	row_number_of(base, table, op, MODEL_GPU_NO_DYNAMIC_SHARED, op->dynamic_shared_bytes);
	row_number_of(base, table, op, MODEL_GPU_NO_LOCAL, op->local_bytes);
	row_skip(base, 3); /* localMemoryTotal, gridId, sharedMemoryExecuted */
	row_number_unless(base, table, op->graph_node, 0);
	row_skip(base, 1); /* sharedMemoryLimitConfig */
	put_graph(base, table, part, op);
	row_end(base, table);
}

/* CUPTI has one more kind at the start: not known. */
static void put_memory_kind(struct database *base, enum sqlite_table table, uint32_t kind)
{
	row_number_unless(base, table, (uint64_t)kind - 1, UINT64_MAX);
}

static void put_memcpy(struct database *base, const struct model *part, const struct model_gpu *op)
{
	const enum sqlite_table table = SQLITE_MEMCPYS;

	put_place(base, table, part, op);
	row_number_of(base, table, op, MODEL_GPU_NO_BYTES, op->bytes);
	row_number(base, table, op->memcpy_kind);
	row_skip(base, 1); /* deprecatedSrcId */
	put_memory_kind(base, table, op->from);
	put_memory_kind(base, table, op->to);
	row_skip(base, 4); /* devices and contexts of both sides */
	row_number_unless(base, table, op->migration, MODEL_MIGRATION_UNKNOWN);
	row_number_unless(base, table, op->graph_node, 0);
	row_skip(base, 1); /* virtualAddress */
	put_graph(base, table, part, op);
	row_end(base, table);
}

static void put_memset(struct database *base, const struct model *part, const struct model_gpu *op)
{
	const enum sqlite_table table = SQLITE_MEMSETS;

	put_place(base, table, part, op);
	row_skip(base, 1); /* value */
	row_number_of(base, table, op, MODEL_GPU_NO_BYTES, op->bytes);
	row_number_unless(base, table, op->graph_node, 0);
	put_memory_kind(base, table, op->to);
	put_graph(base, table, part, op);
	row_end(base, table);
}

static void put_operations(struct database *base, const struct model *part)
{
	for (uint32_t i = part->gpu_in_part.from; i < in_part_end(&part->gpu_in_part, part->gpu_count) && !base->result;
	     i++) {
		const struct model_gpu *op = &part->gpu[i];

		if (!is_wanted(base, op->process) || (!op->start_ns && !op->end_ns))
			continue;
		if (op->kind == MODEL_KERNEL)
			put_kernel(base, part, op);
		else if (op->kind == MODEL_MEMCPY)
			put_memcpy(base, part, op);
		else
			put_memset(base, part, op);
	}
}

/* ---- the others -----------------------------------------------------------------------------------------------------
 */

static void put_syncs(struct database *base, const struct model *part)
{
	const enum sqlite_table table = SQLITE_SYNCS;

	for (uint32_t i = part->syncs_in_part.from;
	     i < in_part_end(&part->syncs_in_part, part->sync_count) && !base->result; i++) {
		const struct model_sync *sync = &part->syncs[i];

		if (!is_wanted(base, sync->process))
			continue;
		row_number(base, table, since_start(base, sync->start_ns));
		row_number(base, table, since_start(base, sync->end_ns));
		row_number_unless(base, table, sync->device, NONE);
		row_number(base, table, sync->context);
		row_skip(base, 1); /* greenContextId */
		row_number_unless(base, table, sync->stream, NONE);
		row_number_unless(base, table, sync->corr, 0);
		row_number(base, table, global_pid(part->processes[sync->process].pid));
		row_number(base, table, sync->kind);
		row_number_unless(base, table, sync->event, NONE);
		row_end(base, table);
	}
}

static void put_memories(struct database *base, const struct model *part)
{
	const enum sqlite_table table = SQLITE_MEMORY;

	for (uint32_t i = part->memories_in_part.from;
	     i < in_part_end(&part->memories_in_part, part->memory_count) && !base->result; i++) {
		const struct model_memory *memory = &part->memories[i];

		if (!is_wanted(base, memory->process))
			continue;
		row_number(base, table, since_start(base, memory->time_ns));
		row_number(base, table, global_pid(part->processes[memory->process].pid));
		row_number(base, table, memory->device);
		row_skip(base, 1); /* contextId */
		row_number(base, table, memory->address);
		row_skip(base, 1); /* pc */
		row_number(base, table, memory->bytes);
		put_memory_kind(base, table, memory->kind);
		row_number(base, table, memory->released);
		row_number_unless(base, table, memory->corr, 0);
		row_skip(base, 1); /* streamId */
		row_end(base, table);
	}
}

static void put_range(struct database *base, uint64_t start_ns, uint64_t end_ns, uint32_t type, const char *text,
		      uint64_t thread, uint64_t domain, uint64_t number)
{
	const enum sqlite_table table = SQLITE_RANGES;

	row_number(base, table, since_start(base, start_ns));
	row_number_if(base, table, type == NVTX_PUSH_POP || type == NVTX_START_END, since_start(base, end_ns));
	row_number(base, table, type);
	row_number_if(base, table, type == NVTX_START_END, number);
	row_skip(base, 2); /* category, color */
	row_text(base, table, text);
	row_number_unless(base, table, thread, 0);
	row_skip(base, 2); /* endGlobalTid, textId */
	row_number(base, table, domain);
	row_skip(base, 9); /* payload */
	row_end(base, table);
}

/* The number of a domain; its row is written before its first range.  0: the default domain. */
static uint64_t domain_of(struct database *base, const struct model *part, const struct model_span *range)
{
	struct tally_entry *entry;
	uint64_t number;

	if (range->domain == NONE)
		return 0;
	entry = tally_at(&base->domains, (struct tally_key){{range->domain}});
	number = (uint64_t)(entry - base->domains.entries) + 1;
	if (!entry->count++)
		put_range(base, range->start_ns, 0, NVTX_DOMAIN, part->strings[range->domain], 0, number, 0);
	return number;
}

/* Ranges are written in the part in which they end. */
static void put_ranges(struct database *base, const struct model *part)
{
	for (uint32_t i = 0; i < part->range_count && !base->result; i++) {
		const struct model_span *range = &part->ranges[i];
		const struct model_thread *thread = &part->threads[range->thread];
		uint32_t type = range->kind == MODEL_SPAN_MARK	   ? NVTX_MARK
				: range->kind == MODEL_SPAN_PUSHED ? NVTX_PUSH_POP
								   : NVTX_START_END;

		if (!is_wanted(base, thread->process) || range->open)
			continue;
		put_range(base, range->start_ns, range->end_ns, type,
			  range->name != NONE ? part->strings[range->name] : "",
			  global_tid(part->processes[thread->process].pid, thread->tid), domain_of(base, part, range),
			  range->number);
	}
}

void sqlite_put_part(struct database *base, const struct model *part)
{
	if (base->result)
		return;
	put_calls(base, part);
	put_operations(base, part);
	put_syncs(base, part);
	put_memories(base, part);
	put_ranges(base, part);
}
