/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins GPU operations: finds each one's call and device, converts its time to CLOCK_MONOTONIC, sorts them by time, and
 * puts each in its call's list.
 */
#include "model/join/tables.h"

#include <string.h>

#include "base/array.h"
#include "model/order.h"

static uint32_t name_of(struct builder *builder, struct process_image program, const struct new_gpu_work *work)
{
	const uint32_t *name =
		work->name ? lookup_get_latest(&builder->kernel_names, &builder->kernel_name, program.epoch, work->name)
			   : NULL;

	return name ? *name : NONE;
}

static uint32_t text_in(const struct lookup *texts, struct process_image program, const struct new_gpu_work *work)
{
	const uint32_t *text = work->name && texts->count ? lookup_get(texts, program.epoch, work->name) : NULL;

	return text ? *text : NONE;
}

static void set_texts(struct builder *builder, struct process_image program, const struct new_gpu_work *work,
		      struct kernel_texts *texts)
{
	texts->name = name_of(builder, program, work);
	texts->label = text_in(&builder->kernel_labels, program, work);
	texts->place = text_in(&builder->kernel_places, program, work);
	if (texts->label == NONE)
		texts->label = texts->name;
}

static struct pending_gpu *room_for_pending(struct gpu_work *gpu)
{
	gpu->pending.items = array_reserve(gpu->pending.items, sizeof(*gpu->pending.items), gpu->pending.count, 1,
					   &gpu->pending.capacity);
	return &gpu->pending.items[gpu->pending.count];
}

struct new_gpu_work *builder_room_for_gpu_work(struct builder *builder)
{
	return &room_for_pending(&builder->gpu)->work;
}

/* Adds a pending operation without its texts. */
static struct pending_gpu *add_pending(struct builder *builder, struct process_image program,
				       const struct new_gpu_work *work)
{
	struct gpu_work *gpu = &builder->gpu;
	struct pending_gpu *pending = room_for_pending(gpu);

	gpu->pending.count++;
	if (work != &pending->work)
		pending->work = *work;
	pending->program = program;
	gpu->any_foreign |= work->foreign;
	/* Pass 2 looks for the call once the part's calls are sorted */
	pending->call = builder->first ? NONE : calls_find(&builder->calls, program.epoch, work->corr);
	return pending;
}

bool builder_add_gpu_work(struct builder *builder, struct process_image program, const struct new_gpu_work *work)
{
	enum disposition what;

	if (work->span.start_ns > work->span.end_ns)
		return false;
	collect_gpu_work(builder, program, work);
	what = disposition_of(builder, program, work->corr, (enum source_clock)work->clock, work->span.start_ns);
	if (what == DEFER) {
		struct deferred_event event = {.kind = DEFERRED_GPU_WORK, .program = program, .work = *work};

		set_texts(builder, program, work, &event.kernel);
		defer(builder, &event);
	} else if (what == JOIN) {
		set_texts(builder, program, work, &add_pending(builder, program, work)->texts);
	}
	return true;
}

void gpu_work_add(struct builder *builder, struct process_image program, const struct new_gpu_work *work,
		  struct kernel_texts texts)
{
	add_pending(builder, program, work)->texts = texts;
}

/* The call and the time that determine an operation's place. */
struct placing {
	struct clock_span span; /* CLOCK_MONOTONIC, both 0: no times */
	uint32_t call;		/* its place */
};

/* False: its call was made before or after the trace. */
static bool place(struct builder *builder, const struct pending_gpu *pending, struct placing *placing)
{
	const struct new_gpu_work *work = &pending->work;
	struct process_image program = pending->program;

	placing->span = (struct clock_span){0};
	placing->call = pending->call != NONE ? calls_place_of(&builder->calls, pending->call)
					      : calls_place(&builder->calls, program.epoch, work->corr);
	if (placing->call == NONE &&
	    api_activity_is_outside(&known(builder)->api_activities, program.process, work->corr))
		return false;
	if (work->span.end_ns && !convert_span(builder, program.process, (enum source_clock)work->clock, work->span,
					       calls_start(&builder->calls, placing->call), &placing->span))
		builder_count_bad(builder, BAD_TIME, 1);
	return true;
}

/*
 * Fills in the operation of a pending record; the two share no memory.  Every member is named, even if 0, so that the
 * compiler does not clear the struct first, which took half of the time.
 */
static void set_operation(struct model_gpu *op, const struct builder *builder, const struct pending_gpu *pending,
			  const struct placing *placing, uint32_t captured_by)
{
	const struct new_gpu_work *work = &pending->work;

	*op = (struct model_gpu){
		.start_ns = placing->span.start_ns,
		.end_ns = placing->span.end_ns,
		.bytes = work->bytes,
		.call = placing->call,
		.next = NONE,
		.captured_by = captured_by,
		.process = pending->program.process,
		.device = device_table_find(&known(builder)->devices, pending->program.process, work->device),
		.context = work->context,
		.stream = work->stream,
		.corr = work->corr,
		.name = pending->texts.name,
		.label = pending->texts.label,
		.place = pending->texts.place,
		.graph = work->graph,
		.graph_node = work->graph_node,
		.grid = {work->grid[0], work->grid[1], work->grid[2]},
		.block = {work->block[0], work->block[1], work->block[2]},
		.static_shared_bytes = work->static_shared_bytes,
		.dynamic_shared_bytes = work->dynamic_shared_bytes,
		.registers = work->registers,
		.local_bytes = work->local_bytes,
		.channel = work->channel,
		.kind = work->kind & 63,
		.foreign = work->foreign,
		.before = false,
		.memcpy_kind = work->memcpy_kind,
		.from = work->from,
		.to = work->to,
		.cluster = {work->cluster[0], work->cluster[1], work->cluster[2]},
		.channel_type = work->channel_type,
		.stream_flags = 0,
		.priority = work->priority,
		.unknown = work->unknown,
		.migration = work->migration};
}

static void join_one(struct builder *builder, const struct pending_gpu *pending, const struct placing *placing,
		     struct model_gpu *op)
{
	const struct new_gpu_work *work = &pending->work;
	struct process_image program = pending->program;
	uint32_t corr =
		work->graph_node ? graphs_node_corr(&known(builder)->graphs, program.epoch, work->graph_node) : 0;

	set_operation(op, builder, pending, placing, corr ? calls_place(&builder->calls, program.epoch, corr) : NONE);
	if (work->graph && work->graph_node && op->call != NONE && !builder->first)
		graphs_add_operation(&builder->graphs, program.epoch, op->call, work->graph, work->graph_node);
	device_table_set_stream(&known(builder)->devices, program.epoch, op);
}

static void sort(struct model_gpu *ops, size_t count)
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

		if (!place(builder, pending, placing))
			continue;
		if (placing->call != NONE || !pending->work.corr || !placing->span.end_ns ||
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
	struct order_key *keys;

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
	free(keys);
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
	uint32_t *tails = xmalloc(count * sizeof(*tails));

	for (size_t i = 0; i < count; i++) {
		calls[i].gpu_count = 0;
		calls[i].first_gpu = NONE;
	}
	for (uint32_t i = 0; i < gpu->count; i++) {
		gpu->list[i].next = NONE;
		if (gpu->list[i].call != NONE)
			link_to_call(gpu, &calls[gpu->list[i].call], i, tails);
	}
	free(tails);
}

/*
 * Sorts by time; operations that start at until_ns or later, and belong to a later part, go last.  Returns their
 * number.
 */
static uint32_t order_part(const struct builder *builder, struct model_gpu *ops, size_t count, uint64_t until_ns)
{
	size_t untimed = 0, kept = 0, in_part;
	struct model_gpu *later;

	sort(ops, count);
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
	free(later);
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
