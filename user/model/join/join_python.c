/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Garbage collections, imports and functions of interpreters; each thread has a track.  Collections and imports are
 * few: for a source that is read twice, pass 1 keeps them for all parts of pass 2.
 */

#include "model/join/tables.h"

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
	/* pass 1 has them all; those that began before the recording are left out */
	if (builder->first || at->time_ns < builder->model->start_ns)
		return true;
	return spans_begin(&builder->pyevents, span.thread, at->frame, &span);
}

bool builder_begin_gc(struct builder *builder, const struct python_moment *at, int32_t generation)
{
	struct model_span span = {.kind = MODEL_SPAN_GC, .name = NONE, .generation = generation};

	return begin_pyevent(builder, at, span);
}

static uint32_t intern_python_text(struct string_pool *strings, const struct python_text *text)
{
	if (!text->size)
		return string_intern(strings, "?", 1);
	return text->kind ? string_intern_kind(strings, text->bytes, text->size, text->kind)
			  : string_intern(strings, text->bytes, text->size);
}

bool builder_begin_import(struct builder *builder, const struct python_moment *at, const struct python_text *name)
{
	struct model_span span = {.kind = MODEL_SPAN_IMPORT, .name = intern_python_text(&builder->strings, name)};

	return begin_pyevent(builder, at, span);
}

void builder_end_pyevent(struct builder *builder, const struct python_moment *at, enum model_span_kind kind)
{
	uint32_t thread = thread_at(builder, at);

	if (!builder->first)
		spans_end(&builder->pyevents, thread, at->frame, kind, at->time_ns);
}

/* A part must end before events that arrive later. */
static void note_moment(struct builder *builder, uint64_t time_ns)
{
	if (builder->pass == PASS_FIRST)
		lateness_note_begin(&builder->lateness, NONE, time_ns);
}

bool builder_enter_function(struct builder *builder, const struct python_moment *at, uint64_t code)
{
	struct process_image program = process_table_image(&builder->processes, at->pid);
	struct spans *functions = &builder->functions;
	struct model_span span = {.kind = MODEL_SPAN_FUNCTION,
				  .start_ns = at->time_ns,
				  .end_ns = UINT64_MAX,
				  .thread = thread_at(builder, at),
				  .name = NONE};

	note_moment(builder, at->time_ns);
	if (!functions->collecting)
		span.code = codes_at(&builder->codes, program.epoch, code);
	if (spans_next_fate(functions) == SPAN_LASTS && span.thread < functions->known->ends.count)
		span.end_ns = functions->known->ends.items[span.thread];
	return spans_begin(functions, span.thread, at->frame, &span);
}

void builder_leave_function(struct builder *builder, const struct python_moment *at)
{
	note_moment(builder, at->time_ns);
	spans_end(&builder->functions, thread_at(builder, at), at->frame, MODEL_SPAN_FUNCTION, at->time_ns);
}

static void close_thread(struct builder *builder, uint32_t thread, uint64_t time_ns)
{
	spans_close_track(&builder->pyevents, thread, time_ns);
	spans_close_track(&builder->functions, thread, time_ns);
}

void close_python_spans(struct builder *builder, uint32_t process, uint64_t time_ns)
{
	size_t tracks = builder->pyevents.tracks.count;

	note_moment(builder, time_ns);
	if (builder->functions.tracks.count > tracks)
		tracks = builder->functions.tracks.count;
	for (uint32_t i = 0; i < tracks; i++)
		if (builder->processes.threads.items[i].process == process)
			close_thread(builder, i, time_ns);
}

static void place_pyevents(struct builder *builder)
{
	size_t count = builder->processes.threads.count;
	AUTO_FREE struct span_place *places = spans_order_by_thread(&builder->pyevents, count);

	for (size_t i = 0; i < count; i++) {
		builder->processes.threads.items[i].first_pyspan = places[i].first;
		builder->processes.threads.items[i].pyspans = places[i].count;
	}
}

static void place_functions(struct builder *builder)
{
	size_t count = builder->processes.threads.count;
	AUTO_FREE struct span_place *places = spans_order_by_thread(&builder->functions, count);

	for (size_t i = 0; i < count; i++) {
		builder->processes.threads.items[i].first_pycall = places[i].first;
		builder->processes.threads.items[i].pycalls = places[i].count;
	}
}

void join_python_spans(struct builder *builder)
{
	const struct model_thread *threads = builder->processes.threads.items;
	struct spans *functions = &builder->functions;
	uint64_t end_ns = builder->model->end_ns;

	if (functions->collecting)
		spans_finish_collecting(functions);
	for (uint32_t i = 0; i < builder->processes.threads.count; i++) {
		uint64_t exit_ns = builder->processes.list.items[threads[i].process].exit_ns;
		uint64_t last_ns = exit_ns && exit_ns < end_ns ? exit_ns : end_ns;

		close_thread(builder, i, last_ns);
		if (functions->collecting)
			array_push(&functions->fates.ends, last_ns);
	}
	place_pyevents(builder);
	if (!functions->collecting)
		place_functions(builder);
}

/* ---- two passes -------------------------------------------------------------------------------------------------- */

void collect_spans(struct builder *builder)
{
	spans_collect(&builder->functions);
	ranges_collect(&builder->ranges, builder->model);
}

void read_spans_again(struct builder *builder)
{
	spans_read_again(&builder->functions, &builder->first->functions);
	ranges_read_again(&builder->ranges, &builder->first->ranges);
}

static uint64_t functions_of_thread(const struct builder *builder, uint32_t thread)
{
	const struct span_fates *fates = builder->functions.known;

	return thread < fates->kept.count ? fates->kept.items[thread] : 0;
}

void hand_over_spans(struct builder *builder, uint64_t until_ns, bool last)
{
	struct spans *functions = &builder->functions, *ranges = &builder->ranges.spans;
	struct model *model = builder->model;

	spans_take_part(functions, until_ns, last, model->thread_count);
	ranges_take_part(&builder->ranges, until_ns, last, model->thread_count);
	for (uint32_t i = 0; i < model->thread_count; i++) {
		struct model_thread *thread = &model->threads[i];

		thread->first_pycall = functions->places[i].first;
		thread->pycalls = functions->places[i].count;
		thread->pycalls_elsewhere = spans_are_elsewhere(functions, i, functions_of_thread(builder, i));
		thread->first_range = ranges->places[i].first;
		thread->ranges = ranges->places[i].count;
		thread->ranges_elsewhere = spans_are_elsewhere(ranges, i, ranges_of_thread(&builder->ranges, i));
	}
	SHOW(model, pycall, functions->part);
	SHOW(model, range, ranges->part);
}
