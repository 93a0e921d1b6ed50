/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first steps of joining: clocks, and the call of each API activity record. */
#include "model/join/tables.h"

/*
 * GPU work lies within the recording; an hour allows for work that began earlier, and for clocks that were set.  A time
 * beyond it is not real.
 */
#define OUTSIDE_MAX_NS (3600ull * 1000000000)

/* Error of the header's wall clock sample, which is two successive clock reads. */
#define HEADER_CLOCK_ERROR_NS 1000

bool convert_span(struct builder *builder, uint32_t process, enum source_clock clock, struct clock_span span,
		  uint64_t not_before_ns, struct clock_span *monotonic)
{
	struct builder *all = known_facts(builder);
	uint64_t first = all->model->start_ns > OUTSIDE_MAX_NS ? all->model->start_ns - OUTSIDE_MAX_NS : 0;
	uint64_t last = all->last_ns < UINT64_MAX - OUTSIDE_MAX_NS ? all->last_ns + OUTSIDE_MAX_NS : UINT64_MAX;
	uint32_t track = all->processes.states.items[process].clock;
	uint64_t length = span.end_ns - span.start_ns, start = span.start_ns;

	/* one offset for start and end: CUPTI fitted both together, and the length is the GPU's own */
	if (clock != SOURCE_CLOCK_MONOTONIC || !start)
		start -= (uint64_t)wall_clock_offset(&all->clock, track, start, not_before_ns);
	if (start < first || start > last || length > last - start)
		return false;
	*monotonic = (struct clock_span){.start_ns = start, .end_ns = start + length};
	return true;
}

void prepare_clock(struct builder *builder)
{
	if (!builder->clock.collector.samples.count) {
		struct gpt_clock header = {.mono_ns = builder->model->start_ns,
					   .wall_offset_ns = model_source(builder->model)->wall_offset_ns,
					   .error_ns = HEADER_CLOCK_ERROR_NS};

		wall_clock_add_sample(&builder->clock.collector, &header);
	}
	wall_clock_prepare(&builder->clock);
}

/* Rounding of two clocks that were read one after the other. */
#define ROUNDING_NS 100

/* Converts the pending records to one clock. */
static void place_activities(struct builder *builder)
{
	struct api_activities *table = &builder->api_activities;

	array_each (pending, &table->pending) {
		struct clock_span span = {pending->record.start_wall_ns, pending->record.end_wall_ns};

		if (convert_span(builder, pending->program.process, pending->clock, span, 0, &span))
			api_activities_place(table, pending, span.start_ns, span.end_ns);
		else
			builder_count_bad(builder, BAD_TIME, 1);
	}
	table->pending.count = 0;
}

/* Sets when each agent that borrowed CUPTI saw its last call. */
void end_borrowing(struct builder *builder)
{
	const struct api_activities *table = &builder->api_activities;

	for (size_t i = 0; i < builder->processes.list.count; i++) {
		struct model_process *process = &builder->processes.list.items[i];
		uint64_t stopped_ns = builder->processes.states.items[i].borrow_stopped_ns;

		/* If it stopped before the trace ended, it did not see calls after its last record. */
		if (stopped_ns && stopped_ns < builder->model->end_ns)
			process->borrowed_end_ns = i < table->ranges.count ? table->ranges.items[i].end_ns : 0;
		else
			process->borrowed_end_ns = builder->model->end_ns;
	}
}

void join_api_activities(struct builder *builder, uint64_t part_ns)
{
	struct api_activities *table = &builder->api_activities;
	const struct model *model = known_facts(builder)->model;
	struct api_activity_terms terms = {.until_ns = model->end_ns,
					   .part_ns = part_ns,
					   .calls_lost =
						   model_source(model)->receipt.counters[GPT_COUNTER_CALLS_LOST] != 0};

	place_activities(builder);
	terms.error_ns = known_facts(builder)->clock.error_ns + ROUNDING_NS;
	for (size_t i = 0; !builder->first && i < table->list.count; i++) {
		const struct api_activity *activity = &table->list.items[i];

		if (activity->start_ns >= model->start_ns && activity->start_ns <= terms.until_ns)
			api_activities_note_range(table, activity->process, activity->corr, activity->end_ns);
	}
	api_activities_join(table, &terms);
}
