/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts words to numbers; see names.h. */
#include "input/names.h"

#include <string.h>

#include "base/array.h"
#include "model/program.h"

struct word {
	const char *name;
	uint32_t value;
};

static uint32_t find_word(const struct word *words, size_t count, const char *name, size_t size)
{
	return value_of_first(count, i, strlen(words[i].name) == size && !memcmp(words[i].name, name, size),
			      words[i].value, 0);
}
#define FIND(words, name, size) find_word(words, sizeof(words) / sizeof((words)[0]), name, size)

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The part before a version such as "_v7000"; "_v2" is part of the name. */
static size_t without_version(const char *name, size_t size)
{
	size_t at = size;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return size - at >= 4 && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : size;
}

static uint16_t find_name(const char *name, size_t size)
{
#define TWIN_NONE(domain, symbol, cbid)
#define TWIN_PTSZ(domain, symbol, cbid) {#symbol "_ptsz", GPT_API(GPT_DOMAIN_##domain, cbid)},
#define TWIN_PTDS(domain, symbol, cbid) {#symbol "_ptds", GPT_API(GPT_DOMAIN_##domain, cbid)},
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{#symbol, GPT_API(GPT_DOMAIN_##domain, cbid)}, TWIN_##twin(domain, symbol, twin_cbid)
	static const struct word words[] = {GPT_CUDA_API_TABLE(ROW)};
#undef ROW
	return (uint16_t)FIND(words, name, size);
}

uint16_t name_to_api(const char *name, size_t size, enum gpt_api_domain domain, int64_t cbid)
{
	uint16_t api = cbid > 0 && cbid < 1 << 12 ? GPT_API(domain, cbid) : 0;
	const char *known;

	if (!api || api_class(api) == GPT_CLASS_NONE)
		return 0;
	/* a file may name a call or its twin */
	size = without_version(name, size);
	known = api_name(api);
	return strlen(known) >= size && !memcmp(known, name, size) ? api : 0;
}

/*
 * Calls that gputrace does not follow, by CUPTI's callback ids (cupti_runtime_cbid.h, cupti_driver_cbid.h of 13.0), as
 * nvprof has no names. Lists the calls that programs of its time make.
 */
static const struct {
	enum gpt_api_domain domain;
	uint16_t cbid;
	const char *name;
} numbered[] = {
#define CAPTURE(domain, symbol, what, cbid, twin_cbid)                                                                 \
	{GPT_DOMAIN_##domain, cbid, #symbol}, {GPT_DOMAIN_##domain, twin_cbid, #symbol},
	GPT_CUDA_CAPTURE_CALLS(CAPTURE)
#undef CAPTURE
		{GPT_DOMAIN_RUNTIME, 1, "cudaDriverGetVersion"},
	{GPT_DOMAIN_RUNTIME, 2, "cudaRuntimeGetVersion"},
	{GPT_DOMAIN_RUNTIME, 3, "cudaGetDeviceCount"},
	{GPT_DOMAIN_RUNTIME, 4, "cudaGetDeviceProperties"},
	{GPT_DOMAIN_RUNTIME, 5, "cudaChooseDevice"},
	{GPT_DOMAIN_RUNTIME, 8, "cudaConfigureCall"},
	{GPT_DOMAIN_RUNTIME, 9, "cudaSetupArgument"},
	{GPT_DOMAIN_RUNTIME, 10, "cudaGetLastError"},
	{GPT_DOMAIN_RUNTIME, 11, "cudaPeekAtLastError"},
	{GPT_DOMAIN_RUNTIME, 13, "cudaLaunch"},
	{GPT_DOMAIN_RUNTIME, 14, "cudaFuncSetCacheConfig"},
	{GPT_DOMAIN_RUNTIME, 15, "cudaFuncGetAttributes"},
	{GPT_DOMAIN_RUNTIME, 16, "cudaSetDevice"},
	{GPT_DOMAIN_RUNTIME, 17, "cudaGetDevice"},
	{GPT_DOMAIN_RUNTIME, 19, "cudaSetDeviceFlags"},
	{GPT_DOMAIN_RUNTIME, 23, "cudaMallocArray"},
	{GPT_DOMAIN_RUNTIME, 24, "cudaFreeArray"},
	{GPT_DOMAIN_RUNTIME, 28, "cudaHostGetDevicePointer"},
	{GPT_DOMAIN_RUNTIME, 29, "cudaHostGetFlags"},
	{GPT_DOMAIN_RUNTIME, 30, "cudaMemGetInfo"},
	{GPT_DOMAIN_RUNTIME, 53, "cudaGetSymbolAddress"},
	{GPT_DOMAIN_RUNTIME, 123, "cudaThreadExit"},
	{GPT_DOMAIN_RUNTIME, 126, "cudaThreadSynchronize"},
	{GPT_DOMAIN_RUNTIME, 129, "cudaStreamCreate"},
	{GPT_DOMAIN_RUNTIME, 130, "cudaStreamDestroy"},
	{GPT_DOMAIN_RUNTIME, 132, "cudaStreamQuery"},
	{GPT_DOMAIN_RUNTIME, 133, "cudaEventCreate"},
	{GPT_DOMAIN_RUNTIME, 134, "cudaEventCreateWithFlags"},
	{GPT_DOMAIN_RUNTIME, 136, "cudaEventDestroy"},
	{GPT_DOMAIN_RUNTIME, 138, "cudaEventQuery"},
	{GPT_DOMAIN_RUNTIME, 139, "cudaEventElapsedTime"},
	{GPT_DOMAIN_RUNTIME, 152, "cudaHostRegister"},
	{GPT_DOMAIN_RUNTIME, 153, "cudaHostUnregister"},
	{GPT_DOMAIN_RUNTIME, 164, "cudaDeviceReset"},
	{GPT_DOMAIN_RUNTIME, 166, "cudaDeviceGetLimit"},
	{GPT_DOMAIN_RUNTIME, 167, "cudaDeviceSetLimit"},
	{GPT_DOMAIN_RUNTIME, 169, "cudaDeviceSetCacheConfig"},
	{GPT_DOMAIN_RUNTIME, 173, "cudaDeviceGetByPCIBusId"},
	{GPT_DOMAIN_RUNTIME, 178, "cudaIpcGetMemHandle"},
	{GPT_DOMAIN_RUNTIME, 179, "cudaIpcOpenMemHandle"},
	{GPT_DOMAIN_RUNTIME, 154, "cudaDeviceCanAccessPeer"},
	{GPT_DOMAIN_RUNTIME, 155, "cudaDeviceEnablePeerAccess"},
	{GPT_DOMAIN_RUNTIME, 151, "cudaPointerGetAttributes"},
	{GPT_DOMAIN_RUNTIME, 197, "cudaStreamAddCallback"},
	{GPT_DOMAIN_RUNTIME, 198, "cudaStreamCreateWithFlags"},
	{GPT_DOMAIN_RUNTIME, 200, "cudaDeviceGetAttribute"},
	{GPT_DOMAIN_RUNTIME, 202, "cudaStreamCreateWithPriority"},
	{GPT_DOMAIN_RUNTIME, 205, "cudaDeviceGetStreamPriorityRange"},
	{GPT_DOMAIN_RUNTIME, 207, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"},
	{GPT_DOMAIN_RUNTIME, 251, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
	{GPT_DOMAIN_RUNTIME, 208, "cudaStreamAttachMemAsync"},
	{GPT_DOMAIN_RUNTIME, 252, "cudaMemPrefetchAsync"},
	{GPT_DOMAIN_RUNTIME, 254, "cudaMemAdvise"},
	{GPT_DOMAIN_RUNTIME, 273, "cudaFuncSetAttribute"},
	{GPT_DOMAIN_RUNTIME, 317, "cudaStreamIsCapturing"},
	{GPT_DOMAIN_RUNTIME, 310, "cudaGraphInstantiate"},
	{GPT_DOMAIN_DRIVER, 1, "cuInit"},
	{GPT_DOMAIN_DRIVER, 2, "cuDriverGetVersion"},
	{GPT_DOMAIN_DRIVER, 3, "cuDeviceGet"},
	{GPT_DOMAIN_DRIVER, 4, "cuDeviceGetCount"},
	{GPT_DOMAIN_DRIVER, 5, "cuDeviceGetName"},
	{GPT_DOMAIN_DRIVER, 259, "cuDeviceTotalMem_v2"},
	{GPT_DOMAIN_DRIVER, 9, "cuDeviceGetAttribute"},
	{GPT_DOMAIN_DRIVER, 235, "cuCtxCreate_v2"},
	{GPT_DOMAIN_DRIVER, 322, "cuCtxDestroy_v2"},
	{GPT_DOMAIN_DRIVER, 323, "cuCtxPushCurrent_v2"},
	{GPT_DOMAIN_DRIVER, 324, "cuCtxPopCurrent_v2"},
	{GPT_DOMAIN_DRIVER, 303, "cuCtxSetCurrent"},
	{GPT_DOMAIN_DRIVER, 304, "cuCtxGetCurrent"},
	{GPT_DOMAIN_DRIVER, 16, "cuCtxGetDevice"},
	{GPT_DOMAIN_DRIVER, 386, "cuDevicePrimaryCtxRetain"},
	{GPT_DOMAIN_DRIVER, 387, "cuDevicePrimaryCtxRelease"},
	{GPT_DOMAIN_DRIVER, 22, "cuModuleUnload"},
	{GPT_DOMAIN_DRIVER, 23, "cuModuleGetFunction"},
	{GPT_DOMAIN_DRIVER, 241, "cuModuleGetGlobal_v2"},
	{GPT_DOMAIN_DRIVER, 85, "cuFuncGetAttribute"},
	{GPT_DOMAIN_DRIVER, 481, "cuFuncSetAttribute"},
	{GPT_DOMAIN_DRIVER, 124, "cuStreamCreate"},
	{GPT_DOMAIN_DRIVER, 367, "cuStreamCreateWithPriority"},
	{GPT_DOMAIN_DRIVER, 326, "cuStreamDestroy_v2"},
	{GPT_DOMAIN_DRIVER, 125, "cuStreamQuery"},
	{GPT_DOMAIN_DRIVER, 118, "cuEventCreate"},
	{GPT_DOMAIN_DRIVER, 325, "cuEventDestroy_v2"},
	{GPT_DOMAIN_DRIVER, 120, "cuEventQuery"},
	{GPT_DOMAIN_DRIVER, 123, "cuEventElapsedTime"},
	{GPT_DOMAIN_DRIVER, 242, "cuMemGetInfo_v2"},
	{GPT_DOMAIN_DRIVER, 301, "cuMemHostRegister"},
	{GPT_DOMAIN_DRIVER, 302, "cuMemHostUnregister"},
	{GPT_DOMAIN_DRIVER, 247, "cuMemHostGetDevicePointer_v2"},
	{GPT_DOMAIN_DRIVER, 115, "cuLaunch"},
	{GPT_DOMAIN_DRIVER, 116, "cuLaunchGrid"},
	{GPT_DOMAIN_DRIVER, 117, "cuLaunchGridAsync"},
	{GPT_DOMAIN_DRIVER, 310, "cuPointerGetAttribute"},
	{GPT_DOMAIN_DRIVER, 362, "cuLinkCreate"},
	{GPT_DOMAIN_DRIVER, 366, "cuLinkDestroy"},
	{GPT_DOMAIN_DRIVER, 482, "cuDeviceGetUuid"},
	{GPT_DOMAIN_DRIVER, 374, "cuOccupancyMaxActiveBlocksPerMultiprocessor"},
};

const char *name_of_cbid(enum gpt_api_domain domain, int64_t cbid)
{
	return value_of_first(sizeof(numbered) / sizeof(numbered[0]), i,
			      numbered[i].domain == domain && numbered[i].cbid == cbid, numbered[i].name, NULL);
}

uint16_t name_to_any_api(const char *name, size_t size)
{
	uint16_t api;

	size = without_version(name, size);
	api = find_name(name, size);
	return api ? api : api_named(name, size);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#define MEMCPY_KINDS 14u
#define MEMORY_KINDS 8u

static uint8_t memory_kind(const char *name, size_t size)
{
	for (uint32_t i = 1; i < MEMORY_KINDS; i++)
		if (strlen(gpu_memory_kind(i)) == size && !memcmp(gpu_memory_kind(i), name, size))
			return (uint8_t)i;
	return 0;
}

static uint8_t memcpy_kind(const char *name, size_t size)
{
	for (uint32_t i = 1; i < MEMCPY_KINDS; i++)
		if (strlen(gpu_memcpy_kind(i)) == size && !memcmp(gpu_memcpy_kind(i), name, size))
			return (uint8_t)i;
	return 0;
}

void name_to_memory_kinds(const char *name, size_t size, struct model_gpu *work)
{
	const char *end = name + size, *open = memchr(name, '(', size), *arrow, *close;

	if (!open)
		return;
	close = memchr(open, ')', (size_t)(end - open));
	if (!close)
		return;
	if (size > 7 && !memcmp(name, "Memcpy ", 7) && open > name + 8)
		work->memcpy_kind = memcpy_kind(name + 7, (size_t)(open - 1 - (name + 7)));
	arrow = memmem(open, (size_t)(close - open), " -> ", 4);
	if (!arrow) {
		work->to = memory_kind(open + 1, (size_t)(close - open - 1));
		return;
	}
	work->from = memory_kind(open + 1, (size_t)(arrow - open - 1));
	work->to = memory_kind(arrow + 4, (size_t)(close - arrow - 4));
}

uint32_t name_to_memory(const char *name, size_t size)
{
	static const struct word words[] = {
		{"pageable", 1}, {"pinned", 2},		{"device", 3},		{"array", 4},
		{"managed", 5},	 {"device, static", 6}, {"managed, static", 7},
	};

	return FIND(words, name, size);
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

enum gpt_agent_sync_kind name_to_sync(const char *name, size_t size)
{
	static const struct word words[] = {
		{"Event Sync", GPT_AGENT_SYNC_EVENT},
		{"Stream Wait Event", GPT_AGENT_SYNC_STREAM_WAITS_EVENT},
		{"Stream Sync", GPT_AGENT_SYNC_STREAM},
		{"Context Sync", GPT_AGENT_SYNC_CONTEXT},
	};

	return (enum gpt_agent_sync_kind)FIND(words, name, size);
}

static bool has_part(const char *name, size_t size, const char *part)
{
	return memmem(name, size, part, strlen(part)) != NULL;
}

enum gpt_agent_sync_kind name_to_wait(const char *name, size_t size)
{
	static const struct word parts[] = {
		{"WaitEvent", GPT_AGENT_SYNC_STREAM_WAITS_EVENT}, {"EventSynchronize", GPT_AGENT_SYNC_EVENT},
		{"StreamSynchronize", GPT_AGENT_SYNC_STREAM},	  {"DeviceSynchronize", GPT_AGENT_SYNC_CONTEXT},
		{"CtxSynchronize", GPT_AGENT_SYNC_CONTEXT},	  {"ThreadSynchronize", GPT_AGENT_SYNC_CONTEXT},
	};

	return value_of_first(sizeof(parts) / sizeof(parts[0]), i, has_part(name, size, parts[i].name),
			      (enum gpt_agent_sync_kind)parts[i].value, 0);
}

/* CUpti_ActivityOverheadKind (cupti_activity.h, 13.0), as Kineto names them. */
uint32_t name_to_overhead(const char *name, size_t size)
{
	static const struct word words[] = {
		{"Driver Compiler", 1},
		{"Buffer Flush", 1u << 16},
		{"Instrumentation", 2u << 16},
		{"Resource", 3u << 16},
		{"Runtime Triggered Module Loading", 4u << 16},
		{"Lazy Function Loading", 5u << 16},
		{"Command Buffer Full", 6u << 16},
		{"Activity Buffer Request", 7u << 16},
		{"UVM Activity Init", 8u << 16},
	};

	return FIND(words, name, size);
}
