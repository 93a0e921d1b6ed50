/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins GPU operations: finds each one's call and device, converts its time to CLOCK_MONOTONIC, sorts them by time, and
 * puts each in its call's list.
 */
#include "model/join/tables.h"

#include <string.h>

#include "base/array.h"
#include "model/order.h"

static uint32_t name_of(struct builder *builder, uint32_t epoch, uint32_t key)
{
	const uint32_t *name =
		key ? lookup_get_latest(&builder->kernel_names, &builder->kernel_name, epoch, key) : NULL;

	return name ? *name : NONE;
}

static uint32_t text_in(const struct lookup *texts, uint32_t epoch, uint32_t key)
{
	const uint32_t *text = key && texts->count ? lookup_get(texts, epoch, key) : NULL;

	return text ? *text : NONE;
}

static void set_texts(struct builder *builder, struct pending_gpu *pending, uint32_t key)
{
	struct model_gpu *op = &pending->op;

	op->name = name_of(builder, pending->epoch, key);
	op->label = text_in(&builder->kernel_labels, pending->epoch, key);
	op->place = text_in(&builder->kernel_places, pending->epoch, key);
	if (op->label == NONE)
		op->label = op->name;
}

/* The pending operation that becomes one by keep_pending. */
static struct pending_gpu *room_for_pending(struct builder *builder)
{
	struct gpu_work *gpu = &builder->gpu;

	gpu->pending.items = array_reserve(gpu->pending.items, sizeof(*gpu->pending.items), gpu->pending.count, 1,
					   &gpu->pending.capacity);
	return &gpu->pending.items[gpu->pending.count];
}

static void keep_pending(struct builder *builder, struct pending_gpu *pending)
{
	struct gpu_work *gpu = &builder->gpu;

	gpu->pending.count++;
	gpu->any_foreign |= pending->op.foreign;
	/* Pass 2 looks for the call once the part's calls are sorted */
	pending->call = builder->first ? NONE : calls_find(&builder->calls, pending->epoch, pending->op.corr);
}

/* Keeps or defers an operation that stands in the room for it; name: its kernel's key. */
static bool add_operation(struct builder *builder, struct pending_gpu *pending, struct process_image program,
			  enum source_clock clock, uint32_t name)
{
	struct model_gpu *op = &pending->op;
	enum disposition what;

	if (op->start_ns > op->end_ns)
		return false;
	op->process = program.process;
	op->shared = builder->shared;
	pending->epoch = program.epoch;
	pending->clock = (uint8_t)clock;
	collect_gpu_work(builder, pending);
	what = disposition_of(builder, program, op->corr, clock, op->start_ns);
	if (what == IGNORE)
		return true;
	set_texts(builder, pending, name);
	if (what == DEFER)
		defer(builder, &(struct deferred_event){.kind = DEFERRED_GPU, .program = program, .gpu = *pending});
	else
		keep_pending(builder, pending);
	return true;
}

/* Every member is named, also zero ones: otherwise the compiler clears the whole struct first, which is slow. */
bool builder_add_agent_kernel(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_kernel *kernel)
{
	struct pending_gpu *pending = room_for_pending(builder);

	pending->op = (struct model_gpu){.start_ns = kernel->start_wall_ns,
					 .end_ns = kernel->end_wall_ns,
					 .bytes = 0,
					 .call = NONE,
					 .next = NONE,
					 .captured_by = NONE,
					 .process = 0,
					 .device = kernel->device,
					 .context = kernel->context,
					 .stream = kernel->stream,
					 .corr = kernel->corr,
					 .name = NONE,
					 .label = NONE,
					 .place = NONE,
					 .graph = kernel->graph,
					 .graph_node = kernel->graph_node,
					 .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
					 .block = {kernel->block[0], kernel->block[1], kernel->block[2]},
					 .static_shared_bytes = kernel->static_shared_bytes,
					 .dynamic_shared_bytes = kernel->dynamic_shared_bytes,
					 .registers = kernel->registers,
					 .local_bytes = kernel->local_bytes_per_thread,
					 .channel = kernel->channel,
					 .kind = MODEL_KERNEL,
					 .foreign = sender->foreign,
					 .shared = false,
					 .before = false,
					 .memcpy_kind = 0,
					 .from = 0,
					 .to = 0,
					 .cluster = {gpu_small(kernel->cluster[0]), gpu_small(kernel->cluster[1]),
						     gpu_small(kernel->cluster[2])},
					 .channel_type = gpu_small(kernel->channel_type),
					 .stream_flags = 0,
					 .priority = gpu_priority((uint32_t)kernel->priority),
					 .unknown = 0,
					 .migration = 0};
	return add_operation(builder, pending, sender->program, sender->clock, kernel->name);
}

#define MEMCPY_KIND_MAX 10 /* CUPTI_ACTIVITY_MEMCPY_KIND_PTOP (cupti_activity.h, 13.0) */

bool builder_add_agent_memcpy(struct builder *builder, const struct sender *sender, const struct gpt_agent_memcpy *copy)
{
	struct pending_gpu *pending = room_for_pending(builder);

	pending->op = (struct model_gpu){.start_ns = copy->start_wall_ns,
					 .end_ns = copy->end_wall_ns,
					 .bytes = copy->bytes,
					 .device = copy->device,
					 .context = copy->context,
					 .stream = copy->stream,
					 .corr = copy->corr,
					 .graph = copy->graph,
					 .graph_node = copy->graph_node,
					 .channel = copy->channel,
					 .kind = MODEL_MEMCPY,
					 .foreign = sender->foreign,
					 .memcpy_kind = copy->kind <= MEMCPY_KIND_MAX ? copy->kind : 0,
					 .from = gpu_known_memory(copy->from),
					 .to = gpu_known_memory(copy->to),
					 .channel_type = gpu_small(copy->channel_type)};
	return add_operation(builder, pending, sender->program, sender->clock, 0);
}

bool builder_add_agent_memset(struct builder *builder, const struct sender *sender, const struct gpt_agent_memset *set)
{
	struct pending_gpu *pending = room_for_pending(builder);

	pending->op = (struct model_gpu){.start_ns = set->start_wall_ns,
					 .end_ns = set->end_wall_ns,
					 .bytes = set->bytes,
					 .device = set->device,
					 .context = set->context,
					 .stream = set->stream,
					 .corr = set->corr,
					 .graph = set->graph,
					 .graph_node = set->graph_node,
					 .kind = MODEL_MEMSET,
					 .foreign = sender->foreign,
					 .to = gpu_known_memory(set->memory)};
	return add_operation(builder, pending, sender->program, sender->clock, 0);
}

bool builder_add_gpu(struct builder *builder, struct process_image program, const struct model_gpu *op, uint32_t name)
{
	struct pending_gpu *pending = room_for_pending(builder);

	pending->op = *op;
	return add_operation(builder, pending, program, SOURCE_CLOCK_MONOTONIC, name);
}

void gpu_work_add(struct builder *builder, const struct pending_gpu *deferred)
{
	struct pending_gpu *pending = room_for_pending(builder);

	*pending = *deferred;
	keep_pending(builder, pending);
}

/* The call and the time that determine an operation's place. */
struct placing {
	struct clock_span span; /* CLOCK_MONOTONIC, both 0: no times */
	uint32_t call;		/* its place */
};

/* False: its call was made before or after the trace. */
static bool place_operation(struct builder *builder, const struct pending_gpu *pending, struct placing *placing)
{
	const struct model_gpu *op = &pending->op;
	struct clock_span span = {op->start_ns, op->end_ns};

	placing->span = (struct clock_span){0};
	placing->call = pending->call != NONE ? calls_place_of(&builder->calls, pending->call)
					      : calls_place(&builder->calls, pending->epoch, op->corr);
	if (placing->call == NONE &&
	    api_activity_is_outside(&known_facts(builder)->api_activities, op->process, op->corr))
		return false;
	if (op->end_ns && !convert_span(builder, op->process, (enum source_clock)pending->clock, span,
					calls_start(&builder->calls, placing->call), &placing->span))
		builder_count_bad(builder, BAD_TIME, 1);
	return true;
}

/* Makes the operation of a pending one, which shares no memory with it. */
static void join_one(struct builder *builder, const struct pending_gpu *pending, const struct placing *placing,
		     struct model_gpu *op)
{
	uint32_t epoch = pending->epoch, node_corr;

	*op = pending->op;
	op->start_ns = placing->span.start_ns;
	op->end_ns = placing->span.end_ns;
	op->call = placing->call;
	op->next = NONE;
	op->device = device_table_find(&known_facts(builder)->devices, op->process, op->device);
	node_corr = op->graph_node ? graphs_node_corr(&known_facts(builder)->graphs, epoch, op->graph_node) : 0;
	op->captured_by = node_corr ? calls_place(&builder->calls, epoch, node_corr) : NONE;
	if (op->graph && op->graph_node && op->call != NONE && !builder->first)
		graphs_add_operation(&builder->graphs, epoch, op->call, op->graph, op->graph_node);
	device_table_set_stream(&known_facts(builder)->devices, epoch, op);
}

static void sort_operations(struct model_gpu *ops, size_t count)
{
	order_by_time(ops, count, sizeof(*ops), offsetof(struct model_gpu, start_ns));
}

/* A call known by name only launched its GPU work, whatever its name suggests. */
static uint8_t class_of_work(const struct model_gpu *op)
{
	return op->kind == MODEL_MEMCPY	  ? GPT_CLASS_MEMCPY
	       : op->kind == MODEL_MEMSET ? GPT_CLASS_MEMSET
					  : GPT_CLASS_LAUNCH;
}

/* tails: by call, its last operation so far. */
static void link_to_call(struct gpu_work *gpu, struct model_call *call, uint32_t op, uint32_t *tails)
{
	uint32_t *tail = &tails[gpu->list[op].call];

	if (call->gpu_count++)
		gpu->list[*tail].next = op;
	else
		call->first_gpu = op;
	call->captured = false; /* it was in another stream */
	if (api_is_named(call->api) && !call_is_work(call))
		call->class = class_of_work(&gpu->list[op]);
	*tail = op;
}

/* Places pending operations; those that wait for their call stay pending.  Returns the number of keys. */
static size_t place_pending(struct builder *builder, uint64_t until_ns, struct placing *placings,
			    struct order_key *keys)
{
	struct gpu_work *gpu = &builder->gpu;
	/* if the wall clock was set, the call decides between two possible times */
	bool in_doubt = until_ns != UINT64_MAX && wall_clock_steps(&builder->first->clock);
	size_t placed = 0;

	for (size_t i = 0; i < gpu->pending.count; i++) {
		const struct pending_gpu *pending = &gpu->pending.items[i];
		struct placing *placing = &placings[i];

		if (!place_operation(builder, pending, placing))
			continue;
		if (placing->call != NONE || !pending->op.corr || !placing->span.end_ns ||
		    (placing->span.start_ns < until_ns && !in_doubt))
			keys[placed++] = (struct order_key){.time_ns = placing->span.start_ns, .index = (uint32_t)i};
		else
			array_push(&gpu->waiting, gpu->pending.items[i]);
	}
	return placed;
}

/* How many operations ahead memory is prefetched. */
#define JOINED_AHEAD 8
#define CACHE_LINE 64

static void prefetch_item(const void *item, size_t size)
{
	for (size_t at = 0; at < size; at += CACHE_LINE)
		__builtin_prefetch((const char *)item + at);
}

/* Joins pending operations in order of time, appending to the joined ones. */
static void join_pending(struct builder *builder, uint64_t until_ns)
{
	struct gpu_work *gpu = &builder->gpu;
	size_t count = gpu->pending.count, placed;
	struct placing *placings;
	AUTO_FREE struct order_key *keys = NULL;

	if (!count)
		return;
	placings = xmalloc(count * sizeof(*placings));
	keys = xmalloc(count * sizeof(*keys));
	placed = place_pending(builder, until_ns, placings, keys);
	order_sort(keys, placed);
	gpu->joined.items = array_reserve(gpu->joined.items, sizeof(*gpu->joined.items), gpu->joined.count, placed,
					  &gpu->joined.capacity);
	for (size_t i = 0; i < placed; i++) {
		/* pending records of several streams lie far apart: prefetches a later one meanwhile */
		if (i + JOINED_AHEAD < placed)
			prefetch_item(&gpu->pending.items[keys[i + JOINED_AHEAD].index], sizeof(*gpu->pending.items));
		join_one(builder, &gpu->pending.items[keys[i].index], &placings[keys[i].index],
			 &gpu->joined.items[gpu->joined.count++]);
	}
	free(placings);
	gpu->pending.count = 0;
	for (size_t i = 0; i < gpu->waiting.count; i++)
		array_push(&gpu->pending, gpu->waiting.items[i]);
	gpu->waiting.count = 0;
}

/* Rebuilds the calls' lists of operations: all operations of the current calls are present. */
static void link_to_calls(struct builder *builder)
{
	struct gpu_work *gpu = &builder->gpu;
	size_t count = builder->calls.list.count;
	struct model_call *calls = builder->calls.list.items;
	AUTO_FREE uint32_t *tails = xmalloc(count * sizeof(*tails));

	for (size_t i = 0; i < count; i++) {
		calls[i].gpu_count = 0;
		calls[i].first_gpu = NONE;
	}
	for (uint32_t i = 0; i < gpu->count; i++) {
		gpu->list[i].next = NONE;
		if (gpu->list[i].call != NONE)
			link_to_call(gpu, &calls[gpu->list[i].call], i, tails);
	}
}

/*
 * Sorts by time; operations that start at until_ns or later, and belong to a later part, go last.  Returns their
 * number.
 */
static uint32_t order_part(const struct builder *builder, struct model_gpu *ops, size_t count, uint64_t until_ns)
{
	size_t untimed = 0, kept = 0, in_part;
	AUTO_FREE struct model_gpu *later = NULL;

	sort_operations(ops, count);
	while (untimed < count && !ops[untimed].start_ns)
		untimed++;
	in_part = untimed + order_count_before(ops + untimed, count - untimed, sizeof(*ops),
					       offsetof(struct model_gpu, start_ns), until_ns);
	/* an untimed operation goes with its call */
	later = xmalloc(untimed * sizeof(*later));
	for (size_t i = 0; i < untimed; i++) {
		if (calls_start(&builder->calls, ops[i].call) < until_ns)
			ops[kept++] = ops[i];
		else
			later[i - kept] = ops[i];
	}
	if (kept < untimed) {
		memmove(ops + kept, ops + untimed, (in_part - untimed) * sizeof(*ops));
		memcpy(ops + kept + (in_part - untimed), later, (untimed - kept) * sizeof(*ops));
	}
	return (uint32_t)(count - in_part + (untimed - kept));
}

void join_gpu(struct builder *builder, uint64_t complete_ns, uint64_t until_ns)
{
	struct gpu_work *gpu = &builder->gpu;
	uint32_t from = builder->model->gpu_in_part.from;
	size_t before = gpu->joined.count;
	struct model_gpu *items;

	join_pending(builder, complete_ns);
	items = gpu->joined.items;
	if (gpu->joined.count > before)
		gpu->joined.count = before + leave_out_outside(builder, items + before, gpu->joined.count - before);
	builder->model->gpu_in_part.later = 0;
	if (gpu->joined.count > from) {
		if (gpu->any_foreign)
			gpu->joined.count = from + leave_out_foreign(builder, items + from, gpu->joined.count - from);
		builder->model->gpu_in_part.later =
			order_part(builder, items + from, gpu->joined.count - from, until_ns);
	}
	gpu->list = gpu->joined.items;
	gpu->count = gpu->joined.count;
	link_to_calls(builder);
}
