/*
 * kinds.c: which activity kinds and API functions are recorded, and the attributes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "stand-in.h"

#define CBID_LIMIT 1024

static _Atomic unsigned char enabled[KIND_LIMIT];
static _Atomic unsigned char api_enabled[3][CBID_LIMIT]; /* by domain */
static _Atomic int system_thread_ids;

bool kind_enabled(uint32_t kind)
{
	return kind < KIND_LIMIT && atomic_load_explicit(&enabled[kind], memory_order_relaxed);
}

bool kinds_any_enabled(void)
{
	for (uint32_t kind = 0; kind < KIND_LIMIT; kind++)
		if (kind_enabled(kind))
			return true;
	return false;
}

bool api_recorded(enum sim_api_domain domain, uint32_t cbid)
{
	uint32_t kind = domain == SIM_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;

	return kind_enabled(kind) ||
	       (cbid < CBID_LIMIT && atomic_load_explicit(&api_enabled[domain][cbid], memory_order_relaxed));
}

uint32_t thread_id(void)
{
	if (atomic_load_explicit(&system_thread_ids, memory_order_relaxed))
		return (uint32_t)sim_thread()->tid;
	return (uint32_t)(uintptr_t)pthread_self();
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT && type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&system_thread_ids, type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	*type = atomic_load(&system_thread_ids) ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
						: CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
	return CUPTI_SUCCESS;
}

static CUptiResult kind_set(uint32_t kind, unsigned char on)
{
	if (!layout_size(kind))
		return CUPTI_ERROR_INVALID_KIND;
	if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && on)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT && layout_version() == 18)
		return CUPTI_ERROR_INVALID_KIND;
	if (on) {
		delivery_start();
		faults_enable(kind);
	}
	atomic_store(&enabled[kind], on);
	return CUPTI_SUCCESS;
}

__attribute__((noinline)) CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return kind_set(kind, 1);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return kind_set(kind, 0);
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return kind_set(kind, 1);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return kind_set(kind, 0);
}

/* Calls the exported function, as the real library does (11.8 to 13.5, by their code; seen with 13.0 on a GPU). */
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	CUptiResult result = cuptiActivityEnable(kind);

	if (result)
		return result;
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		for (int device = 0; device < sim_options()->devices; device++)
			records_device(device);
	if (kind == CUPTI_ACTIVITY_KIND_CONTEXT)
		sim_for_each_context(records_context);
	if (kind == CUPTI_ACTIVITY_KIND_STREAM)
		sim_for_each_stream(records_stream);
	return CUPTI_SUCCESS;
}

static CUptiResult api_set(enum sim_api_domain domain, CUpti_CallbackId cbid, uint8_t enable)
{
	if (layout_version() < 23)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (cbid >= CBID_LIMIT)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (enable)
		delivery_start();
	atomic_store(&api_enabled[domain][cbid], enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return api_set(SIM_RUNTIME, cbid, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return api_set(SIM_DRIVER, cbid, enable);
}

/* ---- settings; two of the attributes have an effect here ---- */

#define ATTRIBUTES 16
#define PER_THREAD CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER

static uint64_t attributes[ATTRIBUTES];
static _Atomic bool pool_limited;
static pthread_once_t defaults_once = PTHREAD_ONCE_INIT;

/* 13.0 uses a buffer for each thread by default. */
static void set_defaults(void)
{
	int wanted = sim_options()->thread_buffers;

	attributes[PER_THREAD] = wanted < 0 ? layout_version() >= 130000 : wanted != 0;
}

bool buffers_per_thread(void)
{
	pthread_once(&defaults_once, set_defaults);
	return attributes[PER_THREAD] & 0xff;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *valueSize, void *value)
{
	if ((unsigned)attribute >= ATTRIBUTES || !valueSize || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*valueSize > sizeof(attributes[0]))
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	pthread_once(&defaults_once, set_defaults);
	memcpy(&attributes[attribute], value, *valueSize);
	if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT)
		atomic_store(&pool_limited, true);
	return CUPTI_SUCCESS;
}

bool pool_is_limited(void)
{
	return atomic_load(&pool_limited);
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *valueSize, void *value)
{
	if ((unsigned)attribute >= ATTRIBUTES || !valueSize || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_once(&defaults_once, set_defaults);
	if (*valueSize > sizeof(attributes[0]))
		*valueSize = sizeof(attributes[0]);
	memcpy(value, &attributes[attribute], *valueSize);
	return CUPTI_SUCCESS;
}

#define ACCEPTED(name, type)                                                                                           \
	CUptiResult name(type value)                                                                                   \
	{                                                                                                              \
		(void)value;                                                                                           \
		return CUPTI_SUCCESS;                                                                                  \
	}

ACCEPTED(cuptiActivityFlushPeriod, uint32_t)
ACCEPTED(cuptiActivityEnableLatencyTimestamps, uint8_t)
ACCEPTED(cuptiActivityEnableLaunchAttributes, uint8_t)
ACCEPTED(cuptiActivityEnableDeviceGraph, uint8_t)
ACCEPTED(cuptiActivityEnableCudaEventDeviceTimestamps, uint8_t)
ACCEPTED(cuptiActivityEnableAllSyncRecords, uint8_t)
ACCEPTED(cuptiActivityEnableAllocationSource, uint8_t)
