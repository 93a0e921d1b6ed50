/*
 * timeline.c: when work runs. Nothing executes it: its start and end are computed at submission, or
 * as soon as other processes have come, and waiting for it means sleeping until its end. Copies and
 * fills take effect at once in host memory.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_activity.h>

#include "placing.h"

#define COPY_FIXED_NS 1500u

pthread_mutex_t placing_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t last_event;
static _Atomic uint64_t last_record;

/* A full queue blocks the submitting thread, as in the real driver. */
static void wait_for_room(CUstream stream)
{
	uint32_t depth = sim_options()->queue;
	uint64_t oldest = 0;
	bool is_full = true;

	while (is_full) {
		pthread_mutex_lock(&placing_lock);
		is_full = stream->deferred >= depth;
		if (!is_full && stream->submitted + stream->deferred >= depth)
			oldest = stream->ends[(stream->submitted + stream->deferred - depth) % SIM_QUEUE_MAX];
		pthread_mutex_unlock(&placing_lock);
		if (is_full)
			nap();
	}
	sim_sleep_until(oldest);
}

uint64_t start_locked(CUstream stream, uint64_t submitted)
{
	CUcontext context = stream->context;
	uint64_t start = later(submitted + sim_options()->latency_ns, stream->last_end);

	if (stream == context->legacy)
		start = later(start, context->blocking_end);
	if (is_blocking(stream))
		start = later(start, context->legacy->last_end);
	return start;
}

void end_locked(CUstream stream, struct sim_work *work)
{
	stream->last_end = work->end;
	stream->ends[stream->submitted++ % SIM_QUEUE_MAX] = work->end;
	if (is_blocking(stream))
		stream->context->blocking_end = later(stream->context->blocking_end, work->end);
}

void place_locked(CUstream stream, struct sim_work *work)
{
	work->start = start_locked(stream, work->submitted);
	work->end = work->start +
		    (work->kind == SIM_KERNEL ? sim_duration_at(work->start, work->duration_ns) : work->duration_ns);
	end_locked(stream, work);
}

uint64_t end_of_locked(CUstream stream)
{
	CUcontext context = stream->context;

	return stream == context->legacy ? later(stream->last_end, context->blocking_end) : stream->last_end;
}

static void perform_work(const struct sim_work *work)
{
	const struct sim_copy *copy = &work->copy;

	if (work->kind == SIM_MEMCPY) {
		for (size_t row = 0; row < copy->height; row++)
			memmove((char *)copy->dst + row * copy->dst_pitch,
				(const char *)copy->src + row * copy->src_pitch, copy->width);
	} else if (work->kind == SIM_MEMSET && work->value_size <= 1) {
		memset(copy->dst, (int)work->value, work->bytes);
	} else if (work->kind == SIM_MEMSET) {
		for (size_t at = 0; at + work->value_size <= work->bytes; at += work->value_size)
			memcpy((char *)copy->dst + at, &work->value, work->value_size);
	}
}

void sim_submit(CUstream handle, struct sim_work *work)
{
	CUstream stream = sim_stream_resolve(handle);
	struct sim_deferred *done = NULL;
	bool at_once;

	if (stream->capture && !work->graph) {
		static const CUgraphNodeType types[] = {
			[SIM_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
			[SIM_MEMCPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
			[SIM_MEMSET] = CU_GRAPH_NODE_TYPE_MEMSET,
		};

		sim_graph_add(stream->capture, types[work->kind], work);
		return;
	}
	work->device = (uint32_t)stream->context->device;
	work->context = stream->context->id;
	work->stream = stream->id;
	work->correlation = sim_thread()->correlation;
	perform_work(work);
	wait_for_room(stream);
	pthread_mutex_lock(&placing_lock);
	work->submitted = sim_now();
	at_once = !work->meeting && is_first_locked(stream, next_number_locked());
	if (at_once) {
		place_locked(stream, work);
	} else {
		if (work->meeting)
			work->execution = work->meeting->submit(work->meeting);
		defer_locked(stream, &(struct sim_deferred){.kind = DEFERRED_WORK, .work = *work});
		done = advance_locked();
	}
	pthread_mutex_unlock(&placing_lock);
	if (at_once)
		publish(work, sim_thread()->tid, sim_thread()->label);
	publish_all(done);
}

static uint64_t stream_end(CUstream stream)
{
	uint64_t end;

	pthread_mutex_lock(&placing_lock);
	end = end_of_locked(stream);
	pthread_mutex_unlock(&placing_lock);
	return end;
}

/* The work is the last of its stream. */
static void sleep_until_end(CUstream stream, const struct sim_work *work)
{
	if (work->end) {
		sim_sleep_until(work->end);
		return;
	}
	wait_for_deferred(stream->context, stream);
	sim_sleep_until(stream_end(stream));
}

static uint8_t copy_kind_of(enum sim_memory src, enum sim_memory dst)
{
	bool from_device = src == SIM_DEVICE || src == SIM_MANAGED;
	bool to_device = dst == SIM_DEVICE || dst == SIM_MANAGED;

	if (from_device)
		return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
	return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

/* Bytes per microsecond: device memory 1.2 TB/s, pinned 24 GB/s, pageable 6 GB/s. */
static uint64_t copy_duration(const struct sim_copy *copy, uint64_t bytes)
{
	uint64_t rate = 1200000;

	if (copy->copy_kind != CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
		rate = copy->src_kind == SIM_PAGEABLE || copy->dst_kind == SIM_PAGEABLE ? 6000 : 24000;
	return COPY_FIXED_NS + bytes * 1000 / rate;
}

static void copy_classify(struct sim_copy *copy)
{
	enum sim_memory src = sim_memory_kind(copy->src), dst = sim_memory_kind(copy->dst);

	copy->src_kind = (uint8_t)src;
	copy->dst_kind = (uint8_t)dst;
	copy->copy_kind = copy_kind_of(src, dst);
}

uint64_t sim_copy_ns(const void *dst, const void *src, size_t bytes)
{
	struct sim_copy copy = {.dst = (void *)dst, .src = src};

	copy_classify(&copy);
	return copy_duration(&copy, bytes);
}

/* Waits for the copy where CUDA does; an async copy only waits if memory is pageable. */
bool sim_submit_copy(CUstream handle, struct sim_copy copy, bool async)
{
	CUstream stream = sim_stream_resolve(handle);
	struct sim_work work = {.kind = SIM_MEMCPY, .async = async};

	copy_classify(&copy);
	work.copy = copy;
	work.bytes = copy.width * copy.height;
	work.duration_ns = copy_duration(&copy, work.bytes);
	work.name = "";
	if (!work.bytes)
		return true;
	sim_submit(stream, &work);
	if (stream->capture)
		return true;
	if (!async ? copy.copy_kind != CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
		   : copy.src_kind == SIM_PAGEABLE || copy.dst_kind == SIM_PAGEABLE)
		sleep_until_end(stream, &work);
	return true;
}

void sim_submit_set(CUstream stream, void *dst, uint32_t value, uint32_t value_size, size_t bytes, bool async)
{
	struct sim_work work = {.kind = SIM_MEMSET, .async = async};

	work.value = value_size == 1 ? value & 0xff : value;
	work.value_size = value_size;
	work.bytes = bytes;
	work.copy.dst = dst;
	work.copy.dst_kind = (uint8_t)sim_memory_kind(dst);
	work.duration_ns = COPY_FIXED_NS + bytes * 1000 / 1200000;
	work.name = "";
	if (bytes)
		sim_submit(stream, &work);
}

/* ---- waiting ---- */

static void report_sync(uint32_t type, uint64_t start, CUcontext context, uint32_t stream, CUevent event)
{
	const struct sim_tool *tool = sim_tool();

	if (tool)
		tool->sync(&(struct sim_sync){
			.type = type,
			.start = start,
			.end = sim_now(),
			.context = context->id,
			.stream = stream,
			.event = event ? event->id : UINT32_MAX,
			.correlation = sim_thread()->correlation,
			.record = event ? event->record : 0,
		});
}

bool sim_stream_idle(CUstream handle)
{
	CUstream stream = sim_stream_resolve(handle);

	return !is_pending(stream->context, stream, UINT64_MAX) && stream_end(stream) <= sim_now();
}

void sim_stream_synchronize(CUstream handle)
{
	CUstream stream = sim_stream_resolve(handle);
	uint64_t start = sim_now();

	wait_for_deferred(stream->context, stream);
	sim_sleep_until(stream_end(stream));
	report_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start, stream->context, stream->id, NULL);
}

void sim_context_synchronize(CUcontext context)
{
	uint64_t start = sim_now(), end = 0;

	wait_for_deferred(context, NULL);
	pthread_mutex_lock(&placing_lock);
	for (CUstream stream = context->streams; stream; stream = stream->next)
		end = later(end, stream->last_end);
	pthread_mutex_unlock(&placing_lock);
	sim_sleep_until(end);
	report_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, start, context, UINT32_MAX, NULL);
}

/* ---- events ---- */

CUevent sim_event_create(unsigned flags)
{
	CUevent event = calloc(1, sizeof(*event));

	if (!event)
		abort();
	event->context = sim_context_current();
	event->id = atomic_fetch_add(&last_event, 1) + 1;
	event->flags = flags;
	return event;
}

void sim_event_destroy(CUevent event)
{
	pthread_mutex_lock(&placing_lock);
	release(event->recording);
	pthread_mutex_unlock(&placing_lock);
	free(event);
}

bool sim_event_is_recorded(CUevent event)
{
	bool is_recorded;

	pthread_mutex_lock(&placing_lock);
	is_recorded = event->recording != NULL;
	pthread_mutex_unlock(&placing_lock);
	return is_recorded;
}

bool sim_event_time(CUevent event, uint64_t *time)
{
	bool is_known;

	pthread_mutex_lock(&placing_lock);
	is_known = event->recording && event->recording->is_known;
	*time = is_known ? event->recording->time : 0;
	pthread_mutex_unlock(&placing_lock);
	return is_known;
}

static void record(CUevent event, CUstream stream)
{
	struct sim_recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		abort();
	recording->references = 1;
	pthread_mutex_lock(&placing_lock);
	release(event->recording);
	event->recording = recording;
	if (is_first_locked(stream, next_number_locked())) {
		recording->time = later(end_of_locked(stream), sim_now());
		recording->is_known = true;
	} else {
		recording->references++;
		defer_locked(stream, &(struct sim_deferred){
					     .kind = DEFERRED_RECORD, .recording = recording, .submitted = sim_now()});
	}
	pthread_mutex_unlock(&placing_lock);
}

void sim_event_record(CUevent event, CUstream handle)
{
	CUstream stream = sim_stream_resolve(handle);
	const struct sim_tool *tool = sim_tool();

	event->capture = stream->capture;
	event->capture_id = stream->capture_id;
	if (stream->capture)
		return;
	record(event, stream);
	event->record = atomic_fetch_add(&last_record, 1) + 1;
	if (tool)
		tool->event(&(struct sim_event_record){
			.device = (uint32_t)stream->context->device,
			.context = stream->context->id,
			.stream = stream->id,
			.event = event->id,
			.correlation = sim_thread()->correlation,
			.record = event->record,
		});
}

void sim_event_synchronize(CUevent event)
{
	uint64_t start = sim_now(), time;

	if (sim_event_is_recorded(event)) {
		while (!sim_event_time(event, &time))
			nap();
		sim_sleep_until(time);
	}
	report_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start, event->context, UINT32_MAX, event);
}

/* A stream that waits for an event of a capture joins that capture. */
void sim_stream_wait_event(CUstream handle, CUevent event)
{
	CUstream stream = sim_stream_resolve(handle);
	uint64_t start = sim_now();

	if (event->capture) {
		stream->capture = event->capture;
		stream->capture_id = event->capture_id;
		return;
	}
	pthread_mutex_lock(&placing_lock);
	if (event->recording && event->recording->is_known && is_first_locked(stream, next_number_locked())) {
		stream->last_end = later(stream->last_end, event->recording->time);
	} else if (event->recording) {
		event->recording->references++;
		defer_locked(stream, &(struct sim_deferred){.kind = DEFERRED_WAIT, .recording = event->recording});
	}
	pthread_mutex_unlock(&placing_lock);
	report_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, start, stream->context, stream->id, event);
}
