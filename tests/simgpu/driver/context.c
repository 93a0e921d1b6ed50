/*
 * context.c: libcuda's devices and contexts.
 */
#include <stdio.h>
#include <string.h>

#include "../core/device.h"
#include "thunk.h"

static bool device_exists(CUdevice device)
{
	return device >= 0 && device < sim_options()->devices;
}

DRIVER(SIM_QUIET, cuDeviceGetCount, (int *count), (count))
{
	if (!sim_initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	*count = sim_options()->devices;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal))
{
	*device = ordinal;
	return device_exists(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

DRIVER(SIM_QUIET, cuDeviceGetName, (char *name, int len, CUdevice dev), (name, len, dev))
{
	if (len > 0)
		snprintf(name, (size_t)len, "%s", SIM_DEVICE_NAME);
	return device_exists(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

DRIVER(SIM_QUIET, cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev))
{
	*pi = sim_device_attribute((int)attrib, dev);
	return device_exists(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

DRIVER(SIM_QUIET, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice dev), (uuid, dev))
{
	sim_device_uuid(dev, (unsigned char *)uuid->bytes);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), (bytes, dev))
{
	size_t unused;

	(void)dev;
	sim_memory_info(&unused, bytes);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDeviceComputeCapability, (int *major, int *minor, CUdevice dev), (major, minor, dev))
{
	(void)dev;
	*major = SIM_CC_MAJOR;
	*minor = SIM_CC_MINOR;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), (pctx, dev))
{
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*pctx = sim_context_primary(dev);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev))
{
	(void)dev;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int *flags, int *active), (dev, flags, active))
{
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = sim_primary_active(dev);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned int flags), (dev, flags))
{
	(void)dev;
	(void)flags;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxCreate_v4,
       (CUcontext * pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev),
       (pctx, ctxCreateParams, flags, dev))
{
	(void)ctxCreateParams;
	(void)flags;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*pctx = sim_context_create(dev);
	sim_thread()->context = *pctx;
	sim_thread()->device = dev;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxDestroy_v2, (CUcontext ctx), (ctx))
{
	sim_resource(2 /* CONTEXT_DESTROY_STARTING */, &(struct sim_resource){.context = ctx});
	if (sim_thread()->context == ctx)
		sim_thread()->context = NULL;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxGetCurrent, (CUcontext * pctx), (pctx))
{
	*pctx = sim_thread()->context;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxSetCurrent, (CUcontext ctx), (ctx))
{
	sim_thread()->context = ctx;
	if (ctx)
		sim_thread()->device = ctx->device;
	return CUDA_SUCCESS;
}

/* One level of nesting is enough for its users. */
static __thread CUcontext pushed;

DRIVER(SIM_QUIET, cuCtxPushCurrent_v2, (CUcontext ctx), (ctx))
{
	pushed = sim_thread()->context;
	sim_thread()->context = ctx;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxPopCurrent_v2, (CUcontext * pctx), (pctx))
{
	if (pctx)
		*pctx = sim_thread()->context;
	sim_thread()->context = pushed;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxGetDevice, (CUdevice * device), (device))
{
	*device = sim_context_current()->device;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuCtxGetStreamPriorityRange, (int *leastPriority, int *greatestPriority),
       (leastPriority, greatestPriority))
{
	*leastPriority = 0;
	*greatestPriority = -5;
	return CUDA_SUCCESS;
}

DRIVER0(SIM_SYNC, cuCtxSynchronize)
{
	sim_context_synchronize(sim_context_current());
	return CUDA_SUCCESS;
}
