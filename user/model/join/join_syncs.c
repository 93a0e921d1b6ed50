/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins synchronisations: finds the device, and the recording of the event waited for.  CUPTI 12.8 and later number the
 * recordings; for earlier versions it is the event's last recording whose call came before the wait's.
 */
#include <stdlib.h>

#include "base/order.h"
#include "model/join/tables.h"

bool builder_add_agent_sync(struct builder *builder, const struct sender *sender, const struct gpt_agent_sync *sync)
{
	if (sync->start_wall_ns > sync->end_wall_ns || sync->kind > GPT_AGENT_SYNC_CONTEXT)
		return false;
	if (!sync->end_wall_ns || !sync->kind /* 0: CUPTI does not say */ || sync->result == MODEL_CUDA_NOT_READY)
		return true;
	if (builder->pass == PASS_FIRST)
		totals_add_sync(&builder->collected.totals);
	receive_sync(builder, PENDING(sync, sender, sync), sync->corr);
	return true;
}

bool builder_add_agent_event(struct builder *builder, const struct sender *sender,
			     const struct gpt_agent_event *event_record)
{
	receive_event_record(builder, PENDING(event_record, sender, event_record), event_record->corr);
	return true;
}

/* Takes the calls that recorded events from the current model. */
static void make_recordings(struct builder *builder, struct recordings *recordings)
{
	array_each (pending, &builder->pending_event_records) {
		const struct gpt_agent_event *record = &pending->record;
		struct recording made = {.process = pending->program.process,
					 .epoch = pending->program.epoch,
					 .context = record->context,
					 .event = record->event,
					 .stream = record->stream,
					 .number = record->event_record,
					 .call = calls_place(&builder->calls, pending->program.epoch, record->corr)};

		made.time_ns = calls_start(&builder->calls, made.call);
		recordings_add(recordings, &made);
	}
	if (builder->pending_event_records.count)
		recordings_order(recordings);
	builder->pending_event_records.count = 0;
}

static void find_event(const struct builder *builder, const struct recordings *recordings,
		       const struct pending_sync *pending, struct model_sync *sync)
{
	struct recording wanted = {.process = sync->process, .context = sync->context, .event = sync->event};
	uint64_t number = pending->record.event_record;
	const struct recording *found = recordings_numbered(recordings, pending->program.epoch, number);

	/* numbered but not found: the event was recorded before the trace, and the call is not in it */
	if (!found && !recording_is_numbered(number)) {
		wanted.time_ns = sync->call != NONE ? builder->calls.list.items[sync->call].start_ns : sync->start_ns;
		found = recordings_latest(recordings, &wanted);
	}
	if (found) {
		sync->recorded_by = found->call;
		sync->recorded_on = found->stream;
	}
}

/* Takes a context's device from its GPU operations; without any, its own record is used (device_of). */
static void find_devices(struct builder *builder)
{
	for (size_t i = 0; i < builder->gpu.count; i++) {
		const struct model_gpu *op = &builder->gpu.list[i];

		lookup_put(&builder->collected.contexts, op->process + 1, op->context, op->device);
	}
}

static uint32_t device_of(const struct builder *builder, uint32_t process, uint32_t context)
{
	const uint32_t *device = lookup_get(&known_facts(builder)->collected.contexts, process + 1, context);

	return device ? *device : device_table_of_context(&known_facts(builder)->devices, process, context);
}

static struct model_sync sync_of(struct builder *builder, const struct pending_sync *pending)
{
	const struct gpt_agent_sync *from = &pending->record;
	bool of_event = from->kind == GPT_AGENT_SYNC_EVENT || from->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
	bool of_stream = from->kind == GPT_AGENT_SYNC_STREAM || from->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
	uint32_t process = pending->program.process;

	return (struct model_sync){.call = calls_place(&builder->calls, pending->program.epoch, from->corr),
				   .process = process,
				   .device = device_of(builder, process, from->context),
				   .context = from->context,
				   .stream = of_stream ? from->stream : NONE,
				   .event = of_event ? from->event : NONE,
				   .recorded_by = NONE,
				   .recorded_on = NONE,
				   .corr = from->corr,
				   .result = from->result,
				   .kind = (uint8_t)from->kind};
}

bool join_sync(struct builder *builder, const struct pending_sync *pending, uint64_t complete_ns)
{
	struct model_sync sync = sync_of(builder, pending);
	struct clock_span span = {pending->record.start_wall_ns, pending->record.end_wall_ns};
	enum event_place place = place_event(builder,
					     &(struct event_origin){.process = sync.process,
								    .clock = pending->clock,
								    .call = sync.call,
								    .corr = sync.corr,
								    .shared = pending->shared,
								    .waits = true},
					     &span, complete_ns);

	sync.start_ns = span.start_ns;
	sync.end_ns = span.end_ns;
	if (place != EVENT_IN_TRACE)
		return place != EVENT_WAITS;
	if (sync.kind == GPT_AGENT_SYNC_EVENT || sync.kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT)
		find_event(builder, &builder->parts.recordings, pending, &sync);
	array_push(&builder->syncs, sync);
	return true;
}

DEFINE_ORDER(compare_starts, struct model_sync,
	     least_first(a->start_ns, b->start_ns) ?: most_first(a->end_ns, b->end_ns) ?: least_first(a->corr, b->corr))

void prepare_syncs(struct builder *builder)
{
	make_recordings(builder, &builder->parts.recordings);
	if (builder->pass == PASS_ONLY && builder->pending_syncs.count)
		find_devices(builder);
}

void order_syncs(struct builder *builder)
{
	size_t from = builder->model->syncs_in_part.from;

	if (builder->syncs.count > from)
		qsort(builder->syncs.items + from, builder->syncs.count - from, sizeof(builder->syncs.items[0]),
		      compare_starts);
}
