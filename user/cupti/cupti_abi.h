/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * CUPTI's binary interface as far as the agent uses it: numbers, offsets, function types.  NVIDIA's headers are not
 * needed to build; tests/cupti_headers.sh compares every line with the headers of many versions.
 *
 * Source: cupti_activity.h, cupti_callbacks.h, cupti_result.h of CUDA 11.8 to 13.5.  Records only ever grow at their
 * end, so an offset is valid for every version whose record is long enough: never use sizeof here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cuptiGetVersion: small numbers up to CUDA 12.9, then major * 10000 + minor * 100 + patch. */
#define CUPTI_API_11_8 18u /* also 12.0, 12.1 before cupti_version.h was raised */
#define CUPTI_API_12_2 20u /* the state domain */
#define CUPTI_API_12_9 27u /* buffers may be refused without a crash */
#define CUPTI_API_NEW_FORM 130000u
#define CUPTI_API_13_2 130200u

/*
 * CUPTI 13.2 (and no other version of 11.8 to 13.5) recurses until the stack overflows if any of its functions is
 * called while the driver is not usable: cuptiGetVersion and cuptiGetResultString initialise the library, and each
 * reports a failure through the other.  Seen with the wheel 13.2.86, which PyTorch 2.15 also ships.  The agent
 * recognises such a library by its exports (13.2 has the first symbol below, 13.3 the second), and calls nothing in it
 * before the driver has proven itself: it is new enough, initialises, and has a GPU.
 */
#define CUPTI_SYMBOL_OF_13_2 "cuptiActivityEnable_v2"
#define CUPTI_SYMBOL_OF_13_3 "cuptiIsTracingSessionRunning"
#define CUPTI_13_2_DRIVER 13020u /* as cuDriverGetVersion: an older one is not usable for CUPTI 13.2 */

/* CUptiResult */
enum {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12, /* end of a buffer */
	CUPTI_NOT_INITIALIZED = 15,   /* no usable driver (11.8, 12.x) */
	CUPTI_INVALID_KIND = 21,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_UNKNOWN = 999, /* no usable driver (13.x) */
};

/* CUpti_ActivityKind */
enum {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_DRIVER = 4,
	CUPTI_KIND_RUNTIME = 5,
	CUPTI_KIND_DEVICE = 8,
	CUPTI_KIND_CONTEXT = 9,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_MEMCPY2 = 22, /* peer to peer; comes with MEMCPY */
	CUPTI_KIND_CUDA_EVENT = 36,
	CUPTI_KIND_STREAM = 37,
	CUPTI_KIND_SYNCHRONIZATION = 38,
	CUPTI_KIND_MEMORY2 = 49,
	CUPTI_KIND_JIT = 52,
	CUPTI_KIND_COUNT = 64, /* size of the table of sizes; gputrace takes no larger kind */
};

/* CUpti_runtime_api_trace_cbid (cupti_runtime_cbid.h): cudaProfilerStart_v4000, cudaProfilerStop_v4000 */
enum {
	CUPTI_RUNTIME_PROFILER_START = 171,
	CUPTI_RUNTIME_PROFILER_STOP = 172,
};

/* CUpti_driver_api_trace_cbid (cupti_driver_cbid.h): calls that load code, find a kernel in it, and launch it */
enum {
	CUPTI_DRIVER_MODULE_LOAD = 18,
	CUPTI_DRIVER_MODULE_LOAD_DATA = 19,
	CUPTI_DRIVER_MODULE_LOAD_DATA_EX = 20,
	CUPTI_DRIVER_MODULE_LOAD_FAT_BINARY = 21,
	CUPTI_DRIVER_MODULE_UNLOAD = 22,
	CUPTI_DRIVER_MODULE_GET_FUNCTION = 23,
	CUPTI_DRIVER_LAUNCH_KERNEL = 307,
	CUPTI_DRIVER_LAUNCH_KERNEL_PTSZ = 442,
	CUPTI_DRIVER_PROFILER_START = 308,
	CUPTI_DRIVER_PROFILER_STOP = 309,
	CUPTI_DRIVER_LAUNCH_COOPERATIVE = 477,
	CUPTI_DRIVER_LAUNCH_COOPERATIVE_PTSZ = 478,
	CUPTI_DRIVER_LAUNCH_KERNEL_EX = 652,
	CUPTI_DRIVER_LAUNCH_KERNEL_EX_PTSZ = 653,
	/* from CUDA 12.0 on */
	CUPTI_DRIVER_LIBRARY_LOAD_DATA = 678,
	CUPTI_DRIVER_LIBRARY_LOAD_FROM_FILE = 679,
	CUPTI_DRIVER_LIBRARY_UNLOAD = 680,
	CUPTI_DRIVER_LIBRARY_GET_KERNEL = 681,
	CUPTI_DRIVER_KERNEL_GET_FUNCTION = 683,
};

/* CUpti_CallbackDomain, CUpti_CallbackIdState, CUpti_ApiCallbackSite and single values */
enum {
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_DOMAIN_STATE = 6,
	CUPTI_RESOURCE_MODULE_LOADED = 6,
	/* CUpti_CallbackIdResource: a node was added to a graph, by capture or by hand */
	CUPTI_RESOURCE_GRAPHNODE_CREATED = 13,
	CUPTI_RESOURCE_GRAPHNODE_CLONED = 20, /* by instantiation, update, or as a child of another graph */
	CUPTI_STATE_FATAL = 1,
	CUPTI_STATE_ERROR = 2,
	CUPTI_STATE_WARNING = 3,
	CUPTI_SITE_ENTER = 0,
	CUPTI_SITE_EXIT = 1,
	CUPTI_FLUSH_FORCED = 1,
	CUPTI_THREAD_ID_DEFAULT = 0, /* the lower half of pthread_self() */
	CUPTI_THREAD_ID_SYSTEM = 1,
	CUPTI_OBJECT_THREAD = 2, /* CUpti_ActivityObjectKind */
	CUPTI_MEMCPY_FLAG_ASYNC = 1,
	CUPTI_OLD_NAME_SIZE = 64, /* CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN */
};

/* CUpti_CallbackData: X(gputrace's name, member, offset, bytes) */
#define CUPTI_CALLBACK_DATA(X)                                                                                         \
	X(SITE, callbackSite, 0, 4)                                                                                    \
	X(PARAMS, functionParams, 16, 8)                                                                               \
	X(RETURN_VALUE, functionReturnValue, 24, 8)                                                                    \
	X(CORRELATION_DATA, correlationData, 56, 8)                                                                    \
	X(CORRELATION_ID, correlationId, 64, 4)

/* CUpti_StateData */
#define CUPTI_STATE_DATA(X)                                                                                            \
	X(RESULT, notification.result, 0, 4)                                                                           \
	X(MESSAGE, notification.message, 8, 8)

/* CUpti_ResourceData, and the CUpti_GraphData or CUpti_ModuleResourceData that its descriptor points at */
#define CUPTI_RESOURCE_DATA(X) X(DESCRIPTOR, resourceDescriptor, 16, 8)
#define CUPTI_GRAPH_DATA(X)                                                                                            \
	X(NODE, node, 16, 8)                                                                                           \
	X(ORIGINAL_NODE, originalNode, 24, 8)
#define CUPTI_MODULE_DATA(X)                                                                                           \
	X(CUBIN_SIZE, cubinSize, 8, 8)                                                                                 \
	X(CUBIN, pCubin, 16, 8)

#define CUPTI_OFFSET_RESOURCE(name, member, offset, bytes) CUPTI_RESOURCE_##name = offset,
#define CUPTI_OFFSET_MODULE(name, member, offset, bytes) CUPTI_MODULE_##name = offset,
#define CUPTI_OFFSET_GRAPH(name, member, offset, bytes) CUPTI_GRAPH_##name = offset,
enum { CUPTI_RESOURCE_DATA(CUPTI_OFFSET_RESOURCE) };
enum { CUPTI_GRAPH_DATA(CUPTI_OFFSET_GRAPH) };
enum { CUPTI_MODULE_DATA(CUPTI_OFFSET_MODULE) };
#define CUPTI_OFFSET_CB(name, member, offset, bytes) CUPTI_CB_##name = offset,
#define CUPTI_OFFSET_STATE(name, member, offset, bytes) CUPTI_STATE_DATA_##name = offset,
enum { CUPTI_CALLBACK_DATA(CUPTI_OFFSET_CB) };
enum { CUPTI_STATE_DATA(CUPTI_OFFSET_STATE) };

/*
 * Fields taken from activity records: X(member of CUPTI's struct, offset, bytes, gputrace's member, gputrace's bytes).
 * A wider gputrace member is zero-extended.  *_MIN is the record's size in 11.8, the oldest supported version; fields
 * beyond it are in lists of their own, named after the version that added them.
 */
#define CUPTI_KERNEL_MIN 200u
#define CUPTI_KERNEL_CORR 92u
#define CUPTI_KERNEL_NODE 144u
#define CUPTI_KERNEL_FIELDS(X)                                                                                         \
	X(registersPerThread, 6, 2, registers, 4)                                                                      \
	X(start, 16, 8, start_wall_ns, 8)                                                                              \
	X(end, 24, 8, end_wall_ns, 8)                                                                                  \
	X(deviceId, 40, 4, device, 4)                                                                                  \
	X(contextId, 44, 4, context, 4)                                                                                \
	X(streamId, 48, 4, stream, 4)                                                                                  \
	X(gridX, 52, 4, grid[0], 4)                                                                                    \
	X(gridY, 56, 4, grid[1], 4)                                                                                    \
	X(gridZ, 60, 4, grid[2], 4)                                                                                    \
	X(blockX, 64, 4, block[0], 4)                                                                                  \
	X(blockY, 68, 4, block[1], 4)                                                                                  \
	X(blockZ, 72, 4, block[2], 4)                                                                                  \
	X(staticSharedMemory, 76, 4, static_shared_bytes, 4)                                                           \
	X(dynamicSharedMemory, 80, 4, dynamic_shared_bytes, 4)                                                         \
	X(localMemoryPerThread, 84, 4, local_bytes_per_thread, 4)                                                      \
	X(correlationId, CUPTI_KERNEL_CORR, 4, corr, 4)                                                                \
	X(graphNodeId, CUPTI_KERNEL_NODE, 8, graph_node, 8)                                                            \
	X(graphId, 156, 4, graph, 4)                                                                                   \
	X(channelID, 168, 4, channel, 4)                                                                               \
	X(channelType, 172, 4, channel_type, 4)                                                                        \
	X(clusterX, 176, 4, cluster[0], 4)                                                                             \
	X(clusterY, 180, 4, cluster[1], 4)                                                                             \
	X(clusterZ, 184, 4, cluster[2], 4)
#define CUPTI_KERNEL_FIELDS_13_1(X) X(priority, 216, 4, priority, 4)
#define CUPTI_KERNEL_NAME 104u /* name: const char *, CUPTI's own */

#define CUPTI_MEMCPY_MIN 88u
#define CUPTI_MEMCPY_CORR 44u
#define CUPTI_MEMCPY_FIELDS(X)                                                                                         \
	X(copyKind, 4, 1, kind, 1)                                                                                     \
	X(srcKind, 5, 1, from, 1)                                                                                      \
	X(dstKind, 6, 1, to, 1)                                                                                        \
	X(flags, 7, 1, is_async, 1)                                                                                    \
	X(bytes, 8, 8, bytes, 8)                                                                                       \
	X(start, 16, 8, start_wall_ns, 8)                                                                              \
	X(end, 24, 8, end_wall_ns, 8)                                                                                  \
	X(deviceId, 32, 4, device, 4)                                                                                  \
	X(contextId, 36, 4, context, 4)                                                                                \
	X(streamId, 40, 4, stream, 4)                                                                                  \
	X(correlationId, CUPTI_MEMCPY_CORR, 4, corr, 4)                                                                \
	X(graphNodeId, 64, 8, graph_node, 8)                                                                           \
	X(graphId, 72, 4, graph, 4)                                                                                    \
	X(channelID, 76, 4, channel, 4)                                                                                \
	X(channelType, 80, 4, channel_type, 4)

#define CUPTI_MEMCPY2_MIN 96u
#define CUPTI_MEMCPY2_CORR 60u
#define CUPTI_MEMCPY2_FIELDS(X)                                                                                        \
	X(copyKind, 4, 1, kind, 1)                                                                                     \
	X(srcKind, 5, 1, from, 1)                                                                                      \
	X(dstKind, 6, 1, to, 1)                                                                                        \
	X(flags, 7, 1, is_async, 1)                                                                                    \
	X(bytes, 8, 8, bytes, 8)                                                                                       \
	X(start, 16, 8, start_wall_ns, 8)                                                                              \
	X(end, 24, 8, end_wall_ns, 8)                                                                                  \
	X(deviceId, 32, 4, device, 4)                                                                                  \
	X(contextId, 36, 4, context, 4)                                                                                \
	X(streamId, 40, 4, stream, 4)                                                                                  \
	X(srcDeviceId, 44, 4, from_device, 4)                                                                          \
	X(dstDeviceId, 52, 4, to_device, 4)                                                                            \
	X(correlationId, CUPTI_MEMCPY2_CORR, 4, corr, 4)                                                               \
	X(graphNodeId, 72, 8, graph_node, 8)                                                                           \
	X(graphId, 80, 4, graph, 4)                                                                                    \
	X(channelID, 84, 4, channel, 4)                                                                                \
	X(channelType, 88, 4, channel_type, 4)

#define CUPTI_MEMSET_MIN 88u
#define CUPTI_MEMSET_CORR 44u
#define CUPTI_MEMSET_FIELDS(X)                                                                                         \
	X(value, 4, 4, value, 4)                                                                                       \
	X(bytes, 8, 8, bytes, 8)                                                                                       \
	X(start, 16, 8, start_wall_ns, 8)                                                                              \
	X(end, 24, 8, end_wall_ns, 8)                                                                                  \
	X(deviceId, 32, 4, device, 4)                                                                                  \
	X(contextId, 36, 4, context, 4)                                                                                \
	X(streamId, 40, 4, stream, 4)                                                                                  \
	X(correlationId, CUPTI_MEMSET_CORR, 4, corr, 4)                                                                \
	X(flags, 48, 2, flags, 2)                                                                                      \
	X(memoryKind, 50, 2, memory, 2)                                                                                \
	X(graphNodeId, 64, 8, graph_node, 8)                                                                           \
	X(graphId, 72, 4, graph, 4)

#define CUPTI_OVERHEAD_MIN 40u
#define CUPTI_OVERHEAD_FIELDS(X)                                                                                       \
	X(overheadKind, 4, 4, kind, 4)                                                                                 \
	X(objectId.pt.threadId, 16, 4, tid, 4)                                                                         \
	X(start, 24, 8, start_wall_ns, 8)                                                                              \
	X(end, 32, 8, end_wall_ns, 8)
#define CUPTI_OVERHEAD_FIELDS_12_4(X) X(correlationId, 40, 4, corr, 4)
#define CUPTI_OVERHEAD_OBJECT_KIND 8u /* objectKind: threadId means something for CUPTI_OBJECT_THREAD */
#define CUPTI_OVERHEAD_DATA 48u	      /* overheadData, from 12.4 on: malloc'd, the agent must free it */

#define CUPTI_SYNC_MIN 40u
#define CUPTI_SYNC_CORR 24u
#define CUPTI_SYNC_FIELDS(X)                                                                                           \
	X(type, 4, 4, kind, 4)                                                                                         \
	X(start, 8, 8, start_wall_ns, 8)                                                                               \
	X(end, 16, 8, end_wall_ns, 8)                                                                                  \
	X(correlationId, CUPTI_SYNC_CORR, 4, corr, 4)                                                                  \
	X(contextId, 28, 4, context, 4)                                                                                \
	X(streamId, 32, 4, stream, 4)                                                                                  \
	X(cudaEventId, 36, 4, event, 4)
#define CUPTI_SYNC_FIELDS_12_8(X)                                                                                      \
	X(cudaEventSyncId, 40, 8, event_record, 8)                                                                     \
	X(returnValue, 48, 4, result, 4)

#define CUPTI_EVENT_MIN 24u
#define CUPTI_EVENT_CORR 4u
#define CUPTI_EVENT_FIELDS(X)                                                                                          \
	X(correlationId, CUPTI_EVENT_CORR, 4, corr, 4)                                                                 \
	X(contextId, 8, 4, context, 4)                                                                                 \
	X(streamId, 12, 4, stream, 4)                                                                                  \
	X(eventId, 16, 4, event, 4)
#define CUPTI_EVENT_FIELDS_12_8(X) X(cudaEventSyncId, 48, 8, event_record, 8)

#define CUPTI_MEMORY_MIN 120u
#define CUPTI_MEMORY_CORR 12u
#define CUPTI_MEMORY_FIELDS(X)                                                                                         \
	X(memoryOperationType, 4, 4, operation, 4)                                                                     \
	X(memoryKind, 8, 4, kind, 4)                                                                                   \
	X(correlationId, CUPTI_MEMORY_CORR, 4, corr, 4)                                                                \
	X(address, 16, 8, address, 8)                                                                                  \
	X(bytes, 24, 8, bytes, 8)                                                                                      \
	X(timestamp, 32, 8, time_wall_ns, 8)                                                                           \
	X(deviceId, 52, 4, device, 4)                                                                                  \
	X(contextId, 56, 4, context, 4)                                                                                \
	X(streamId, 60, 4, stream, 4)                                                                                  \
	X(isAsync, 72, 4, is_async, 4)                                                                                 \
	X(memoryPoolConfig.address, 88, 8, pool, 8)                                                                    \
	X(memoryPoolConfig.pool.size, 104, 8, pool_bytes, 8)                                                           \
	X(memoryPoolConfig.utilizedSize, 112, 8, pool_used_bytes, 8)
#define CUPTI_MEMORY_POOL_TYPE 80u /* memoryPoolConfig.memoryPoolType; if imported, pool.size is a process id */
#define CUPTI_POOL_LOCAL 1u

#define CUPTI_API_MIN 40u
#define CUPTI_API_CORR 32u
#define CUPTI_API_FIELDS(X)                                                                                            \
	X(start, 8, 8, start_wall_ns, 8)                                                                               \
	X(end, 16, 8, end_wall_ns, 8)                                                                                  \
	X(threadId, 28, 4, thread, 4)                                                                                  \
	X(correlationId, CUPTI_API_CORR, 4, corr, 4)                                                                   \
	X(returnValue, 36, 4, result, 4)
#define CUPTI_API_CBID 4u /* cbid; the record's kind gives the domain */

#define CUPTI_JIT_MIN 64u
#define CUPTI_JIT_CORR 32u
#define CUPTI_JIT_FIELDS(X)                                                                                            \
	X(jitEntryType, 4, 4, entry, 4)                                                                                \
	X(jitOperationType, 8, 4, operation, 4)                                                                        \
	X(deviceId, 12, 4, device, 4)                                                                                  \
	X(start, 16, 8, start_wall_ns, 8)                                                                              \
	X(end, 24, 8, end_wall_ns, 8)                                                                                  \
	X(correlationId, CUPTI_JIT_CORR, 4, corr, 4)                                                                   \
	X(jitOperationCorrelationId, 40, 8, unit, 8)                                                                   \
	X(cacheSize, 48, 8, bytes, 8)
#define CUPTI_JIT_FIELDS_12_4(X) X(threadId, 68, 4, tid, 4)

#define CUPTI_DEVICE_MIN 176u
#define CUPTI_DEVICE_FIELDS(X)                                                                                         \
	X(globalMemorySize, 16, 8, memory_bytes, 8)                                                                    \
	X(numThreadsPerWarp, 32, 4, warp_size, 4)                                                                      \
	X(numMultiprocessors, 44, 4, multiprocessors, 4)                                                               \
	X(maxWarpsPerMultiprocessor, 52, 4, max_threads_per_multiprocessor, 4)                                         \
	X(maxBlocksPerMultiprocessor, 56, 4, max_blocks_per_multiprocessor, 4)                                         \
	X(maxSharedMemoryPerMultiprocessor, 60, 4, max_shared_per_multiprocessor, 4)                                   \
	X(maxRegistersPerMultiprocessor, 64, 4, max_registers_per_multiprocessor, 4)                                   \
	X(maxRegistersPerBlock, 68, 4, max_registers_per_block, 4)                                                     \
	X(maxSharedMemoryPerBlock, 72, 4, max_shared_per_block, 4)                                                     \
	X(maxThreadsPerBlock, 76, 4, max_threads_per_block, 4)                                                         \
	X(computeCapabilityMajor, 104, 4, compute_major, 4)                                                            \
	X(computeCapabilityMinor, 108, 4, compute_minor, 4)                                                            \
	X(id, 112, 4, id, 4)                                                                                           \
	X(uuid, 120, 16, uuid, 16)                                                                                     \
	X(isMigEnabled, 145, 1, mig, 4)
#define CUPTI_DEVICE_NAME 136u	   /* name: const char *; the agent's to free from 13.0 on, not before: left alone */
#define CUPTI_DEVICE_MIG_UUID 160u /* migUuid: replaces uuid if isMigEnabled */

#define CUPTI_CONTEXT_MIN 16u
#define CUPTI_CONTEXT_FIELDS(X)                                                                                        \
	X(contextId, 4, 4, context, 4)                                                                                 \
	X(deviceId, 8, 4, device, 4)                                                                                   \
	X(computeApiKind, 12, 2, compute_api, 4)                                                                       \
	X(nullStreamId, 14, 2, null_stream, 4)

#define CUPTI_STREAM_MIN 24u
#define CUPTI_STREAM_FIELDS(X)                                                                                         \
	X(contextId, 4, 4, context, 4)                                                                                 \
	X(streamId, 8, 4, stream, 4)                                                                                   \
	X(priority, 12, 4, priority, 4)                                                                                \
	X(flag, 16, 4, flags, 4)

/* CUpti_SubscriberParams of 13.0; used only to find out which client is the subscriber. */
struct cupti_subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
};

typedef void (*cupti_api_callback)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*cupti_buffer_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_done)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/*
 * CUPTI's functions: X(gputrace's name, CUPTI's name, needed, parameters).  A function that is not needed may be
 * missing in some version, or its failure changes nothing that matters.
 */
#define CUPTI_FUNCTIONS(X)                                                                                             \
	X(get_version, cuptiGetVersion, 1, (uint32_t * version))                                                       \
	X(subscribe, cuptiSubscribe, 1, (void **subscriber, cupti_api_callback callback, void *user))                  \
	X(subscribe_v2, cuptiSubscribe_v2, 0,                                                                          \
	  (void **subscriber, cupti_api_callback callback, void *user, struct cupti_subscriber_params *params))        \
	X(unsubscribe, cuptiUnsubscribe, 1, (void *subscriber))                                                        \
	X(enable_callback, cuptiEnableCallback, 1,                                                                     \
	  (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid))                                         \
	X(enable_domain, cuptiEnableDomain, 1, (uint32_t enable, void *subscriber, uint32_t domain))                   \
	X(register_buffers, cuptiActivityRegisterCallbacks, 1, (cupti_buffer_request request, cupti_buffer_done done)) \
	X(enable, cuptiActivityEnable, 1, (uint32_t kind))                                                             \
	X(enable_and_dump, cuptiActivityEnableAndDump, 0, (uint32_t kind))                                             \
	X(disable, cuptiActivityDisable, 1, (uint32_t kind))                                                           \
	X(flush_all, cuptiActivityFlushAll, 1, (uint32_t flags))                                                       \
	X(next_record, cuptiActivityGetNextRecord, 1, (uint8_t * buffer, size_t valid, uint8_t * *record))             \
	X(dropped, cuptiActivityGetNumDroppedRecords, 1, (void *context, uint32_t stream, size_t *dropped))            \
	X(timestamp, cuptiGetTimestamp, 0, (uint64_t * timestamp))                                                     \
	X(register_timestamp, cuptiActivityRegisterTimestampCallback, 0, (uint64_t(*callback)(void)))                  \
	X(set_thread_id_type, cuptiSetThreadIdType, 0, (uint32_t type))                                                \
	X(graph_node_id, cuptiGetGraphNodeId, 0, (void *node, uint64_t *id))                                           \
	X(result_string, cuptiGetResultString, 0, (uint32_t result, const char **text))

/* An opened CUPTI library; filled in by find_cupti.c (in tests: by the test). */
struct cupti {
#define CUPTI_MEMBER(name, symbol, needed, parameters) uint32_t(*name) parameters;
	CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
	uint32_t version;
	bool fragile;	/* must not be called before the driver is known to work; version is a guess until then */
	char path[512]; /* as opened; "": none */
};
