/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds a model from the first event to the last: creates, joins and hands it over; see builder.h. */
#include "model/join/tables.h"

#include <stdlib.h>
#include <string.h>

#include "model/order.h"

struct builder *builder_new(void)
{
	struct builder *builder = xcalloc(1, sizeof(*builder));
	struct string_pool *strings = &builder->strings;
	struct model_source *source = xcalloc(1, sizeof(*source));

	builder->model = xcalloc(1, sizeof(*builder->model));
	builder->model->sources = source;
	builder->model->source_count = 1;
	builder->processes.strings = strings;
	builder->codes.strings = strings;
	builder->codes.unknown = NONE;
	builder->stacks.codes = &builder->codes;
	builder->stacks.strings = strings;
	builder->stacks.modules = &builder->modules;
	builder->modules.strings = strings;
	builder->calls.strings = strings;
	builder->calls.processes = &builder->processes;
	builder->calls.stacks = &builder->stacks;
	builder->api_activities.processes = &builder->processes;
	builder->api_activities.calls = &builder->calls;
	builder->agents = (struct agents){.processes = &builder->processes, .strings = strings};
	builder->gaps.processes = &builder->processes;
	builder->ranges.processes = &builder->processes;
	builder->ranges.strings = strings;
	builder->torch_memory.free_block = NONE;
	builder->ops.processes = &builder->processes;
	builder->ops.strings = strings;
	builder->ops.sampled = &builder->sampled;
	builder->devices.strings = strings;
	source->version = source->host = source->kernel = source->target = source->tool = source->boot =
		string_keep(strings, "", 0);
	return builder;
}

void show_tables(struct builder *builder)
{
	struct model *model = builder->model;

	SHOW(model, code, builder->codes.list);
	SHOW(model, frame, builder->codes.frames);
	SHOW(model, stack, builder->stacks.list);
	SHOW(model, stack_frame, builder->stacks.frames);
	SHOW(model, stack_module, builder->stacks.stack_modules);
	SHOW(model, module, builder->modules.list);
	SHOW(model, native, builder->stacks.natives);
	SHOW(model, native_frame, builder->stacks.native_frames);
	SHOW(model, call, builder->calls.list);
	SHOW(model, op, builder->ops.list);
	model->forwards_forgotten = builder->ops.forwards.forgotten;
	SHOW(model, collective, builder->ops.collectives);
	SHOW(model, nccl_call, builder->nccl_calls.list);
	model->torch_memories = builder->torch_memory.list.items;
	model->torch_memory_count = (uint32_t)builder->torch_memory.list.count;
	SHOW(model, string, builder->strings.strings);
	SHOW(model, probe, builder->probes);
	SHOW(model, note, builder->notes);
	SHOW(model, detail, builder->details);
#define SHOW_JOINED(one, many, ...)                                                                                    \
	model->many = builder->many.items;                                                                             \
	model->one##_count = (uint32_t)builder->many.count;
	MODEL_JOINED_EVENTS(SHOW_JOINED)
#undef SHOW_JOINED
	model->args = builder->calls.args.items;
	model->args_count = (uint32_t)builder->calls.args.count;
	model->gpu = builder->gpu.list;
	model->gpu_count = (uint32_t)builder->gpu.count;
}

/* The tables become the model's: from here on model_free owns them. */
static void move_tables(struct builder *builder)
{
	struct model *model = builder->model;

	show_tables(builder);
	model->processes = builder->processes.list.items;
	model->process_count = (uint32_t)builder->processes.list.count;
	SHOW(model, thread, builder->processes.threads);
	SHOW(model, device, builder->devices.list);
	SHOW(model, gap, builder->gaps.list);
	SHOW(model, reported_step, builder->reported_steps);
	SHOW(model, generated_line, builder->generated_lines);
	SHOW(model, cell_line, builder->cell_lines);
	model->holder_searches = builder->holder_searches.items;
	model->holder_search_count = (uint32_t)builder->holder_searches.count;
	SHOW(model, holder, builder->holders);
	SHOW(model, held_storage, builder->held_storages);
	SHOW(model, pyspan, builder->pyevents.list);
	SHOW(model, pycall, builder->functions.list);
	SHOW(model, range, builder->ranges.spans.list);
	model->private = builder->strings.blocks;
	memset(&builder->processes.list, 0, sizeof(builder->processes.list));
	memset(&builder->processes.threads, 0, sizeof(builder->processes.threads));
}

/* Frees what only building a model needs. */
static void free_builder(struct builder *builder)
{
	process_table_free(&builder->processes);
	codes_free(&builder->codes);
	stacks_free(&builder->stacks);
	modules_free(&builder->modules);
	sampled_stacks_free(&builder->sampled);
	calls_free(&builder->calls);
	api_activities_free(&builder->api_activities);
	gaps_free(&builder->gaps);
	wall_clock_free(&builder->clock);
	spans_free(&builder->pyevents);
	spans_free(&builder->functions);
	ranges_free(&builder->ranges);
	ops_free(&builder->ops);
	torch_memory_free(&builder->torch_memory);
	device_table_free(&builder->devices);
	graphs_free(&builder->graphs);
	lookup_free(&builder->kernel_names);
	lookup_free(&builder->kernel_labels);
	lookup_free(&builder->kernel_places);
	array_free(&builder->gpu.pending);
	array_free(&builder->gpu.waiting);
#define FREE(one, many, ...) array_free(&builder->pending_##many);
	PENDING_EVENTS(FREE)
#undef FREE
	array_free(&builder->pending_reported_steps);
	lateness_free(&builder->lateness);
	array_free(&builder->deferred.list);
	collected_free(&builder->collected);
	keep_free(&builder->parts.keep);
	kept_arrays_free(&builder->parts.spare);
	recordings_free(&builder->parts.recordings);
	lookup_free(&builder->parts.allocations);
	string_pool_close(&builder->strings);
	free(builder);
}

/* A trace without an end record ends at the latest time. */
static void find_end(struct builder *builder)
{
	struct model *model = builder->model;

	if (!builder->ended)
		model->end_ns = builder->last_ns > model->start_ns ? builder->last_ns : model->start_ns;
}

void builder_finish_first(struct builder *builder)
{
	find_end(builder);
	ranges_finish(&builder->ranges, builder->model->start_ns, builder->model->end_ns);
	ops_find_threads(&builder->ops);
	find_reported_steps(builder);
	process_table_finish(&builder->processes);
	join_python_spans(builder);
	device_table_finish(&builder->devices);
	prepare_clock(builder);
	gaps_finish(&builder->gaps);
	collect_finish(builder);
	modules_finish(&builder->modules);
	end_borrowing(builder);
	builder->model->processes = builder->processes.list.items;
	builder->model->process_count = (uint32_t)builder->processes.list.count;
	decide_gpu_times(builder->model, builder->collected.any_corr);
}

/* join_syncs and so on: joins what is pending, and puts it into order; what waits for its call stays pending. */
#define JOIN(one, many, time, ...)                                                                                     \
	static void join_##many(struct builder *builder, uint64_t complete_ns)                                         \
	{                                                                                                              \
		size_t from = builder->model->many##_in_part.from, waiting = 0;                                        \
                                                                                                                       \
		for (size_t i = 0; i < builder->pending_##many.count; i++)                                             \
			if (!join_##one(builder, &builder->pending_##many.items[i], complete_ns))                      \
				builder->pending_##many.items[waiting++] = builder->pending_##many.items[i];           \
		builder->pending_##many.count = waiting;                                                               \
		if (builder->many.count > from)                                                                        \
			order_by_time(builder->many.items + from, builder->many.count - from,                          \
				      sizeof(builder->many.items[0]), offsetof(struct model_##one, time));             \
	}
MODEL_JOINED_EVENTS(JOIN)
#undef JOIN

void join_events(struct builder *builder, uint64_t complete_ns, uint64_t until_ns)
{
	join_gpu(builder, complete_ns, until_ns);
	prepare_syncs(builder);
#define JOIN(one, many, ...) join_##many(builder, complete_ns);
	MODEL_JOINED_EVENTS(JOIN)
#undef JOIN
	order_syncs(builder);
	pair_memories(builder, until_ns);
}

struct model *builder_finish(struct builder *builder)
{
	struct model *model = builder->model;

	find_end(builder);
	ranges_finish(&builder->ranges, model->start_ns, model->end_ns);
	ops_find_threads(&builder->ops);
	find_reported_steps(builder);
	process_table_finish(&builder->processes);
	stacks_name_natives(&builder->stacks, &builder->stacks);
	modules_finish(&builder->modules);
	calls_finish(&builder->calls);
	join_python_spans(builder);
	device_table_finish(&builder->devices);
	gaps_finish(&builder->gaps);
	prepare_clock(builder);
	join_api_activities(builder, UINT64_MAX);
	end_borrowing(builder);
	calls_sort(&builder->calls);
	nccl_calls_order(&builder->nccl_calls);
	ops_join(&builder->ops, &builder->ops, builder->processes.threads.items, model->end_ns, UINT64_MAX);
	ops_join_calls(&builder->ops, builder->processes.threads.items, builder->processes.threads.count,
		       builder->calls.list.items, builder->calls.list.count);
	torch_memory_join(&builder->torch_memory, &builder->ops, &builder->ops, &builder->sampled, &builder->devices,
			  builder->processes.threads.items, UINT64_MAX);
	join_events(builder, UINT64_MAX, UINT64_MAX);
	array_free(&builder->gpu.pending);
	graphs_finish(&builder->graphs, &builder->calls);
	for (size_t i = 0; i < builder->gpu.count; i++)
		builder->processes.list.items[builder->gpu.list[i].process].gpu_ops++;
	move_tables(builder);
	receipt_fill(builder);
	free_builder(builder);
	return model;
}

void builder_look(struct builder *builder, void (*look)(void *context), void *context)
{
	workers_give(&builder->parts.look, look, context);
}

void builder_wait(struct builder *builder)
{
	count_async_wait(&builder->parts.count);
	workers_wait(&builder->parts.look);
}

void builder_discard(struct builder *builder)
{
	struct model *model = builder->model;

	builder_wait(builder);
	count_async_free(&builder->parts.count);
	if (builder->first) {
		/* some tables are copies of pass 1's, which has the devices */
		free(model->processes);
		free(model->threads);
		free(model->pyspans);
		free(model->reported_steps);
		model->processes = NULL;
		model->threads = NULL;
		model->pyspans = NULL;
		model->reported_steps = NULL;
		array_free(&builder->gpu.joined);
		builder->gpu.list = NULL;
	}
	move_tables(builder);
	free_builder(builder);
	model_free(model);
}

void model_free(struct model *model)
{
	if (!model)
		return;
	free(model->processes);
	free(model->threads);
	free(model->codes);
	free(model->frames);
	free(model->stacks);
	free(model->stack_frames);
	free(model->stack_modules);
	free(model->modules);
	free(model->natives);
	free(model->native_frames);
	free(model->args);
#define FREE(one, many, ...) free(model->many);
	MODEL_EVENTS(FREE)
#undef FREE
	free(model->devices);
	free(model->gaps);
	free(model->pyspans);
	free(model->pycalls);
	free(model->ranges);
	free(model->ops);
	free(model->collectives);
	free(model->nccl_calls);
	free(model->torch_memories);
	free(model->reported_steps);
	free(model->strings);
	free(model->probes);
	free(model->notes);
	free(model->details);
	free(model->generated_lines);
	free(model->cell_lines);
	free(model->holder_searches);
	free(model->holders);
	free(model->held_storages);
	free(model->sources);
	string_blocks_free(model->private);
	free(model);
}
