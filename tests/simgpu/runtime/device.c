/*
 * device.c: libcudart's devices, errors, versions and kernel attributes.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../core/device.h"
#include "call.h"

#define RUNTIME_VERSION 13020

static pthread_once_t ready_once = PTHREAD_ONCE_INIT;
static __thread bool readying;

static void ready_run(void)
{
	cuInit(0);
}

void runtime_ready(enum sim_api_class class)
{
	if (readying)
		return;
	readying = true;
	pthread_once(&ready_once, ready_run);
	if (class != SIM_QUIET && sim_options()->devices)
		sim_context_current();
	readying = false;
}

static bool device_exists(int device)
{
	return device >= 0 && device < sim_options()->devices;
}

RUNTIME(SIM_QUIET, cudaGetDeviceCount, v3020, (int *count), (count))
{
	*count = sim_options()->devices;
	return runtime_result(*count ? cudaSuccess : cudaErrorNoDevice);
}

RUNTIME(SIM_QUIET, cudaGetDevice, v3020, (int *device), (device))
{
	*device = sim_thread()->device;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaSetDevice, v3020, (int device), (device))
{
	if (!device_exists(device))
		return runtime_result(cudaErrorInvalidDevice);
	sim_thread()->device = device;
	sim_thread()->context = sim_context_primary(device);
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaSetDeviceFlags, v3020, (unsigned int flags), (flags))
{
	(void)flags;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaDeviceGetAttribute, v5000, (int *value, enum cudaDeviceAttr attr, int device),
	(value, attr, device))
{
	if (!device_exists(device))
		return runtime_result(cudaErrorInvalidDevice);
	*value = sim_device_attribute((int)attr, device);
	return cudaSuccess;
}

static void shape_fill(struct cudaDeviceProp *prop, int device)
{
	static const int threads[3] = {1024, 1024, 64}, grid[3] = {0x7fffffff, 65535, 65535};

	snprintf(prop->name, sizeof(prop->name), "%s", SIM_DEVICE_NAME);
	sim_device_uuid(device, (unsigned char *)prop->uuid.bytes);
	memcpy(prop->maxThreadsDim, threads, sizeof(threads));
	memcpy(prop->maxGridSize, grid, sizeof(grid));
	prop->major = SIM_CC_MAJOR;
	prop->minor = SIM_CC_MINOR;
	prop->pciBusID = device + 1;
}

#define ATTRIBUTE(name) sim_device_attribute(CU_DEVICE_ATTRIBUTE_##name, device)

RUNTIME(SIM_QUIET, cudaGetDeviceProperties, v12000, (struct cudaDeviceProp * prop, int device), (prop, device))
{
	size_t unused;

	if (!device_exists(device))
		return runtime_result(cudaErrorInvalidDevice);
	memset(prop, 0, sizeof(*prop));
	shape_fill(prop, device);
	sim_memory_info(&unused, &prop->totalGlobalMem);
	prop->sharedMemPerBlock = (size_t)ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK);
	prop->sharedMemPerBlockOptin = (size_t)ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	prop->sharedMemPerMultiprocessor = (size_t)ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	prop->reservedSharedMemPerBlock = (size_t)ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK);
	prop->regsPerBlock = ATTRIBUTE(MAX_REGISTERS_PER_BLOCK);
	prop->regsPerMultiprocessor = ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR);
	prop->warpSize = ATTRIBUTE(WARP_SIZE);
	prop->maxThreadsPerBlock = ATTRIBUTE(MAX_THREADS_PER_BLOCK);
	prop->totalConstMem = (size_t)ATTRIBUTE(TOTAL_CONSTANT_MEMORY);
	prop->textureAlignment = (size_t)ATTRIBUTE(TEXTURE_ALIGNMENT);
	prop->multiProcessorCount = ATTRIBUTE(MULTIPROCESSOR_COUNT);
	prop->canMapHostMemory = ATTRIBUTE(CAN_MAP_HOST_MEMORY);
	prop->concurrentKernels = ATTRIBUTE(CONCURRENT_KERNELS);
	prop->asyncEngineCount = ATTRIBUTE(ASYNC_ENGINE_COUNT);
	prop->unifiedAddressing = ATTRIBUTE(UNIFIED_ADDRESSING);
	prop->memoryBusWidth = ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH);
	prop->l2CacheSize = ATTRIBUTE(L2_CACHE_SIZE);
	prop->maxThreadsPerMultiProcessor = ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR);
	prop->maxBlocksPerMultiProcessor = ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR);
	prop->streamPrioritiesSupported = ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED);
	prop->managedMemory = ATTRIBUTE(MANAGED_MEMORY);
	prop->cooperativeLaunch = ATTRIBUTE(COOPERATIVE_LAUNCH);
	prop->memoryPoolsSupported = ATTRIBUTE(MEMORY_POOLS_SUPPORTED);
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaDeviceGetPCIBusId, v4010, (char *pciBusId, int len, int device), (pciBusId, len, device))
{
	snprintf(pciBusId, (size_t)len, "0000:%02x:00.0", device + 1);
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaDeviceGetStreamPriorityRange, v5050, (int *leastPriority, int *greatestPriority),
	(leastPriority, greatestPriority))
{
	return runtime_result(cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

RUNTIME(SIM_QUIET, cudaDeviceCanAccessPeer, v4000, (int *canAccessPeer, int device, int peerDevice),
	(canAccessPeer, device, peerDevice))
{
	*canAccessPeer = device != peerDevice;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaDeviceEnablePeerAccess, v4000, (int peerDevice, unsigned int flags), (peerDevice, flags))
{
	(void)peerDevice;
	(void)flags;
	return cudaSuccess;
}

RUNTIME0(SIM_SYNC, cudaDeviceSynchronize, v3020)
{
	return runtime_result(cuCtxSynchronize());
}

/* ---- errors and versions ---- */

RUNTIME0(SIM_QUIET, cudaGetLastError, v3020)
{
	cudaError_t last = (cudaError_t)sim_thread()->last_error;

	sim_thread()->last_error = 0;
	return last;
}

RUNTIME0(SIM_QUIET, cudaPeekAtLastError, v3020)
{
	return (cudaError_t)sim_thread()->last_error;
}

static const struct {
	cudaError_t code;
	const char *name, *text;
} errors[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
	{cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
	{cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const char *cudaGetErrorString(cudaError_t error)
{
	SIM_FRAME();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			return errors[i].text;
	return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
	SIM_FRAME();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			return errors[i].name;
	return "unrecognized error code";
}

RUNTIME(SIM_QUIET, cudaDriverGetVersion, v3020, (int *driverVersion), (driverVersion))
{
	return runtime_result(cuDriverGetVersion(driverVersion));
}

RUNTIME(SIM_QUIET, cudaRuntimeGetVersion, v3020, (int *runtimeVersion), (runtimeVersion))
{
	*runtimeVersion = RUNTIME_VERSION;
	return cudaSuccess;
}

/* cudaProfiler.h is in a separate package. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

RUNTIME0(SIM_QUIET, cudaProfilerStart, v4000)
{
	return runtime_result(cuProfilerStart());
}

RUNTIME0(SIM_QUIET, cudaProfilerStop, v4000)
{
	return runtime_result(cuProfilerStop());
}

RUNTIME(SIM_QUIET, cudaGetDriverEntryPointByVersion, v12050,
	(const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
	 enum cudaDriverEntryPointQueryResult *driverStatus),
	(symbol, funcPtr, cudaVersion, flags, driverStatus))
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	cuGetProcAddress_v2(symbol, funcPtr, (int)cudaVersion, flags, &status);
	if (driverStatus)
		*driverStatus = (enum cudaDriverEntryPointQueryResult)status;
	return cudaSuccess;
}

/* ---- kernels ---- */

RUNTIME(SIM_QUIET, cudaFuncGetAttributes, v3020, (struct cudaFuncAttributes * attr, const void *func), (attr, func))
{
	CUkernel kernel = sim_kernel_resolve(func);

	memset(attr, 0, sizeof(*attr));
	attr->maxThreadsPerBlock = 1024;
	attr->numRegs = kernel ? (int)kernel->registers : 32;
	attr->binaryVersion = SIM_CC_MAJOR * 10 + SIM_CC_MINOR;
	attr->ptxVersion = attr->binaryVersion;
	attr->maxDynamicSharedSizeBytes = 49152;
	return runtime_result(kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

RUNTIME(SIM_QUIET, cudaFuncSetAttribute, v9000, (const void *func, enum cudaFuncAttribute attr, int value),
	(func, attr, value))
{
	(void)func;
	(void)attr;
	(void)value;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaOccupancyMaxActiveBlocksPerMultiprocessor, v6050,
	(int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize),
	(numBlocks, func, blockSize, dynamicSMemSize))
{
	(void)func;
	*numBlocks = sim_occupancy(blockSize, dynamicSMemSize);
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, v7000,
	(int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
	(numBlocks, func, blockSize, dynamicSMemSize, flags))
{
	(void)func;
	(void)flags;
	*numBlocks = sim_occupancy(blockSize, dynamicSMemSize);
	return cudaSuccess;
}
