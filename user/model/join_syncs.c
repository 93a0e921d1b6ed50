/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Synchronisations: on which device, and for which recording of an event.  CUPTI 12.8 and later number the
 * recordings; before, it is the last one of that event whose call came before the wait's.
 */
#include <stdlib.h>

#include "model/builder.h"

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
	struct lookup numbered; /* (space, CUPTI's number) to index in agents.events */
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

static void make_recordings(struct builder *builder, struct recordings *recordings)
{
	for (size_t i = 0; i < builder->agents.events.count; i++) {
		const struct agent_event *event = &builder->agents.events.items[i];
		struct recording made = {.process = event->process,
					 .context = event->context,
					 .event = event->event,
					 .stream = event->stream,
					 .call = event->call};

		if (is_numbered(event->event_record))
			*lookup_put(&recordings->numbered, event->space, event->event_record, 0) = (uint32_t)i;
		if (event->call == NONE) /* its time is its call's */
			continue;
		made.time_ns = builder->calls.list.items[event->call].start_ns;
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
		       const struct agent_sync *from, struct model_sync *sync)
{
	const uint32_t *index = is_numbered(from->event_record)
					? lookup_get(&recordings->numbered, from->space, from->event_record)
					: NULL;
	struct recording wanted = {.process = sync->process, .context = sync->context, .event = sync->event};
	const struct recording *found;

	if (index) {
		sync->recorded_by = builder->agents.events.items[*index].call;
		sync->recorded_on = builder->agents.events.items[*index].stream;
		return;
	}
	/* numbered, and not by us: what was recorded before the trace has no call of ours */
	if (is_numbered(from->event_record))
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
	for (size_t i = 0; i < builder->agents.gpu.count; i++) {
		const struct model_gpu *op = &builder->agents.gpu.items[i];

		lookup_put(&recordings->devices, op->process + 1, op->context, op->device);
	}
}

static uint32_t device_of(struct builder *builder, const struct recordings *recordings, const struct agent_sync *sync)
{
	const uint32_t *device = lookup_get(&recordings->devices, sync->process + 1, sync->context), *id;

	if (device)
		return *device;
	device = lookup_get(&builder->agents.contexts, sync->process + 1, sync->context);
	if (!device)
		return NONE;
	id = lookup_get(&builder->agents.devices_by_id, sync->process + 1, *device);
	return id ? *id : *device;
}

static void add_sync(struct builder *builder, const struct recordings *recordings, const struct agent_sync *from)
{
	bool of_event = from->kind == GPT_AGENT_SYNC_EVENT || from->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
	bool of_stream = from->kind == GPT_AGENT_SYNC_STREAM || from->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
	uint64_t call_ns = from->call != NONE ? builder->calls.list.items[from->call].start_ns : 0;
	struct model_sync sync = {.start_ns = from->start_ns,
				  .end_ns = from->end_ns,
				  .call = from->call,
				  .process = from->process,
				  .device = device_of(builder, recordings, from),
				  .context = from->context,
				  .stream = of_stream ? from->stream : NONE,
				  .event = of_event ? from->event : NONE,
				  .recorded_by = NONE,
				  .recorded_on = NONE,
				  .corr = from->corr,
				  .result = from->result,
				  .kind = (uint8_t)from->kind};

	if (!convert_span(builder, sync.process, call_ns, &sync.start_ns, &sync.end_ns)) {
		model_source(builder->model)->receipt.bad_records++;
		return;
	}
	if (begins_behind(builder, sync.call, sync.start_ns))
		return;
	if (of_event)
		find_event(builder, recordings, from, &sync);
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

	if (!builder->agents.syncs.count)
		return;
	lookup_init(&recordings.numbered, seed);
	lookup_init(&recordings.devices, seed);
	make_recordings(builder, &recordings);
	find_devices(builder, &recordings);
	for (size_t i = 0; i < builder->agents.syncs.count; i++)
		add_sync(builder, &recordings, &builder->agents.syncs.items[i]);
	if (builder->syncs.count)
		qsort(builder->syncs.items, builder->syncs.count, sizeof(builder->syncs.items[0]), compare_starts);
	array_free(&recordings.list);
	lookup_free(&recordings.numbered);
	lookup_free(&recordings.devices);
}
