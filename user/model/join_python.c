/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What goes on inside interpreters: garbage collections, imports and functions, each thread's in a lane. */
#include <stdlib.h>

#include "model/tables.h"

static uint32_t thread_at(struct builder *builder, const struct python_moment *at)
{
	uint32_t process = process_table_find(&builder->processes, at->pid);

	builder_see_time(builder, at->time_ns);
	return process_table_find_thread(&builder->processes, process, at->tid);
}

static bool begin_pyevent(struct builder *builder, const struct python_moment *at, struct model_span span)
{
	span.start_ns = at->time_ns;
	span.thread = thread_at(builder, at);
	if (builder->first) /* which has them all */
		return true;
	return spans_begin(&builder->pyevents, span.thread, at->frame, &span);
}

bool builder_begin_gc(struct builder *builder, const struct python_moment *at, int32_t generation)
{
	struct model_span span = {.kind = MODEL_SPAN_GC, .name = NONE, .generation = generation};

	return begin_pyevent(builder, at, span);
}

static uint32_t intern(struct string_pool *strings, const struct python_text *text)
{
	if (!text->size)
		return string_intern(strings, "?", 1);
	return text->kind ? string_intern_kind(strings, text->bytes, text->size, text->kind)
			  : string_intern(strings, text->bytes, text->size);
}

bool builder_begin_import(struct builder *builder, const struct python_moment *at, const struct python_text *name)
{
	struct model_span span = {.kind = MODEL_SPAN_IMPORT, .name = intern(&builder->strings, name)};

	return begin_pyevent(builder, at, span);
}

void builder_end_pyevent(struct builder *builder, const struct python_moment *at, enum model_span_kind kind)
{
	uint32_t thread = thread_at(builder, at);

	if (!builder->first)
		spans_end(&builder->pyevents, thread, at->frame, kind, at->time_ns);
}

bool builder_enter_function(struct builder *builder, const struct python_moment *at, uint64_t code)
{
	struct program program = process_table_program(&builder->processes, at->pid);
	struct model_span span = {.kind = MODEL_SPAN_FUNCTION,
				  .start_ns = at->time_ns,
				  .thread = thread_at(builder, at),
				  .name = NONE,
				  .code = codes_at(&builder->codes, program.space, code)};

	return spans_begin(&builder->functions, span.thread, at->frame, &span);
}

void builder_leave_function(struct builder *builder, const struct python_moment *at)
{
	spans_end(&builder->functions, thread_at(builder, at), at->frame, MODEL_SPAN_FUNCTION, at->time_ns);
}

static void close_thread(struct builder *builder, uint32_t thread, uint64_t time_ns)
{
	spans_close_lane(&builder->pyevents, thread, time_ns);
	spans_close_lane(&builder->functions, thread, time_ns);
}

void close_python_spans(struct builder *builder, uint32_t process, uint64_t time_ns)
{
	size_t lanes = builder->pyevents.lanes.count;

	if (builder->functions.lanes.count > lanes)
		lanes = builder->functions.lanes.count;
	for (uint32_t i = 0; i < lanes; i++)
		if (builder->processes.threads.items[i].process == process)
			close_thread(builder, i, time_ns);
}

void join_python_spans(struct builder *builder)
{
	size_t count = builder->processes.threads.count;
	struct model_thread *threads = builder->processes.threads.items;
	uint64_t end_ns = builder->model->end_ns;
	struct span_place *events, *functions;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t exit_ns = builder->processes.list.items[threads[i].process].exit_ns;

		close_thread(builder, i, exit_ns && exit_ns < end_ns ? exit_ns : end_ns);
	}
	events = spans_order_by_thread(&builder->pyevents, count);
	functions = spans_order_by_thread(&builder->functions, count);
	for (size_t i = 0; i < count; i++) {
		threads[i].first_pyspan = events[i].first;
		threads[i].pyspans = events[i].count;
		threads[i].first_pycall = functions[i].first;
		threads[i].pycalls = functions[i].count;
	}
	free(events);
	free(functions);
}
