/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Batches of the agents, taken apart.  Everything in them is written by the target: hostile. */
#include "model/agent_batch.h"

#include <string.h>

#include <gputrace/losses.h>
#include <gputrace/walk.h>

#include "model/device_table.h"

/*
 * An agent's clock sample further than this from the batch that brought it is not CLOCK_MONOTONIC of this
 * machine (a time namespace shifts it): the collector's samples are used instead.
 */
#define SAMPLE_AGE_MAX_NS (600ull * 1000000000)

#define MEMCPY_KIND_MAX 10 /* CUPTI_ACTIVITY_MEMCPY_KIND_PTOP (cupti_activity.h, 13.0) */
#define MEMORY_KIND_MAX 7  /* CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC */

/* Whom a batch is about. */
struct sender {
	uint32_t process, space;
	uint64_t time_ns; /* when the batch was copied */
	uint16_t flags;	  /* GPT_BATCH_* */
};

/* A time of GPU work, which join.c converts. */
static uint64_t time_of(const struct sender *sender, uint64_t ns)
{
	return ns && (sender->flags & GPT_BATCH_MONOTONIC) ? ns | WALL_CLOCK_MONOTONIC : ns;
}

void agents_init(struct agents *agents, struct process_table *processes, struct calls *calls,
		 struct api_activities *api_activities, struct wall_clock *clock, struct string_pool *strings,
		 uint64_t seed)
{
	memset(agents, 0, sizeof(*agents));
	agents->processes = processes;
	agents->calls = calls;
	agents->api_activities = api_activities;
	agents->clock = clock;
	agents->strings = strings;
	lookup_init(&agents->names, seed);
	lookup_init(&agents->devices_by_id, seed);
	lookup_init(&agents->contexts, seed);
	lookup_init(&agents->stream_keys, seed);
	lookup_init(&agents->node_calls, seed);
	lookup_init(&agents->node_clones, seed);
	ranges_init(&agents->ranges, processes, strings, seed);
}

void agents_free(struct agents *agents)
{
	array_free(&agents->early);
	array_free(&agents->syncs);
	array_free(&agents->events);
	lookup_free(&agents->names);
	lookup_free(&agents->devices_by_id);
	lookup_free(&agents->contexts);
	lookup_free(&agents->stream_keys);
	array_free(&agents->streams);
	lookup_free(&agents->node_calls);
	lookup_free(&agents->node_clones);
	array_free(&agents->clone_sources);
	ranges_free(&agents->ranges);
}

static bool add_hello(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_hello *hello = (const struct gpt_agent_hello *)record;
	struct model_process *process = &agents->processes->list.items[sender->process];
	size_t at = 0, length;
	const char *field;
	bool listens = hello->state == GPT_AGENT_READY || hello->state == GPT_AGENT_BORROWING, tells_sets;

	if (hello->bytes > record->size - sizeof(*hello) || hello->state < GPT_AGENT_LOADED ||
	    hello->state > GPT_AGENT_BORROWING)
		return false;
	process->agent_state = hello->state;
	process->agent_failure =
		hello->failure <= GPT_AGENT_NO_RESOURCES ? hello->failure : (uint32_t)GPT_AGENT_CUPTI_ERROR;
	if (hello->state == GPT_AGENT_BORROWING && !process->borrowed_ns)
		process->borrowed_ns = sender->time_ns;
	if (process->borrowed_ns)
		process->borrowed_end_ns = hello->state == GPT_AGENT_BORROWING ? 0 : sender->time_ns;
	if (hello->cupti_version)
		process->cupti_version = hello->cupti_version;
	if (hello->driver_version)
		process->driver_version = hello->driver_version;
	if (hello->runtime_version)
		process->runtime_version = hello->runtime_version;
	field = text_field(hello->text, hello->bytes, &at, &length);
	if (length)
		process->cupti_path = string_keep(agents->strings, field, length);
	field = text_field(hello->text, hello->bytes, &at, &length);
	process->agent_detail = string_keep(agents->strings, field, length);
	tells_sets = at < hello->bytes;
	field = text_field(hello->text, hello->bytes, &at, &length);
	if (listens && !process->agent_ready_ns) {
		process->agent_ready_ns = sender->time_ns;
		process->agent_aside = tells_sets && !length;
	}
	if (listens && (length || !tells_sets))
		process->agent_activity_sets = string_keep(agents->strings, field, length);
	return true;
}

static bool add_name(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_name *name = (const struct gpt_agent_name *)record;
	uint32_t string;

	if (name->bytes > record->size - sizeof(*name) || !name->id)
		return false;
	string = string_intern_mangled(agents->strings, name->text, name->bytes);
	*lookup_put(&agents->names, sender->space, name->id, string) = string;
	return true;
}

static bool add_return(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_api *api = (const struct gpt_agent_api *)record;
	uint32_t call = calls_find(agents->calls, sender->space, api->corr), thread;

	if (call != NONE) {
		thread = agents->calls->list.items[call].thread;
		if (agents->processes->threads.items[thread].tid != api->tid)
			ranges_learn_tid(&agents->ranges, sender->space, api->tid, thread);
	}
	return calls_add_return(agents->calls, sender->space, api);
}

static bool add_range(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	return ranges_add(&agents->ranges, sender->process, sender->space, sender->time_ns, record);
}

static bool add_api_activity(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	struct gpt_agent_api_activity activity = *(const struct gpt_agent_api_activity *)record;

	activity.start_wall_ns = time_of(sender, activity.start_wall_ns);
	activity.end_wall_ns = time_of(sender, activity.end_wall_ns);
	return api_activities_add(agents->api_activities, sender->process, sender->space, &activity);
}

/* What all operations have in common; returns false, with nothing kept, for times that run backwards. */
static bool push_op(struct agents *agents, const struct sender *sender, struct model_gpu *op)
{
	uint32_t index = (uint32_t)agents->gpu.count;

	if (op->start_ns > op->end_ns)
		return false;
	op->captured_by = op->graph_node ? sender->space : NONE; /* until agents_finish */
	op->next = sender->space;				 /* the same */
	op->process = sender->process;
	op->foreign = (sender->flags & GPT_BATCH_FOREIGN) != 0;
	op->call = calls_find(agents->calls, sender->space, op->corr);
	if (op->call == NONE && op->corr) {
		struct early_gpu early = {.op = index, .space = sender->space};

		array_push(&agents->early, early);
	}
	array_push(&agents->gpu, *op);
	agents->processes->list.items[sender->process].gpu_ops++;
	return true;
}

static bool add_kernel(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_kernel *kernel = (const struct gpt_agent_kernel *)record;
	uint32_t *name = lookup_get(&agents->names, sender->space, kernel->name);
	struct model_gpu op = {.kind = MODEL_KERNEL,
			       .start_ns = time_of(sender, kernel->start_wall_ns),
			       .end_ns = time_of(sender, kernel->end_wall_ns),
			       .corr = kernel->corr,
			       .device = kernel->device,
			       .context = kernel->context,
			       .stream = kernel->stream,
			       .name = name ? *name : NONE,
			       .graph = kernel->graph,
			       .graph_node = kernel->graph_node,
			       .static_shared_bytes = kernel->static_shared_bytes,
			       .dynamic_shared_bytes = kernel->dynamic_shared_bytes,
			       .registers = kernel->registers,
			       .local_bytes = kernel->local_bytes_per_thread,
			       .channel = kernel->channel,
			       .channel_type = gpu_small(kernel->channel_type),
			       .priority = gpu_priority((uint32_t)kernel->priority)};

	for (int i = 0; i < 3; i++)
		op.cluster[i] = gpu_small(kernel->cluster[i]);
	memcpy(op.grid, kernel->grid, sizeof(op.grid));
	memcpy(op.block, kernel->block, sizeof(op.block));
	return push_op(agents, sender, &op);
}

static uint8_t memory_kind(uint32_t kind)
{
	return kind <= MEMORY_KIND_MAX ? (uint8_t)kind : 0;
}

static bool add_memcpy(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_memcpy *copy = (const struct gpt_agent_memcpy *)record;
	struct model_gpu op = {.kind = MODEL_MEMCPY,
			       .start_ns = time_of(sender, copy->start_wall_ns),
			       .end_ns = time_of(sender, copy->end_wall_ns),
			       .corr = copy->corr,
			       .device = copy->device,
			       .context = copy->context,
			       .stream = copy->stream,
			       .name = NONE,
			       .bytes = copy->bytes,
			       .graph = copy->graph,
			       .graph_node = copy->graph_node,
			       .channel = copy->channel,
			       .channel_type = gpu_small(copy->channel_type),
			       .memcpy_kind = copy->kind <= MEMCPY_KIND_MAX ? copy->kind : 0,
			       .from = memory_kind(copy->from),
			       .to = memory_kind(copy->to)};

	return push_op(agents, sender, &op);
}

static bool add_memset(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_memset *fill = (const struct gpt_agent_memset *)record;
	struct model_gpu op = {.kind = MODEL_MEMSET,
			       .start_ns = time_of(sender, fill->start_wall_ns),
			       .end_ns = time_of(sender, fill->end_wall_ns),
			       .corr = fill->corr,
			       .device = fill->device,
			       .context = fill->context,
			       .stream = fill->stream,
			       .name = NONE,
			       .bytes = fill->bytes,
			       .graph = fill->graph,
			       .graph_node = fill->graph_node,
			       .to = memory_kind(fill->memory)};

	return push_op(agents, sender, &op);
}

static bool add_overhead(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_overhead *event = (const struct gpt_agent_overhead *)record;
	struct model_overhead overhead = {.start_ns = time_of(sender, event->start_wall_ns),
					  .end_ns = time_of(sender, event->end_wall_ns),
					  .process = sender->process,
					  .kind = event->kind,
					  .tid = event->tid};

	if (overhead.start_ns > overhead.end_ns)
		return false;
	array_push(&agents->overheads, overhead);
	return true;
}

static bool add_jit(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_jit *event = (const struct gpt_agent_jit *)record;
	struct model_jit jit = {.start_ns = time_of(sender, event->start_wall_ns),
				.end_ns = time_of(sender, event->end_wall_ns),
				.bytes = event->bytes,
				.call = sender->space, /* until agents_finish */
				.process = sender->process,
				.tid = event->tid,
				.corr = event->corr,
				.operation = (uint8_t)event->operation,
				.entry = event->entry <= GPT_AGENT_JIT_NVVM_TO_PTX ? (uint8_t)event->entry : 0};

	if (jit.start_ns > jit.end_ns)
		return false;
	/* without times it tells nothing; an operation that is newer than this reader has no name */
	if (jit.end_ns && event->operation >= GPT_AGENT_JIT_CACHE_LOAD && event->operation <= GPT_AGENT_JIT_COMPILE)
		array_push(&agents->jits, jit);
	return true;
}

/* cudaErrorNotReady, CUDA_ERROR_NOT_READY (driver_types.h, cuda.h): a query that found the GPU still at work. */
#define CUDA_NOT_READY 600

static bool add_sync(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_sync *event = (const struct gpt_agent_sync *)record;
	struct agent_sync sync = {.start_ns = time_of(sender, event->start_wall_ns),
				  .end_ns = time_of(sender, event->end_wall_ns),
				  .event_record = event->event_record,
				  .process = sender->process,
				  .space = sender->space,
				  .corr = event->corr,
				  .kind = event->kind,
				  .context = event->context,
				  .stream = event->stream,
				  .event = event->event,
				  .result = event->result};

	if (sync.start_ns > sync.end_ns || sync.kind > GPT_AGENT_SYNC_CONTEXT)
		return false;
	if (sync.end_ns && sync.kind /* 0: CUPTI does not say */ && sync.result != CUDA_NOT_READY)
		array_push(&agents->syncs, sync);
	return true;
}

static bool add_event(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_event *event = (const struct gpt_agent_event *)record;
	struct agent_event recorded = {.event_record = event->event_record,
				       .process = sender->process,
				       .space = sender->space,
				       .corr = event->corr,
				       .context = event->context,
				       .stream = event->stream,
				       .event = event->event};

	array_push(&agents->events, recorded);
	return true;
}

static bool add_memory(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_memory *event = (const struct gpt_agent_memory *)record;
	struct model_memory memory = {.time_ns = time_of(sender, event->time_wall_ns),
				      .address = event->address,
				      .bytes = event->bytes,
				      .pool_bytes = event->pool_bytes,
				      .pool_used_bytes = event->pool_used_bytes,
				      .call = sender->space, /* until agents_finish */
				      .other = NONE,
				      .process = sender->process,
				      .device = event->device,
				      .corr = event->corr,
				      .kind = memory_kind(event->kind),
				      .released = event->operation == GPT_AGENT_MEMORY_RELEASED};

	/* no GPU has a PB; sums of sizes that a target made up must not run over */
	if (memory.bytes >= 1ull << 50)
		return false;
	if (event->operation == GPT_AGENT_MEMORY_ALLOCATED || memory.released)
		array_push(&agents->memories, memory);
	return true;
}

static bool add_graph_node(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_graph_node *node = (const struct gpt_agent_graph_node *)record;

	if (!node->node || (!node->source && !node->corr))
		return false;
	if (!node->source) {
		*lookup_put(&agents->node_calls, sender->space, node->node, 0) = node->corr;
		return true;
	}
	*lookup_put(&agents->node_clones, sender->space, node->node, 0) = (uint32_t)agents->clone_sources.count;
	array_push(&agents->clone_sources, node->source);
	return true;
}

static bool add_stream(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	device_table_add_stream(agents, sender->space, (const struct gpt_agent_stream *)record);
	return true;
}

static bool add_context(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_context *context = (const struct gpt_agent_context *)record;

	*lookup_put(&agents->contexts, sender->process + 1, context->context, 0) = context->device;
	if (context->compute_api == GPT_AGENT_COMPUTE_API_MPS)
		agents->processes->list.items[sender->process].mps = true;
	return true;
}

static bool add_device(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	return device_table_add(agents, sender->process, (const struct gpt_agent_device *)record);
}

static bool add_clock(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_clock *event = (const struct gpt_agent_clock *)record;
	struct process_state *state = &agents->processes->states.items[sender->process];
	struct wall_clock_sample sample = {
		.mono_ns = event->mono_ns, .offset_ns = event->wall_offset_ns, .error_ns = event->error_ns};
	uint64_t age =
		sender->time_ns > event->mono_ns ? sender->time_ns - event->mono_ns : event->mono_ns - sender->time_ns;

	if (age > SAMPLE_AGE_MAX_NS)
		return false;
	if (state->clock == NONE)
		state->clock = wall_clock_add_agent(agents->clock);
	wall_clock_add_sample(&agents->clock->agents.items[state->clock], sample);
	return true;
}

static void add_past(struct agents *agents, const struct gpt_agent_stats *stats)
{
#define ADD(member, name, kind, words)                                                                                 \
	if (__builtin_add_overflow(agents->past.member, stats->member, &agents->past.member))                          \
		agents->past.member = UINT64_MAX;
	GPT_AGENT_LOSSES(ADD);
#undef ADD
}

/* Those of an older agent are shorter. */
static bool add_stats(struct agents *agents, const struct sender *sender, const struct gpt_record *record)
{
	struct gpt_agent_stats stats = {};

	/* An older agent tells less. */
	memcpy(&stats, record, record->size < sizeof(stats) ? record->size : sizeof(stats));
	/* The collector counts each buffer anew. */
	if (sender->flags & GPT_BATCH_FOREIGN)
		add_past(agents, &stats);
	else
		agents->processes->list.items[sender->process].agent_stats = stats;
	return true;
}

/* Known types by their number less GPT_AGENT_HELLO. */
static const struct {
	size_t size; /* least */
	bool (*add)(struct agents *agents, const struct sender *sender, const struct gpt_record *record);
} handlers[] = {
	[GPT_AGENT_HELLO - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_hello), add_hello},
	[GPT_AGENT_NAME - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_name), add_name},
	[GPT_AGENT_API - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_api), add_return},
	[GPT_AGENT_KERNEL - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_kernel), add_kernel},
	[GPT_AGENT_MEMCPY - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_memcpy), add_memcpy},
	[GPT_AGENT_MEMSET - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_memset), add_memset},
	[GPT_AGENT_OVERHEAD - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_overhead), add_overhead},
	[GPT_AGENT_DEVICE - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_device), add_device},
	[GPT_AGENT_CONTEXT - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_context), add_context},
	[GPT_AGENT_STREAM - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_stream), add_stream},
	[GPT_AGENT_CLOCK - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_clock), add_clock},
	[GPT_AGENT_STATS - GPT_AGENT_HELLO] = {GPT_AGENT_STATS_FIRST, add_stats},
	[GPT_AGENT_SYNC - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_sync), add_sync},
	[GPT_AGENT_MEMORY - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_memory), add_memory},
	[GPT_AGENT_GRAPH_NODE - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_graph_node), add_graph_node},
	[GPT_AGENT_JIT - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_jit), add_jit},
	[GPT_AGENT_RANGE - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_range), add_range},
	[GPT_AGENT_EVENT - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_event), add_event},
	[GPT_AGENT_API_ACTIVITY - GPT_AGENT_HELLO] = {sizeof(struct gpt_agent_api_activity), add_api_activity},
};

bool agents_add_batch(struct agents *agents, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	struct sender sender = {.time_ns = batch->time_ns, .flags = record->flags};
	const struct gpt_record *inner;
	size_t at = 0;

	if (batch->bytes > record->size - sizeof(*batch))
		return false;
	if ((record->flags & GPT_BATCH_MONOTONIC) && batch->error_ns > agents->clock->error_ns)
		agents->clock->error_ns = batch->error_ns;
	sender.process = process_table_find(agents->processes, batch->pid);
	sender.space = record->flags & GPT_BATCH_FOREIGN
			       ? process_table_space_at(agents->processes, sender.process, batch->time_ns)
			       : agents->processes->states.items[sender.process].space;
	while (at < batch->bytes) {
		size_t kind;

		inner = record_at(batch->data, batch->bytes, &at);
		if (!inner)
			return false;
		kind = (size_t)inner->type - GPT_AGENT_HELLO;
		if (kind >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[kind].add)
			continue;
		if (inner->size < handlers[kind].size || !handlers[kind].add(agents, &sender, inner))
			agents->bad_records++;
	}
	return true;
}

void agents_process_execs(struct agents *agents, uint32_t pid, uint64_t time_ns)
{
	uint32_t index = process_table_find(agents->processes, pid);
	struct gpt_agent_stats *stats = &agents->processes->list.items[index].agent_stats;

	add_past(agents, stats);
	memset(stats, 0, sizeof(*stats));
	ranges_process_execs(&agents->ranges, pid, time_ns);
}
