/*
 * records.c: turns the core's events into activity records. Each is made in the newest layout and
 * cut to its length in the simulated version.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../core/device.h"
#include "stand-in.h"

/* Newer than the headers: 13.4 appended the node that a graph's node was cloned from. */
struct source_tail {
	uint32_t graph, pad;
	uint64_t node;
};

union record {
	CUpti_Activity head;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 memcpy;
	CUpti_ActivityMemset4 memset;
	uint8_t bytes[RECORD_MAX];
};

void records_emit(void *record)
{
	union record padded;
	size_t size = layout_size(((CUpti_Activity *)record)->kind);
	size_t known = 0;

	switch (((CUpti_Activity *)record)->kind) {
	case CUPTI_ACTIVITY_KIND_DEVICE:
		known = sizeof(CUpti_ActivityDevice5);
		break;
	case CUPTI_ACTIVITY_KIND_CONTEXT:
		known = sizeof(CUpti_ActivityContext3);
		break;
	default:
		break;
	}
	if (known && known < size) {
		memset(&padded, 0, sizeof(padded));
		memcpy(&padded, record, known);
		record = &padded;
	}
	buffers_append(record, size);
}

uint32_t records_work_kind(const struct sim_work *work)
{
	static const uint32_t kinds[] = {
		[SIM_KERNEL] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		[SIM_MEMCPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
		[SIM_MEMSET] = CUPTI_ACTIVITY_KIND_MEMSET,
	};

	if (work->kind == SIM_KERNEL && kind_enabled(CUPTI_ACTIVITY_KIND_KERNEL))
		return CUPTI_ACTIVITY_KIND_KERNEL;
	return kinds[work->kind];
}

size_t records_work_size(const struct sim_work *work)
{
	return layout_size(records_work_kind(work));
}

static void fill_kernel(union record *record, const struct sim_work *work)
{
	static _Atomic int64_t grids;
	CUpti_ActivityKernel10 *kernel = &record->kernel;

	kernel->completed = kernel->end;
	kernel->registersPerThread = (uint16_t)work->registers;
	kernel->deviceId = work->device;
	kernel->contextId = work->context;
	kernel->streamId = work->stream;
	kernel->gridX = (int32_t)work->grid[0];
	kernel->gridY = (int32_t)work->grid[1];
	kernel->gridZ = (int32_t)work->grid[2];
	kernel->blockX = (int32_t)work->block[0];
	kernel->blockY = (int32_t)work->block[1];
	kernel->blockZ = (int32_t)work->block[2];
	kernel->dynamicSharedMemory = (int32_t)work->shared;
	kernel->correlationId = work->correlation;
	kernel->gridId = atomic_fetch_add(&grids, 1) + 1;
	kernel->name = work->name;
	kernel->graphNodeId = work->node;
	kernel->graphId = work->graph;
	kernel->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	*(struct source_tail *)(record->bytes + 232) = (struct source_tail){work->source_graph, 0, work->source_node};
}

static void fill_memcpy(union record *record, const struct sim_work *work)
{
	CUpti_ActivityMemcpy6 *copy = &record->memcpy;

	copy->copyKind = work->copy.copy_kind;
	copy->srcKind = work->copy.src_kind;
	copy->dstKind = work->copy.dst_kind;
	copy->flags = work->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	copy->bytes = work->bytes;
	copy->deviceId = work->device;
	copy->contextId = work->context;
	copy->streamId = work->stream;
	copy->correlationId = work->correlation;
	copy->graphNodeId = work->node;
	copy->graphId = work->graph;
	copy->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	copy->copyCount = 1;
	*(struct source_tail *)(record->bytes + 96) = (struct source_tail){work->source_graph, 0, work->source_node};
}

static void fill_memset(union record *record, const struct sim_work *work)
{
	CUpti_ActivityMemset4 *set = &record->memset;

	set->value = work->value;
	set->bytes = work->bytes;
	set->deviceId = work->device;
	set->contextId = work->context;
	set->streamId = work->stream;
	set->correlationId = work->correlation;
	set->flags = work->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	set->memoryKind = work->copy.dst_kind;
	set->graphNodeId = work->node;
	set->graphId = work->graph;
	set->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	*(struct source_tail *)(record->bytes + 88) = (struct source_tail){work->source_graph, 0, work->source_node};
}

_Static_assert(offsetof(CUpti_ActivityKernel10, start) == offsetof(CUpti_ActivityMemcpy6, start) &&
		       offsetof(CUpti_ActivityMemcpy6, start) == offsetof(CUpti_ActivityMemset4, start),
	       "GPU records have their start and end at one place");

static void set_times(union record *record, const struct sim_work *work)
{
	uint64_t (*convert)(uint64_t) = faults_clock_falls() ? sim_to_realtime : clock_convert;
	enum fault_times times = work->kind == SIM_KERNEL ? faults_of_kernel() : TIMES_RIGHT;

	if (times == TIMES_NONE)
		return;
	record->kernel.start = convert(work->start);
	record->kernel.end = times == TIMES_BACKWARDS ? record->kernel.start - 1 : convert(work->end);
}

void records_work(const struct sim_work *work, enum sim_fate fate, struct buffers_queue *queue)
{
	static void (*const fill[])(union record *, const struct sim_work *) = {
		[SIM_KERNEL] = fill_kernel,
		[SIM_MEMCPY] = fill_memcpy,
		[SIM_MEMSET] = fill_memset,
	};
	union record record;

	memset(&record, 0, sizeof(record));
	record.head.kind = (CUpti_ActivityKind)records_work_kind(work);
	if (fate != SIM_ZEROED)
		set_times(&record, work);
	fill[work->kind](&record, work);
	buffers_append_reserved(queue, &record, layout_size(record.head.kind));
}

void records_device(int device)
{
	CUpti_ActivityDevice5 record = {
		.kind = CUPTI_ACTIVITY_KIND_DEVICE,
		.globalMemoryBandwidth = 3352320000,
		.coreClockRate = SIM_CLOCK_KHZ,
		.numThreadsPerWarp = 32,
		.numMultiprocessors = SIM_MULTIPROCESSORS,
		.l2CacheSize = SIM_L2_BYTES,
		.maxWarpsPerMultiprocessor = 64,
		.maxThreadsPerBlock = 1024,
		.computeCapabilityMajor = SIM_CC_MAJOR,
		.computeCapabilityMinor = SIM_CC_MINOR,
		.id = (uint32_t)device,
		.isCudaVisible = 1,
	};
	size_t unused, total;

	sim_memory_info(&unused, &total);
	record.globalMemorySize = total;
	sim_device_uuid(device, (unsigned char *)record.uuid.bytes);
	record.name = strdup(SIM_DEVICE_NAME); /* the client frees it */
	records_emit(&record);
}

void records_context(CUcontext context)
{
	records_emit(&(CUpti_ActivityContext3){
		.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
		.contextId = context->id,
		.deviceId = (uint32_t)context->device,
		.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
		.nullStreamId = (uint16_t)context->legacy->id,
	});
}

void records_stream(CUstream stream)
{
	CUpti_ActivityStreamFlag flag = stream->flags & CU_STREAM_NON_BLOCKING
						? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
						: CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;

	if (stream == stream->context->legacy)
		flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
	records_emit(&(CUpti_ActivityStream){
		.kind = CUPTI_ACTIVITY_KIND_STREAM,
		.contextId = stream->context->id,
		.streamId = stream->id,
		.priority = (uint32_t)stream->priority,
		.flag = flag,
		.correlationId = sim_thread()->correlation,
	});
}
