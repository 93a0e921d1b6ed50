/*
 * tool.c: receives the core's events, on the application's threads.
 */
#include <stdatomic.h>

#include "stand-in.h"

static void tool_api(struct sim_api *call, int exiting, int status)
{
	bool recorded = call->outer && api_recorded(call->info->domain, call->info->cbid);

	if (!exiting) {
		subscriber_api(call, 0);
		call->tool_enter = recorded ? clock_now() : 0;
		return;
	}
	if (recorded && call->tool_enter) {
		external_emit(call->correlation);
		records_emit(&(CUpti_ActivityAPI){
			.kind = call->info->domain == SIM_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME
								  : CUPTI_ACTIVITY_KIND_DRIVER,
			.cbid = call->info->cbid,
			.start = call->tool_enter,
			.end = clock_now(),
			.processId = (uint32_t)sim_thread()->pid,
			.threadId = thread_id(),
			.correlationId = call->correlation,
			.returnValue = (uint32_t)status,
		});
	}
	subscriber_api(call, 1);
}

static enum sim_fate tool_work(const struct sim_work *work)
{
	static _Atomic uint32_t seen, kernels;
	const struct sim_options *options = sim_options();
	enum sim_fate fate = SIM_SENT;

	if (!kind_enabled(records_work_kind(work)))
		return SIM_UNSEEN;
	if (options->drop_every && (atomic_fetch_add(&seen, 1) + 1) % options->drop_every == 0) {
		buffers_drop();
		return SIM_DROPPED;
	}
	if (work->kind == SIM_KERNEL && options->zero_every &&
	    (atomic_fetch_add(&kernels, 1) + 1) % options->zero_every == 0)
		fate = SIM_ZEROED;
	delivery_add(work, fate, buffers_reserve(records_work_size(work)));
	return fate;
}

static void tool_resource(uint32_t cbid, const struct sim_resource *resource)
{
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
		if (kind_enabled(CUPTI_ACTIVITY_KIND_DEVICE))
			records_device(resource->context->device);
		if (kind_enabled(CUPTI_ACTIVITY_KIND_CONTEXT))
			records_context(resource->context);
	}
	if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED && kind_enabled(CUPTI_ACTIVITY_KIND_STREAM))
		records_stream(resource->stream);
	subscriber_resource(cbid, resource);
}

static void tool_sync(const struct sim_sync *sync)
{
	if (!kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
		return;
	records_emit(&(CUpti_ActivitySynchronization2){
		.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		.type = (CUpti_ActivitySynchronizationType)sync->type,
		.start = clock_convert(sync->start),
		.end = clock_convert(sync->end),
		.correlationId = sync->correlation,
		.contextId = sync->context,
		.streamId = sync->stream,
		.cudaEventId = sync->event,
		.cudaEventSyncId = sync->record ? sync->record : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
	});
}

/* Before 12.9 (API v27) SYNCHRONIZATION also enabled this kind; 11.8 does not know it. */
static void tool_event(const struct sim_event_record *event)
{
	bool coupled =
		layout_version() > 18 && layout_version() < 27 && kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);

	if (!coupled && !kind_enabled(CUPTI_ACTIVITY_KIND_CUDA_EVENT))
		return;
	records_emit(&(CUpti_ActivityCudaEvent2){
		.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
		.correlationId = event->correlation,
		.contextId = event->context,
		.streamId = event->stream,
		.eventId = event->event,
		.deviceId = event->device,
		.cudaEventSyncId = event->record,
	});
}

static void tool_memory(const struct sim_memory_event *event)
{
	if (!kind_enabled(CUPTI_ACTIVITY_KIND_MEMORY2))
		return;
	records_emit(&(CUpti_ActivityMemory4){
		.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
		.memoryOperationType = event->release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
						      : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
		.memoryKind = (CUpti_ActivityMemoryKind)event->kind,
		.correlationId = event->correlation,
		.address = event->address,
		.bytes = event->bytes,
		.timestamp = clock_now(),
		.processId = (uint32_t)sim_thread()->pid,
		.deviceId = event->device,
		.contextId = event->context,
		.streamId = UINT32_MAX,
	});
}

static void tool_jit(const struct sim_jit *jit)
{
	if (!kind_enabled(CUPTI_ACTIVITY_KIND_JIT))
		return;
	records_emit(&(CUpti_ActivityJit2){
		.kind = CUPTI_ACTIVITY_KIND_JIT,
		.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
		.jitOperationType = (CUpti_ActivityJitOperationType)jit->operation,
		.deviceId = jit->device,
		.start = clock_convert(jit->start),
		.end = clock_convert(jit->end),
		.correlationId = jit->correlation,
		.jitOperationCorrelationId = jit->unit,
		.cacheSize = jit->bytes,
		.cachePath = "/nonexistent/ComputeCache",
		.processId = (uint32_t)sim_thread()->pid,
		.threadId = thread_id(),
	});
}

static const struct sim_tool tool = {
	.api = tool_api,
	.work = tool_work,
	.resource = tool_resource,
	.sync = tool_sync,
	.event = tool_event,
	.memory = tool_memory,
	.jit = tool_jit,
};

__attribute__((constructor)) static void announce(void)
{
	sim_tool_set(&tool);
}
