/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Synchronisations: on which device, and for which recording of an event.  CUPTI 12.8 and later number the
 * recordings; before, it is the last one of that event whose call came before the wait's.
 */
#include <stdlib.h>

#include "model/tables.h"

/* cudaErrorNotReady, CUDA_ERROR_NOT_READY (driver_types.h, cuda.h): a query that found the GPU still at work. */
#define CUDA_NOT_READY 600

bool builder_add_sync(struct builder *builder, struct program program, const struct new_sync *sync)
{
	struct sync_arrival arrival = {.program = program, .sync = *sync};

	if (sync->span.start_ns > sync->span.end_ns || sync->kind > GPT_AGENT_SYNC_CONTEXT)
		return false;
	if (sync->span.end_ns && sync->kind /* 0: CUPTI does not say */ && sync->result != CUDA_NOT_READY)
		array_push(&builder->sync_arrivals, arrival);
	return true;
}

void builder_add_event_record(struct builder *builder, struct program program, const struct new_event_record *record)
{
	struct event_record_arrival arrival = {.program = program, .record = *record};

	array_push(&builder->event_records, arrival);
}

/* What cudaEventSyncId is where it does not apply: CUPTI_SYNCHRONIZATION_INVALID_VALUE, as 32 or as 64 bits. */
static bool is_numbered(uint64_t event_record)
{
	return event_record && event_record != UINT32_MAX && event_record != UINT64_MAX;
}

/* One recording of an event, in order of process, context, event and time. */
struct recording {
	uint32_t process, context, event, stream, call;
	uint64_t time_ns;
};

struct recordings {
	ARRAY(struct recording) list;
	struct lookup numbered; /* (space, CUPTI's number) to index in builder.event_records */
	struct lookup devices;	/* (process + 1, context) to model_device.id */
};

static int compare_recordings(const void *left, const void *right)
{
	const struct recording *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static uint32_t call_of(const struct builder *builder, const struct event_record_arrival *arrival)
{
	return calls_place(&builder->calls, arrival->program.space, arrival->record.corr);
}

static void make_recordings(struct builder *builder, struct recordings *recordings)
{
	for (size_t i = 0; i < builder->event_records.count; i++) {
		const struct event_record_arrival *arrival = &builder->event_records.items[i];
		const struct new_event_record *event = &arrival->record;
		struct recording made = {.process = arrival->program.process,
					 .context = event->context,
					 .event = event->event,
					 .stream = event->stream,
					 .call = call_of(builder, arrival)};

		if (is_numbered(event->event_record))
			*lookup_put(&recordings->numbered, arrival->program.space, event->event_record, 0) =
				(uint32_t)i;
		if (made.call == NONE) /* its time is its call's */
			continue;
		made.time_ns = calls_start(&builder->calls, made.call);
		array_push(&recordings->list, made);
	}
	if (recordings->list.count)
		qsort(recordings->list.items, recordings->list.count, sizeof(recordings->list.items[0]),
		      compare_recordings);
}

/* The last recording that is not behind `wanted`; NULL when it is of another event, or there is none. */
static const struct recording *find_recording(const struct recordings *recordings, const struct recording *wanted)
{
	size_t low = 0, high = recordings->list.count;
	const struct recording *found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_recordings(&recordings->list.items[middle], wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	found = &recordings->list.items[low - 1];
	return found->process == wanted->process && found->context == wanted->context && found->event == wanted->event
		       ? found
		       : NULL;
}

static void find_event(const struct builder *builder, const struct recordings *recordings,
		       const struct sync_arrival *arrival, struct model_sync *sync)
{
	uint64_t number = arrival->sync.event_record;
	const uint32_t *index =
		is_numbered(number) ? lookup_get(&recordings->numbered, arrival->program.space, number) : NULL;
	struct recording wanted = {.process = sync->process, .context = sync->context, .event = sync->event};
	const struct recording *found;

	if (index) {
		sync->recorded_by = call_of(builder, &builder->event_records.items[*index]);
		sync->recorded_on = builder->event_records.items[*index].record.stream;
		return;
	}
	/* numbered, and not by us: what was recorded before the trace has no call of ours */
	if (is_numbered(number))
		return;
	wanted.time_ns = sync->call != NONE ? builder->calls.list.items[sync->call].start_ns : sync->start_ns;
	found = find_recording(recordings, &wanted);
	if (found) {
		sync->recorded_by = found->call;
		sync->recorded_on = found->stream;
	}
}

/* The GPU operations say on which device a context is; where it had none, its own record does. */
static void find_devices(struct builder *builder, struct recordings *recordings)
{
	for (size_t i = 0; i < builder->gpu.count; i++) {
		const struct model_gpu *op = &builder->gpu.list[i];

		lookup_put(&recordings->devices, op->process + 1, op->context, op->device);
	}
}

static uint32_t device_of(const struct builder *builder, const struct recordings *recordings, uint32_t process,
			  uint32_t context)
{
	const uint32_t *device = lookup_get(&recordings->devices, process + 1, context);

	return device ? *device : device_table_of_context(&builder->devices, process, context);
}

static void add_sync(struct builder *builder, const struct recordings *recordings, const struct sync_arrival *arrival)
{
	const struct new_sync *from = &arrival->sync;
	bool of_event = from->kind == GPT_AGENT_SYNC_EVENT || from->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
	bool of_stream = from->kind == GPT_AGENT_SYNC_STREAM || from->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
	uint32_t process = arrival->program.process;
	struct model_sync sync = {.call = calls_place(&builder->calls, arrival->program.space, from->corr),
				  .process = process,
				  .device = device_of(builder, recordings, process, from->context),
				  .context = from->context,
				  .stream = of_stream ? from->stream : NONE,
				  .event = of_event ? from->event : NONE,
				  .recorded_by = NONE,
				  .recorded_on = NONE,
				  .corr = from->corr,
				  .result = from->result,
				  .kind = (uint8_t)from->kind};
	struct clock_span span;

	if (!convert_span(builder, process, from->clock, from->span, calls_start(&builder->calls, sync.call), &span)) {
		builder_count_bad(builder);
		return;
	}
	sync.start_ns = span.start_ns;
	sync.end_ns = span.end_ns;
	if (begins_behind(builder, sync.call, sync.start_ns))
		return;
	if (of_event)
		find_event(builder, recordings, arrival, &sync);
	array_push(&builder->syncs, sync);
}

static int compare_starts(const void *left, const void *right)
{
	const struct model_sync *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return (a->corr > b->corr) - (a->corr < b->corr);
}

void join_syncs(struct builder *builder)
{
	struct recordings recordings = {0};
	uint64_t seed = hash_seed();

	if (!builder->sync_arrivals.count)
		return;
	lookup_init(&recordings.numbered, seed);
	lookup_init(&recordings.devices, seed);
	make_recordings(builder, &recordings);
	find_devices(builder, &recordings);
	for (size_t i = 0; i < builder->sync_arrivals.count; i++)
		add_sync(builder, &recordings, &builder->sync_arrivals.items[i]);
	if (builder->syncs.count)
		qsort(builder->syncs.items, builder->syncs.count, sizeof(builder->syncs.items[0]), compare_starts);
	array_free(&recordings.list);
	lookup_free(&recordings.numbered);
	lookup_free(&recordings.devices);
}
