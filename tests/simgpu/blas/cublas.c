/*
 * cublas.c: simulated libcublas: handles and their settings. Every function that computes launches
 * one kernel on the handle's stream, by the driver API as the real library does. Results are not
 * computed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../core/sim.h"

enum { STATUS_SUCCESS = 0, STATUS_ALLOC_FAILED = 3, STATUS_NOT_SUPPORTED = 15 };

struct cublasContext {
	CUstream stream;
	int pointer_mode, math_mode, atomics_mode, sm_count;
};

#define LIBRARY_VERSION 130000
#define SIM_BLAS_GRID 132

int cublasCreate_v2(struct cublasContext **handle);
int cublasCreate_v2(struct cublasContext **handle)
{
	*handle = calloc(1, sizeof(**handle));
	return *handle ? STATUS_SUCCESS : STATUS_ALLOC_FAILED;
}

int cublasDestroy_v2(struct cublasContext *handle);
int cublasDestroy_v2(struct cublasContext *handle)
{
	free(handle);
	return STATUS_SUCCESS;
}

int cublasGetVersion_v2(struct cublasContext *handle, int *version);
int cublasGetVersion_v2(struct cublasContext *handle, int *version)
{
	(void)handle;
	*version = LIBRARY_VERSION;
	return STATUS_SUCCESS;
}

int cublasGetProperty(int type, int *value);
int cublasGetProperty(int type, int *value)
{
	*value = type == 0 ? 13 : 0;
	return STATUS_SUCCESS;
}

int cublasSetWorkspace_v2(struct cublasContext *handle, void *workspace, size_t size);
int cublasSetWorkspace_v2(struct cublasContext *handle, void *workspace, size_t size)
{
	(void)handle;
	(void)workspace;
	(void)size;
	return STATUS_SUCCESS;
}

#define SETTING(Name, type, field)                                                                                     \
	int cublasSet##Name(struct cublasContext *handle, type value);                                                 \
	int cublasSet##Name(struct cublasContext *handle, type value)                                                  \
	{                                                                                                              \
		handle->field = value;                                                                                 \
		return STATUS_SUCCESS;                                                                                 \
	}                                                                                                              \
	int cublasGet##Name(struct cublasContext *handle, type *value);                                                \
	int cublasGet##Name(struct cublasContext *handle, type *value)                                                 \
	{                                                                                                              \
		*value = handle->field;                                                                                \
		return STATUS_SUCCESS;                                                                                 \
	}

SETTING(Stream_v2, CUstream, stream)
SETTING(PointerMode_v2, int, pointer_mode)
SETTING(MathMode, int, math_mode)
SETTING(AtomicsMode, int, atomics_mode)
SETTING(SmCountTarget, int, sm_count)

const char *cublasGetStatusString(int status);
const char *cublasGetStatusString(int status)
{
	return status ? "the simulated cuBLAS cannot do this" : "success";
}

const char *cublasGetStatusName(int status);
const char *cublasGetStatusName(int status)
{
	return status ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_SUCCESS";
}

static int blas_launch(struct cublasContext *handle, _Atomic(CUkernel) *kernel, const char *name)
{
	char text[128];

	if (!*kernel) {
		snprintf(text, sizeof(text), "sim_%s_kernel", name);
		*kernel = sim_kernel_intern(text);
	}
	return cuLaunchKernel((CUfunction)*kernel, SIM_BLAS_GRID, 1, 1, 256, 1, 1, 32768, handle->stream, NULL, NULL)
		       ? STATUS_NOT_SUPPORTED
		       : STATUS_SUCCESS;
}

#define COMPUTES(name)                                                                                                 \
	int name(struct cublasContext *handle);                                                                        \
	int name(struct cublasContext *handle)                                                                         \
	{                                                                                                              \
		static _Atomic(CUkernel) kernel;                                                                       \
		return blas_launch(handle, &kernel, #name);                                                            \
	}

#include "cublas-computes.inc"
