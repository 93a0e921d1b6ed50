/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiled against one version of NVIDIA's headers and run with the library of that version. It asserts every number of
 * user/cupti/cupti_abi.h against the headers. The record sizes that the agent finds by probing must be those of the
 * headers' newest structures. Records written with the headers' structures and walked by the real
 * cuptiActivityGetNextRecord must come out with exact values. Built and run by tests/cupti_headers.sh, which defines
 * NEWEST_x and EXPECTED_API.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cupti_activity.h>
#ifdef WITH_DEPRECATED /* __has_include would find another version's */
#include <cupti_activity_deprecated.h>
#endif
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>

#include <gputrace/cuda_api.h>

#include "agent/send/batch_send.c"
#include "cupti/apis.c"
#include "cupti/batch.c"
#include "cupti/kinds.c"
#include "cupti/names.c"
#include "cupti/record_sizes.c"
#include "cupti/records.c"

#undef FIELD

_Static_assert(CUPTI_API_VERSION == EXPECTED_API, "not the headers that were meant");

/* ---- numbers ----------------------------------------------------------------------------------- */

#define SAME(agent, cupti) _Static_assert((int)(agent) == (int)(cupti), #cupti);
SAME(CUPTI_OK, CUPTI_SUCCESS)
SAME(CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED)
SAME(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED)
SAME(CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND)
SAME(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
SAME(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN)
SAME(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY)
SAME(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET)
SAME(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER)
SAME(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME)
SAME(CUPTI_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE)
SAME(CUPTI_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT)
SAME(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
SAME(CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD)
SAME(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2)
SAME(CUPTI_KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM)
SAME(CUPTI_THREAD_ID_DEFAULT, CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT)
SAME(CUPTI_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
SAME(CUPTI_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT)
SAME(CUPTI_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2)
SAME(GPT_AGENT_STREAM_NON_BLOCKING, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING)
SAME(GPT_AGENT_STREAM_NULL, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL)
SAME(GPT_AGENT_COMPUTE_API_MPS, CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS)
SAME(CUPTI_KIND_JIT, CUPTI_ACTIVITY_KIND_JIT)
SAME(GPT_AGENT_JIT_CACHE_LOAD, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD)
SAME(GPT_AGENT_JIT_CACHE_STORE, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE)
SAME(GPT_AGENT_JIT_COMPILE, CUPTI_ACTIVITY_JIT_OPERATION_COMPILE)
SAME(GPT_AGENT_JIT_PTX_TO_CUBIN, CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN)
SAME(GPT_AGENT_JIT_NVVM_TO_PTX, CUPTI_ACTIVITY_JIT_ENTRY_NVVM_IR_TO_PTX)
SAME(CUPTI_POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
SAME(GPT_AGENT_MEMORY_ALLOCATED, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION)
SAME(GPT_AGENT_MEMORY_RELEASED, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
SAME(GPT_AGENT_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE)
SAME(GPT_AGENT_SYNC_STREAM_WAITS_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT)
SAME(GPT_AGENT_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE)
SAME(GPT_AGENT_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE)
SAME(UINT32_MAX, CUPTI_SYNCHRONIZATION_INVALID_VALUE)
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API)
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API)
SAME(GPT_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API)
SAME(GPT_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API)
SAME(CUPTI_SITE_ENTER, CUPTI_API_ENTER)
SAME(CUPTI_SITE_EXIT, CUPTI_API_EXIT)
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
SAME(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
SAME(CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD)
SAME(CUPTI_MEMCPY_FLAG_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC)
SAME(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED)
SAME(CUPTI_RUNTIME_PROFILER_START, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000)
SAME(CUPTI_RUNTIME_PROFILER_STOP, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000)
SAME(CUPTI_DRIVER_PROFILER_START, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart)
SAME(CUPTI_DRIVER_PROFILER_STOP, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)
SAME(CUPTI_DRIVER_MODULE_LOAD, CUPTI_DRIVER_TRACE_CBID_cuModuleLoad)
SAME(CUPTI_DRIVER_MODULE_LOAD_DATA, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData)
SAME(CUPTI_DRIVER_MODULE_LOAD_DATA_EX, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx)
SAME(CUPTI_DRIVER_MODULE_LOAD_FAT_BINARY, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary)
SAME(CUPTI_DRIVER_MODULE_UNLOAD, CUPTI_DRIVER_TRACE_CBID_cuModuleUnload)
SAME(CUPTI_DRIVER_MODULE_GET_FUNCTION, CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction)
SAME(CUPTI_DRIVER_LAUNCH_KERNEL, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
SAME(CUPTI_DRIVER_LAUNCH_KERNEL_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz)
SAME(CUPTI_DRIVER_LAUNCH_COOPERATIVE, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel)
SAME(CUPTI_DRIVER_LAUNCH_COOPERATIVE_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz)
SAME(CUPTI_DRIVER_LAUNCH_KERNEL_EX, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx)
SAME(CUPTI_DRIVER_LAUNCH_KERNEL_EX_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz)
#if CUDA_VERSION >= 12000
SAME(CUPTI_DRIVER_LIBRARY_LOAD_DATA, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData)
SAME(CUPTI_DRIVER_LIBRARY_LOAD_FROM_FILE, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile)
SAME(CUPTI_DRIVER_LIBRARY_UNLOAD, CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload)
SAME(CUPTI_DRIVER_LIBRARY_GET_KERNEL, CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel)
SAME(CUPTI_DRIVER_KERNEL_GET_FUNCTION, CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction)
#endif
#if CUPTI_API_VERSION >= 20
SAME(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE)
SAME(CUPTI_STATE_FATAL, CUPTI_CBID_STATE_FATAL_ERROR)
SAME(CUPTI_STATE_ERROR, CUPTI_CBID_STATE_ERROR)
SAME(CUPTI_STATE_WARNING, CUPTI_CBID_STATE_WARNING)
#endif

/* ---- offsets ----------------------------------------------------------------------------------- */

#define AT(member, offset, bytes)                                                                                      \
	_Static_assert(offsetof(OF_CUPTI, member) == (offset), #member " lies elsewhere");                             \
	_Static_assert(sizeof(((OF_CUPTI *)0)->member) == (bytes), #member " has another size");
#define RECORD_AT(member, offset, bytes, agent, our_bytes) AT(member, offset, bytes)
#define DATA_AT(name, member, offset, bytes) AT(member, offset, bytes)

#define OF_CUPTI CUpti_CallbackData
CUPTI_CALLBACK_DATA(DATA_AT)
#undef OF_CUPTI
#define OF_CUPTI CUpti_ResourceData
CUPTI_RESOURCE_DATA(DATA_AT)
#undef OF_CUPTI
#define OF_CUPTI CUpti_GraphData
CUPTI_GRAPH_DATA(DATA_AT)
#undef OF_CUPTI
#define OF_CUPTI CUpti_ModuleResourceData
CUPTI_MODULE_DATA(DATA_AT)
#undef OF_CUPTI
#if CUPTI_API_VERSION >= 20
#define OF_CUPTI CUpti_StateData
CUPTI_STATE_DATA(DATA_AT)
#undef OF_CUPTI
#endif
#define OF_CUPTI NEWEST_Kernel
CUPTI_KERNEL_FIELDS(RECORD_AT)
AT(name, CUPTI_KERNEL_NAME, 8)
#if CUPTI_API_VERSION >= 130100
#define WITH_PRIORITY 1
CUPTI_KERNEL_FIELDS_13_1(RECORD_AT)
#endif
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Memcpy
CUPTI_MEMCPY_FIELDS(RECORD_AT)
#undef OF_CUPTI
#define OF_CUPTI NEWEST_MemcpyPtoP
CUPTI_MEMCPY2_FIELDS(RECORD_AT)
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Memset
CUPTI_MEMSET_FIELDS(RECORD_AT)
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Overhead
CUPTI_OVERHEAD_FIELDS(RECORD_AT)
AT(objectKind, CUPTI_OVERHEAD_OBJECT_KIND, 4)
#if CUPTI_API_VERSION >= 22
#define WITH_OVERHEAD_CORRELATION 1
CUPTI_OVERHEAD_FIELDS_12_4(RECORD_AT)
AT(overheadData, CUPTI_OVERHEAD_DATA, 8)
#endif
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Synchronization
CUPTI_SYNC_FIELDS(RECORD_AT)
#if CUPTI_API_VERSION >= 26
#define WITH_EVENT_RECORD 1
CUPTI_SYNC_FIELDS_12_8(RECORD_AT)
#endif
#undef OF_CUPTI
#define OF_CUPTI NEWEST_CudaEvent
CUPTI_EVENT_FIELDS(RECORD_AT)
#ifdef WITH_EVENT_RECORD
CUPTI_EVENT_FIELDS_12_8(RECORD_AT)
#endif
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Memory
CUPTI_MEMORY_FIELDS(RECORD_AT)
AT(memoryPoolConfig.memoryPoolType, CUPTI_MEMORY_POOL_TYPE, 4)
#undef OF_CUPTI
#define OF_CUPTI CUpti_ActivityAPI
CUPTI_API_FIELDS(RECORD_AT)
AT(cbid, CUPTI_API_CBID, 4)
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Jit
CUPTI_JIT_FIELDS(RECORD_AT)
#ifdef WITH_OVERHEAD_CORRELATION /* the same version, 12.4 */
#define WITH_JIT_THREAD 1
CUPTI_JIT_FIELDS_12_4(RECORD_AT)
#endif
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Device
CUPTI_DEVICE_FIELDS(RECORD_AT)
AT(name, CUPTI_DEVICE_NAME, 8)
AT(migUuid, CUPTI_DEVICE_MIG_UUID, 16)
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Context
CUPTI_CONTEXT_FIELDS(RECORD_AT)
#undef OF_CUPTI
#define OF_CUPTI NEWEST_Stream
CUPTI_STREAM_FIELDS(RECORD_AT)
#undef OF_CUPTI

#if CUPTI_API_VERSION >= 130000
#define OF_CUPTI CUpti_SubscriberParams
AT(structSize, offsetof(struct cupti_subscriber_params, size), 8)
AT(subscriberName, offsetof(struct cupti_subscriber_params, name), 8)
AT(oldSubscriberName, offsetof(struct cupti_subscriber_params, old_name), 8)
AT(oldSubscriberSize, offsetof(struct cupti_subscriber_params, old_name_size), 8)
SAME(CUPTI_OLD_NAME_SIZE, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN)
#undef OF_CUPTI
#endif

/* ---- functions: a call through gputrace's pointer is a call of cupti ---------------------------- */

/* The ABI passes handles, enumerations and pointers alike; their size and number must agree. */
#define CALLABLE(function, count_of_sizes, ...)                                                                        \
	_Static_assert(sizeof((function)(__VA_ARGS__)) == sizeof(uint32_t), #function);
CALLABLE(cuptiGetVersion, 1, (uint32_t *)0)
CALLABLE(cuptiSubscribe, 3, (CUpti_SubscriberHandle *)0, (CUpti_CallbackFunc)0, (void *)0)
CALLABLE(cuptiUnsubscribe, 1, (CUpti_SubscriberHandle)0)
CALLABLE(cuptiEnableCallback, 4, 1u, (CUpti_SubscriberHandle)0, (CUpti_CallbackDomain)0, (CUpti_CallbackId)0)
CALLABLE(cuptiEnableDomain, 3, 1u, (CUpti_SubscriberHandle)0, (CUpti_CallbackDomain)0)
CALLABLE(cuptiActivityRegisterCallbacks, 2, (CUpti_BuffersCallbackRequestFunc)0, (CUpti_BuffersCallbackCompleteFunc)0)
CALLABLE(cuptiActivityEnable, 1, (CUpti_ActivityKind)0)
CALLABLE(cuptiActivityEnableAndDump, 1, (CUpti_ActivityKind)0)
CALLABLE(cuptiActivityDisable, 1, (CUpti_ActivityKind)0)
CALLABLE(cuptiActivityFlushAll, 1, 0u)
CALLABLE(cuptiActivityGetNextRecord, 3, (uint8_t *)0, (size_t)0, (CUpti_Activity **)0)
CALLABLE(cuptiActivityGetNumDroppedRecords, 3, (CUcontext)0, 0u, (size_t *)0)
CALLABLE(cuptiActivitySetAttribute, 3, (CUpti_ActivityAttribute)0, (size_t *)0, (void *)0)
CALLABLE(cuptiSetThreadIdType, 1, (CUpti_ActivityThreadIdType)0)
#ifdef WITH_EVENT_RECORD
CALLABLE(cuptiActivityEnableAllSyncRecords, 1, (uint8_t)0)
#endif
CALLABLE(cuptiGetGraphNodeId, 2, (CUgraphNode)0, (uint64_t *)0)
SAME(CUPTI_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
SAME(CUPTI_RESOURCE_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
CALLABLE(cuptiGetResultString, 2, (CUptiResult)0, (const char **)0)

/* ---- at run time -------------------------------------------------------------------------------- */

static unsigned failures;

#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			failures++;                                                                                    \
		}                                                                                                      \
	} while (0)

unsigned short gputrace_agent_semaphore = 1, gputrace_agent_batch_semaphore = 1;
const volatile struct gpt_share_control *volatile share_control;
void share_batch(const void *data, uint64_t bytes)
{
	abort(); /* there is no ring */
}

static uint8_t got[65536] __attribute__((aligned(8)));
static size_t got_bytes;

void gputrace_agent_batch(const void *data, uint64_t bytes, uint64_t own_thread)
{
	memcpy(got + got_bytes, data, bytes);
	got_bytes += bytes;
}

/* The n-th record of a type that was sent; NULL when there are fewer. */
static const void *sent_record(uint16_t type, unsigned n)
{
	size_t at = 0;

	for (; at < got_bytes; at += ((struct gpt_record *)(got + at))->size)
		if (((struct gpt_record *)(got + at))->type == type && !n--)
			return got + at;
	return NULL;
}

/* Makes every byte of a record differ from its neighbours, so that a wrong offset shows. */
static void *record_at(uint8_t *buffer, size_t *used, size_t size, uint32_t kind)
{
	uint8_t *record = buffer + *used;
	size_t i;

	for (i = 0; i < size; i++)
		record[i] = (uint8_t)(kind * 16 + i * 7 + 1);
	memcpy(record, &kind, sizeof(kind));
	*used += size;
	return record;
}

/* Little-endian value of a member, as wide as it is. */
#define VALUE(member)                                                                                                  \
	({                                                                                                             \
		uint64_t value_ = 0;                                                                                   \
		memcpy(&value_, &(member), sizeof(member) < 8 ? sizeof(member) : 8);                                   \
		value_;                                                                                                \
	})
#define EXACT(member, offset, bytes, agent_member, our_bytes)                                                          \
	EXPECT(VALUE(agent->agent_member) == VALUE(cupti->member));

static const char reduce_kernel[] = "_Z9reduce_2dIfLi4EEvPT_S1_i";
static const char example_gpu[] = "Example GPU";
static uint8_t buffer[16384] __attribute__((aligned(8)));

static size_t fill_buffer(void)
{
	static NEWEST_Overhead *overhead;
	NEWEST_Kernel *kernel;
	NEWEST_Memcpy *copy;
	NEWEST_MemcpyPtoP *peer;
	NEWEST_Memset *fill;
	NEWEST_Synchronization *sync;
	NEWEST_Memory *memory;
	CUpti_ActivityAPI *call;
	NEWEST_Jit *jit;
	NEWEST_Device *device;
	size_t used = 0;
	unsigned i;

	for (i = 0; i < 3; i++) {
		kernel = record_at(buffer, &used, sizeof(*kernel), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		kernel->name = i < 2 ? reduce_kernel : NULL;
		kernel->start = i == 1 ? 0 : 1000;
		kernel->end = i == 1 ? 0 : 3000;
		kernel->correlationId = i + 1;
	}
	copy = record_at(buffer, &used, sizeof(*copy), CUPTI_ACTIVITY_KIND_MEMCPY);
	copy->start = 5, copy->end = 5;
	copy->flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
	peer = record_at(buffer, &used, sizeof(*peer), CUPTI_ACTIVITY_KIND_MEMCPY2);
	peer->start = 6, peer->end = 7;
	peer->flags = 0;
	fill = record_at(buffer, &used, sizeof(*fill), CUPTI_ACTIVITY_KIND_MEMSET);
	fill->start = 8, fill->end = 9;
	overhead = record_at(buffer, &used, sizeof(*overhead), CUPTI_ACTIVITY_KIND_OVERHEAD);
	overhead->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	overhead->start = 10, overhead->end = 11;
#ifdef WITH_OVERHEAD_CORRELATION
	overhead->overheadData = malloc(64); /* freed by the agent: a leak checker sees when it is not */
#endif
	device = record_at(buffer, &used, sizeof(*device), CUPTI_ACTIVITY_KIND_DEVICE);
	device->name = example_gpu;
	device->isMigEnabled = 0;
	device->numThreadsPerWarp = 32;
	device->maxWarpsPerMultiprocessor = 64;
	record_at(buffer, &used, sizeof(NEWEST_Context), CUPTI_ACTIVITY_KIND_CONTEXT);
	record_at(buffer, &used, sizeof(NEWEST_Stream), CUPTI_ACTIVITY_KIND_STREAM);
	sync = record_at(buffer, &used, sizeof(*sync), CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	sync->start = 12, sync->end = 13;
	record_at(buffer, &used, sizeof(NEWEST_CudaEvent), CUPTI_ACTIVITY_KIND_CUDA_EVENT);
	for (i = 0; i < 2; i++) {
		memory = record_at(buffer, &used, sizeof(*memory), CUPTI_ACTIVITY_KIND_MEMORY2);
		memory->memoryPoolConfig.memoryPoolType =
			i ? CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED : CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
	}
	for (i = 0; i < 3;
	     i++) { /* cuLaunchKernel; cuDeviceGet, which gputrace does not trace; cudaLaunchKernel by its stub */
		static const CUpti_CallbackId cbids[] = {307, 3, GPT_CBID_STUB_LAUNCH};

		call = record_at(buffer, &used, sizeof(*call),
				 i < 2 ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
		call->cbid = cbids[i];
		call->start = 14, call->end = 15;
	}
	jit = record_at(buffer, &used, sizeof(*jit), CUPTI_ACTIVITY_KIND_JIT);
	jit->start = 14, jit->end = 15;
	return used;
}

static void check_kernels(void)
{
	const NEWEST_Kernel *cupti = (const NEWEST_Kernel *)buffer;
	const struct gpt_agent_kernel *agent = sent_record(GPT_AGENT_KERNEL, 0),
				      *second = sent_record(GPT_AGENT_KERNEL, 1),
				      *third = sent_record(GPT_AGENT_KERNEL, 2);
	const struct gpt_agent_name *name = sent_record(GPT_AGENT_NAME, 0);

	EXPECT(agent && second && third && name && !sent_record(GPT_AGENT_KERNEL, 3) &&
	       !sent_record(GPT_AGENT_NAME, 1));
	if (!agent || !second || !third || !name)
		return;
	CUPTI_KERNEL_FIELDS(EXACT)
#ifdef WITH_PRIORITY
	CUPTI_KERNEL_FIELDS_13_1(EXACT)
#else
	EXPECT(agent->priority == 0);
#endif
	EXPECT((const void *)name < (const void *)agent && name->id != 0);
	EXPECT(name->bytes == strlen(reduce_kernel) && !memcmp(name->text, reduce_kernel, name->bytes));
	EXPECT(agent->name == name->id && second->name == name->id && third->name == 0);
	EXPECT(second->start_wall_ns == 0 && second->end_wall_ns == 0 && second->corr == 2);
}

static void check_device(size_t offset)
{
	const NEWEST_Device *cupti = (const NEWEST_Device *)(buffer + offset);
	const struct gpt_agent_device *agent = sent_record(GPT_AGENT_DEVICE, 0);

	EXPECT(agent != NULL);
	if (!agent)
		return;
	EXPECT(agent->memory_bytes == cupti->globalMemorySize && agent->id == cupti->id);
	EXPECT(agent->multiprocessors == cupti->numMultiprocessors && agent->warp_size == 32);
	EXPECT(agent->max_threads_per_multiprocessor == 64 * 32);
	EXPECT(agent->compute_major == cupti->computeCapabilityMajor);
	EXPECT(agent->compute_minor == cupti->computeCapabilityMinor);
	EXPECT(agent->max_shared_per_block == cupti->maxSharedMemoryPerBlock && agent->mig == 0);
	EXPECT(agent->max_registers_per_block == cupti->maxRegistersPerBlock);
	EXPECT(!memcmp(agent->uuid, &cupti->uuid, 16));
	EXPECT(agent->bytes == strlen(example_gpu) && !memcmp(agent->name, example_gpu, agent->bytes));
}

#define CHECK(type, struct_name, Record, FIELDS)                                                                       \
	do {                                                                                                           \
		const Record *cupti = (const Record *)(buffer + offset);                                               \
		const struct struct_name *agent = sent_record(type, n);                                                \
		EXPECT(agent != NULL);                                                                                 \
		if (agent) {                                                                                           \
			FIELDS                                                                                         \
		}                                                                                                      \
		offset += sizeof(Record);                                                                              \
	} while (0)

static void check_records(struct records *records)
{
	size_t offset = 3 * sizeof(NEWEST_Kernel);
	unsigned n = 0;

	check_kernels();
	CHECK(GPT_AGENT_MEMCPY, gpt_agent_memcpy, NEWEST_Memcpy,
	      CUPTI_MEMCPY_FIELDS(EXACT)
		      EXPECT(agent->from_device == agent->device && agent->to_device == agent->device););
	n = 1;
	CHECK(GPT_AGENT_MEMCPY, gpt_agent_memcpy, NEWEST_MemcpyPtoP, CUPTI_MEMCPY2_FIELDS(EXACT));
	n = 0;
	CHECK(GPT_AGENT_MEMSET, gpt_agent_memset, NEWEST_Memset, CUPTI_MEMSET_FIELDS(EXACT));
#ifdef WITH_OVERHEAD_CORRELATION
	CHECK(GPT_AGENT_OVERHEAD, gpt_agent_overhead, NEWEST_Overhead,
	      CUPTI_OVERHEAD_FIELDS(EXACT) CUPTI_OVERHEAD_FIELDS_12_4(EXACT));
#else
	CHECK(GPT_AGENT_OVERHEAD, gpt_agent_overhead, NEWEST_Overhead,
	      CUPTI_OVERHEAD_FIELDS(EXACT) EXPECT(agent->corr == 0););
#endif
	check_device(offset);
	offset += sizeof(NEWEST_Device);
	CHECK(GPT_AGENT_CONTEXT, gpt_agent_context, NEWEST_Context, CUPTI_CONTEXT_FIELDS(EXACT));
	CHECK(GPT_AGENT_STREAM, gpt_agent_stream, NEWEST_Stream, CUPTI_STREAM_FIELDS(EXACT));
#ifdef WITH_EVENT_RECORD
	CHECK(GPT_AGENT_SYNC, gpt_agent_sync, NEWEST_Synchronization,
	      CUPTI_SYNC_FIELDS(EXACT) CUPTI_SYNC_FIELDS_12_8(EXACT));
	CHECK(GPT_AGENT_EVENT, gpt_agent_event, NEWEST_CudaEvent,
	      CUPTI_EVENT_FIELDS(EXACT) CUPTI_EVENT_FIELDS_12_8(EXACT));
#else
	CHECK(GPT_AGENT_SYNC, gpt_agent_sync, NEWEST_Synchronization,
	      CUPTI_SYNC_FIELDS(EXACT) EXPECT(agent->event_record == 0 && agent->result == 0););
	CHECK(GPT_AGENT_EVENT, gpt_agent_event, NEWEST_CudaEvent,
	      CUPTI_EVENT_FIELDS(EXACT) EXPECT(agent->event_record == 0););
#endif
	CHECK(GPT_AGENT_MEMORY, gpt_agent_memory, NEWEST_Memory, CUPTI_MEMORY_FIELDS(EXACT));
	n = 1;
	CHECK(GPT_AGENT_MEMORY, gpt_agent_memory, NEWEST_Memory,
	      EXPECT(agent->pool == cupti->memoryPoolConfig.address && agent->pool_bytes == 0););
	n = 0;
	CHECK(GPT_AGENT_API_ACTIVITY, gpt_agent_api_activity, CUpti_ActivityAPI,
	      CUPTI_API_FIELDS(EXACT) EXPECT(agent->api == GPT_API(GPT_DOMAIN_DRIVER, 307)););
	n = 1;
	offset += sizeof(CUpti_ActivityAPI);
	CHECK(GPT_AGENT_API_ACTIVITY, gpt_agent_api_activity, CUpti_ActivityAPI,
	      CUPTI_API_FIELDS(EXACT) EXPECT(agent->api == GPT_API(GPT_DOMAIN_RUNTIME, 211)););
	EXPECT(!sent_record(GPT_AGENT_API_ACTIVITY, 2));
	n = 0;
#ifdef WITH_JIT_THREAD
	CHECK(GPT_AGENT_JIT, gpt_agent_jit, NEWEST_Jit, CUPTI_JIT_FIELDS(EXACT) CUPTI_JIT_FIELDS_12_4(EXACT));
#else
	CHECK(GPT_AGENT_JIT, gpt_agent_jit, NEWEST_Jit, CUPTI_JIT_FIELDS(EXACT) EXPECT(agent->tid == 0););
#endif
	EXPECT(records->stats.kernels == 3 && records->stats.memcpys == 2 && records->stats.memsets == 1);
	EXPECT(records->stats.others == 11 && records->stats.untimed == 1 && records->stats.malformed == 0);
}

static void check_sizes(struct records *records)
{
	static uint64_t scratch[RECORDS_PROBE_BYTES / 8];
	unsigned good = records_probe(records, (uint8_t *)scratch);
	size_t i;

	EXPECT(good == KIND_COUNT);
	EXPECT(records->sizes[CUPTI_KIND_CONCURRENT_KERNEL] == sizeof(NEWEST_Kernel));
	EXPECT(records->sizes[CUPTI_KIND_MEMCPY] == sizeof(NEWEST_Memcpy));
	EXPECT(records->sizes[CUPTI_KIND_MEMCPY2] == sizeof(NEWEST_MemcpyPtoP));
	EXPECT(records->sizes[CUPTI_KIND_MEMSET] == sizeof(NEWEST_Memset));
	EXPECT(records->sizes[CUPTI_KIND_OVERHEAD] == sizeof(NEWEST_Overhead));
	EXPECT(records->sizes[CUPTI_KIND_DEVICE] == sizeof(NEWEST_Device));
	EXPECT(records->sizes[CUPTI_KIND_CONTEXT] == sizeof(NEWEST_Context));
	EXPECT(records->sizes[CUPTI_KIND_STREAM] == sizeof(NEWEST_Stream));
	EXPECT(records->sizes[CUPTI_KIND_SYNCHRONIZATION] == sizeof(NEWEST_Synchronization));
	EXPECT(records->sizes[CUPTI_KIND_CUDA_EVENT] == sizeof(NEWEST_CudaEvent));
	EXPECT(records->sizes[CUPTI_KIND_MEMORY2] == sizeof(NEWEST_Memory));
	EXPECT(records->sizes[CUPTI_KIND_RUNTIME] == sizeof(CUpti_ActivityAPI));
	EXPECT(records->sizes[CUPTI_KIND_DRIVER] == sizeof(CUpti_ActivityAPI));
	EXPECT(records->sizes[CUPTI_KIND_JIT] == sizeof(NEWEST_Jit));
	for (i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
		EXPECT(scratch[i] == 0);
}

/* Walks records like cuptiActivityGetNextRecord, by the headers: for libraries that do nothing without a driver. */
static uint32_t walk_records(uint8_t *start, size_t valid, uint8_t **record)
{
	static const uint16_t sizes[CUPTI_KIND_COUNT] = {
		[CUPTI_KIND_CONCURRENT_KERNEL] = sizeof(NEWEST_Kernel),
		[CUPTI_KIND_MEMCPY] = sizeof(NEWEST_Memcpy),
		[CUPTI_KIND_MEMCPY2] = sizeof(NEWEST_MemcpyPtoP),
		[CUPTI_KIND_MEMSET] = sizeof(NEWEST_Memset),
		[CUPTI_KIND_OVERHEAD] = sizeof(NEWEST_Overhead),
		[CUPTI_KIND_DEVICE] = sizeof(NEWEST_Device),
		[CUPTI_KIND_CONTEXT] = sizeof(NEWEST_Context),
		[CUPTI_KIND_STREAM] = sizeof(NEWEST_Stream),
		[CUPTI_KIND_CUDA_EVENT] = sizeof(NEWEST_CudaEvent),
		[CUPTI_KIND_MEMORY2] = sizeof(NEWEST_Memory),
		[CUPTI_KIND_JIT] = sizeof(NEWEST_Jit),
		[CUPTI_KIND_SYNCHRONIZATION] = sizeof(NEWEST_Synchronization),
		[CUPTI_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI),
		[CUPTI_KIND_DRIVER] = sizeof(CUpti_ActivityAPI),
	};
	uint32_t kind;

	if (*record)
		memcpy(&kind, *record, sizeof(kind));
	*record = *record ? *record + sizes[kind] : start;
	return *record < start + valid ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static bool open_library(struct cupti *cupti, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	bool is_13_2;

	if (!library) {
		fprintf(stderr, "cupti_headers: cannot open libcupti: %s\n", dlerror());
		return false;
	}
#define RESOLVE(name, symbol, needed, parameters)                                                                      \
	*(void **)&cupti->name = dlsym(library, #symbol);                                                              \
	EXPECT(cupti->name || !needed);
	CUPTI_FUNCTIONS(RESOLVE)
	is_13_2 = dlsym(library, CUPTI_SYMBOL_OF_13_2) && !dlsym(library, CUPTI_SYMBOL_OF_13_3);
	EXPECT(is_13_2 == (CUPTI_API_VERSION / 100 == 1302));
	EXPECT(cupti->get_version(&cupti->version) == 0 && cupti->version == CUPTI_API_VERSION);
	return true;
}

int main(int argc, char **argv)
{
	static struct cupti cupti;
	static struct batch batch = {.send = batch_to_collector};
	static struct names names;
	struct records records = {.cupti = &cupti, .batch = &batch, .names = &names, .call_classes = ~0u};

	if (argc == 1)
		cupti.next_record = walk_records;
	else if (!open_library(&cupti, argv[1]))
		return 1;
	EXPECT(names_open(&names));
	check_sizes(&records);
	records_buffer(&records, buffer, fill_buffer());
	batch_flush(&batch);
	check_records(&records);
	if (failures)
		return 1;
	printf("CUPTI API %u: kernel record %zu bytes, copy %zu: all offsets and records agree (%s)\n",
	       CUPTI_API_VERSION, sizeof(NEWEST_Kernel), sizeof(NEWEST_Memcpy),
	       argc == 1 ? "headers" : "headers and library");
	return 0;
}
