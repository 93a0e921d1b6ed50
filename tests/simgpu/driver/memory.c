/*
 * memory.c: libcuda's allocations, copies and fills.
 */
#include <string.h>

#include "thunk.h"

static CUresult allocate_memory(enum sim_memory kind, size_t bytes, void **address)
{
	const struct sim_tool *tool = sim_tool();
	CUcontext context = sim_context_current();

	*address = sim_memory_alloc(kind, bytes, context->device);
	if (!*address)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (tool)
		tool->memory(&(struct sim_memory_event){
			.kind = kind,
			.address = (uintptr_t)*address,
			.bytes = bytes,
			.device = (uint32_t)context->device,
			.context = context->id,
			.correlation = sim_thread()->correlation,
		});
	return CUDA_SUCCESS;
}

static CUresult release_memory(void *address)
{
	const struct sim_tool *tool = sim_tool();
	CUcontext context = sim_context_current();
	struct sim_memory_event event = {
		.release = true,
		.kind = sim_memory_kind(address),
		.address = (uintptr_t)address,
		.bytes = sim_memory_block(address, NULL),
		.device = (uint32_t)context->device,
		.context = context->id,
		.correlation = sim_thread()->correlation,
	};

	if (!address)
		return CUDA_SUCCESS;
	if (!sim_memory_free(address))
		return CUDA_ERROR_INVALID_VALUE;
	if (tool)
		tool->memory(&event);
	return CUDA_SUCCESS;
}

DRIVER(SIM_ALLOC, cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), (dptr, bytesize))
{
	return allocate_memory(SIM_DEVICE, bytesize, (void **)dptr);
}

DRIVER(SIM_ALLOC, cuMemAllocAsync, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream), (dptr, bytesize, hStream))
{
	(void)hStream;
	return allocate_memory(SIM_DEVICE, bytesize, (void **)dptr);
}

DRIVER(SIM_ALLOC, cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags), (dptr, bytesize, flags))
{
	(void)flags;
	return allocate_memory(SIM_MANAGED, bytesize, (void **)dptr);
}

DRIVER(SIM_ALLOC, cuMemAllocHost_v2, (void **pp, size_t bytesize), (pp, bytesize))
{
	return allocate_memory(SIM_PINNED, bytesize, pp);
}

DRIVER(SIM_ALLOC, cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags))
{
	(void)Flags;
	return allocate_memory(SIM_PINNED, bytesize, pp);
}

/* Freeing waits for the device, as cuMemFree does. */
DRIVER(SIM_FREE, cuMemFree_v2, (CUdeviceptr dptr), (dptr))
{
	sim_context_synchronize(sim_context_current());
	return release_memory((void *)dptr);
}

DRIVER(SIM_FREE, cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream))
{
	(void)hStream;
	return release_memory((void *)dptr);
}

DRIVER(SIM_FREE, cuMemFreeHost, (void *p), (p))
{
	return release_memory(p);
}

DRIVER(SIM_QUIET, cuMemHostRegister_v2, (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags))
{
	(void)Flags;
	sim_memory_pin(p, bytesize);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuMemHostUnregister, (void *p), (p))
{
	sim_memory_pin(p, 0);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuMemGetInfo_v2, (size_t * free, size_t *total), (free, total))
{
	sim_memory_info(free, total);
	return CUDA_SUCCESS;
}

static CUresult copy_memory(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream, bool async)
{
	struct sim_copy copy = {.dst = (void *)dst, .src = (const void *)src};

	copy.width = bytes;
	copy.height = 1;
	sim_submit_copy(stream, copy, async);
	return CUDA_SUCCESS;
}

#define COPY(name, dst_type, src_type)                                                                                 \
	DRIVER(SIM_COPY, name, (dst_type dst, src_type src, size_t ByteCount), (dst, src, ByteCount))                  \
	{                                                                                                              \
		return copy_memory((CUdeviceptr)dst, (CUdeviceptr)src, ByteCount, NULL, false);                        \
	}
#define COPY_ASYNC(name, dst_type, src_type)                                                                           \
	DRIVER(SIM_COPY, name, (dst_type dst, src_type src, size_t ByteCount, CUstream hStream),                       \
	       (dst, src, ByteCount, hStream))                                                                         \
	{                                                                                                              \
		return copy_memory((CUdeviceptr)dst, (CUdeviceptr)src, ByteCount, hStream, true);                      \
	}

COPY(cuMemcpy, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpyHtoD_v2, CUdeviceptr, const void *)
COPY(cuMemcpyDtoH_v2, void *, CUdeviceptr)
COPY(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr)

#define SET(name, type, field)                                                                                         \
	DRIVER(SIM_SET, name, (CUdeviceptr dstDevice, type field, size_t N), (dstDevice, field, N))                    \
	{                                                                                                              \
		sim_submit_set(NULL, (void *)dstDevice, field, sizeof(type), N * sizeof(type), false);                 \
		return CUDA_SUCCESS;                                                                                   \
	}
#define SET_ASYNC(name, type, field)                                                                                   \
	DRIVER(SIM_SET, name, (CUdeviceptr dstDevice, type field, size_t N, CUstream hStream),                         \
	       (dstDevice, field, N, hStream))                                                                         \
	{                                                                                                              \
		sim_submit_set(hStream, (void *)dstDevice, field, sizeof(type), N * sizeof(type), true);               \
		return CUDA_SUCCESS;                                                                                   \
	}

SET(cuMemsetD8_v2, unsigned char, uc)
SET(cuMemsetD16_v2, unsigned short, us)
SET(cuMemsetD32_v2, unsigned int, ui)
SET_ASYNC(cuMemsetD8Async, unsigned char, uc)
SET_ASYNC(cuMemsetD16Async, unsigned short, us)
SET_ASYNC(cuMemsetD32Async, unsigned int, ui)

DRIVER(SIM_QUIET, cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),
       (data, attribute, ptr))
{
	enum sim_memory kind = sim_memory_kind((const void *)ptr);
	int device = sim_memory_device((const void *)ptr);
	bool on_device = kind == SIM_DEVICE || kind == SIM_MANAGED;

	if (kind == SIM_PAGEABLE)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = sim_context_primary(device);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(CUdeviceptr *)data = ptr;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = device;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}
