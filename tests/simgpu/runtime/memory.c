/*
 * memory.c: libcudart's allocations, copies and fills.
 */
#include <string.h>

#include "call.h"

/* libcuda's own names, without the macros of cuda.h that rename them. */
#define DEVICE(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

RUNTIME(SIM_ALLOC, cudaMalloc, v3020, (void **devPtr, size_t size), (devPtr, size))
{
	return runtime_result(cuMemAlloc_v2((CUdeviceptr *)devPtr, size));
}

RUNTIME(SIM_ALLOC, cudaMallocAsync, v11020, (void **devPtr, size_t size, cudaStream_t hStream), (devPtr, size, hStream))
{
	return runtime_result(cuMemAllocAsync((CUdeviceptr *)devPtr, size, hStream));
}

RUNTIME(SIM_ALLOC, cudaMallocFromPoolAsync, v11020,
	(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream), (ptr, size, memPool, stream))
{
	(void)memPool;
	return runtime_result(cuMemAllocAsync((CUdeviceptr *)ptr, size, stream));
}

RUNTIME(SIM_ALLOC, cudaMallocManaged, v6000, (void **devPtr, size_t size, unsigned int flags), (devPtr, size, flags))
{
	return runtime_result(cuMemAllocManaged((CUdeviceptr *)devPtr, size, flags));
}

RUNTIME(SIM_ALLOC, cudaMallocHost, v3020, (void **ptr, size_t size), (ptr, size))
{
	return runtime_result(cuMemAllocHost_v2(ptr, size));
}

RUNTIME(SIM_ALLOC, cudaHostAlloc, v3020, (void **pHost, size_t size, unsigned int flags), (pHost, size, flags))
{
	return runtime_result(cuMemHostAlloc(pHost, size, flags));
}

RUNTIME(SIM_FREE, cudaFree, v3020, (void *devPtr), (devPtr))
{
	return runtime_result(cuMemFree_v2(DEVICE(devPtr)));
}

RUNTIME(SIM_FREE, cudaFreeAsync, v11020, (void *devPtr, cudaStream_t hStream), (devPtr, hStream))
{
	return runtime_result(cuMemFreeAsync(DEVICE(devPtr), hStream));
}

RUNTIME(SIM_FREE, cudaFreeHost, v3020, (void *ptr), (ptr))
{
	return runtime_result(cuMemFreeHost(ptr));
}

RUNTIME(SIM_QUIET, cudaHostRegister, v4000, (void *ptr, size_t size, unsigned int flags), (ptr, size, flags))
{
	return runtime_result(cuMemHostRegister_v2(ptr, size, flags));
}

RUNTIME(SIM_QUIET, cudaHostUnregister, v4000, (void *ptr), (ptr))
{
	return runtime_result(cuMemHostUnregister(ptr));
}

RUNTIME(SIM_QUIET, cudaHostGetDevicePointer, v3020, (void **pDevice, void *pHost, unsigned int flags),
	(pDevice, pHost, flags))
{
	(void)flags;
	*pDevice = pHost;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaMemGetInfo, v3020, (size_t * free, size_t *total), (free, total))
{
	return runtime_result(cuMemGetInfo_v2(free, total));
}

RUNTIME(SIM_QUIET, cudaPointerGetAttributes, v4000, (struct cudaPointerAttributes * attributes, const void *ptr),
	(attributes, ptr))
{
	static const enum cudaMemoryType types[] = {
		[SIM_PAGEABLE] = cudaMemoryTypeUnregistered,
		[SIM_PINNED] = cudaMemoryTypeHost,
		[SIM_DEVICE] = cudaMemoryTypeDevice,
		[SIM_MANAGED] = cudaMemoryTypeManaged,
	};
	enum sim_memory kind = sim_memory_kind(ptr);

	memset(attributes, 0, sizeof(*attributes));
	attributes->type = types[kind];
	attributes->device = kind == SIM_PAGEABLE ? -2 : sim_memory_device(ptr);
	attributes->devicePointer = kind == SIM_PAGEABLE ? NULL : (void *)ptr;
	attributes->hostPointer = kind == SIM_DEVICE ? NULL : (void *)ptr;
	return cudaSuccess;
}

/* ---- copies ---- */

static bool on_device(const void *pointer)
{
	enum sim_memory kind = sim_memory_kind(pointer);

	return kind == SIM_DEVICE || kind == SIM_MANAGED;
}

static enum cudaMemcpyKind direction_of(void *dst, const void *src, enum cudaMemcpyKind said)
{
	if (said != cudaMemcpyDefault)
		return said;
	if (on_device(src))
		return on_device(dst) ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
	return on_device(dst) ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}

static CUresult copy_now(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	switch (direction_of(dst, src, kind)) {
	case cudaMemcpyHostToDevice:
		return cuMemcpyHtoD_v2(DEVICE(dst), src, bytes);
	case cudaMemcpyDeviceToHost:
		return cuMemcpyDtoH_v2(dst, DEVICE(src), bytes);
	case cudaMemcpyDeviceToDevice:
		return cuMemcpyDtoD_v2(DEVICE(dst), DEVICE(src), bytes);
	default:
		return cuMemcpy(DEVICE(dst), DEVICE(src), bytes);
	}
}

static CUresult copy_async(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	switch (direction_of(dst, src, kind)) {
	case cudaMemcpyHostToDevice:
		return cuMemcpyHtoDAsync_v2(DEVICE(dst), src, bytes, stream);
	case cudaMemcpyDeviceToHost:
		return cuMemcpyDtoHAsync_v2(dst, DEVICE(src), bytes, stream);
	case cudaMemcpyDeviceToDevice:
		return cuMemcpyDtoDAsync_v2(DEVICE(dst), DEVICE(src), bytes, stream);
	default:
		return cuMemcpyAsync(DEVICE(dst), DEVICE(src), bytes, stream);
	}
}

RUNTIME(SIM_COPY, cudaMemcpy, v3020, (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	(dst, src, count, kind))
{
	return runtime_result(copy_now(dst, src, count, kind));
}

RUNTIME(SIM_COPY, cudaMemcpyAsync, v3020,
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, src, count, kind, stream))
{
	return runtime_result(copy_async(dst, src, count, kind, stream));
}

RUNTIME(SIM_COPY, cudaMemcpyPeerAsync, v4000,
	(void *dst, int dstDevice, const void *src, int srcDevice, size_t count, cudaStream_t stream),
	(dst, dstDevice, src, srcDevice, count, stream))
{
	(void)dstDevice;
	(void)srcDevice;
	return runtime_result(copy_async(dst, src, count, cudaMemcpyDeviceToDevice, stream));
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			   cudaStream_t stream, bool async)
{
	struct sim_copy copy = {.dst = dst, .src = src, .width = width, .height = height};

	copy.dst_pitch = dpitch;
	copy.src_pitch = spitch;
	sim_submit_copy(stream, copy, async);
	return cudaSuccess;
}

RUNTIME(SIM_COPY, cudaMemcpy2D, v3020,
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
	 enum cudaMemcpyKind kind),
	(dst, dpitch, src, spitch, width, height, kind))
{
	(void)kind;
	return copy_2d(dst, dpitch, src, spitch, width, height, NULL, false);
}

RUNTIME(SIM_COPY, cudaMemcpy2DAsync, v3020,
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
	 enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, dpitch, src, spitch, width, height, kind, stream))
{
	(void)kind;
	return copy_2d(dst, dpitch, src, spitch, width, height, stream, true);
}

/* ---- fills ---- */

RUNTIME(SIM_SET, cudaMemset, v3020, (void *devPtr, int value, size_t count), (devPtr, value, count))
{
	return runtime_result(cuMemsetD8_v2(DEVICE(devPtr), (unsigned char)value, count));
}

RUNTIME(SIM_SET, cudaMemsetAsync, v3020, (void *devPtr, int value, size_t count, cudaStream_t stream),
	(devPtr, value, count, stream))
{
	return runtime_result(cuMemsetD8Async(DEVICE(devPtr), (unsigned char)value, count, stream));
}

/* ---- memory pools: there is one, and it has no settings ---- */

static char the_pool;

RUNTIME(SIM_QUIET, cudaDeviceGetDefaultMemPool, v11020, (cudaMemPool_t * memPool, int device), (memPool, device))
{
	(void)device;
	*memPool = (cudaMemPool_t)&the_pool;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaMemPoolGetAttribute, v11020, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value),
	(memPool, attr, value))
{
	(void)memPool;
	if (attr >= cudaMemPoolAttrReleaseThreshold)
		*(uint64_t *)value = 0;
	else
		*(int *)value = 1;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaMemPoolSetAttribute, v11020, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value),
	(memPool, attr, value))
{
	(void)memPool;
	(void)attr;
	(void)value;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaMemPoolSetAccess, v11020,
	(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count), (memPool, descList, count))
{
	(void)memPool;
	(void)descList;
	(void)count;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaMemPoolTrimTo, v11020, (cudaMemPool_t memPool, size_t minBytesToKeep), (memPool, minBytesToKeep))
{
	(void)memPool;
	(void)minBytesToKeep;
	return cudaSuccess;
}
