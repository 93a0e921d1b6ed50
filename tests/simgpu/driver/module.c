/*
 * module.c: libcuda's modules, libraries, functions and occupancy. A module is whatever it was
 * loaded from; any function asked for exists, under the name it was asked for.
 */
#include <string.h>

#include "../core/device.h"
#include "thunk.h"

static char module_mark; /* every CUmodule and CUlibrary */

#define LOAD(name, parameters, arguments, out, image)                                                                  \
	DRIVER(SIM_MODULE, name, parameters, arguments)                                                                \
	{                                                                                                              \
		image;                                                                                                 \
		*(void **)out = &module_mark;                                                                          \
		return CUDA_SUCCESS;                                                                                   \
	}
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wstrict-aliasing"

LOAD(cuModuleLoad, (CUmodule * module, const char *fname), (module, fname), module, (void)0)
LOAD(cuModuleLoadData, (CUmodule * module, const void *image), (module, image), module, sim_jit_code(image))
LOAD(cuModuleLoadFatBinary, (CUmodule * module, const void *fatCubin), (module, fatCubin), module, (void)0)
LOAD(cuModuleLoadDataEx,
     (CUmodule * module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues),
     (module, image, numOptions, options, optionValues), module, sim_jit_code(image))
LOAD(cuLibraryLoadData,
     (CUlibrary * library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
      unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
      unsigned int numLibraryOptions),
     (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
      numLibraryOptions),
     library, (void)0)

DRIVER(SIM_QUIET, cuModuleUnload, (CUmodule hmod), (hmod))
{
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuLibraryUnload, (CUlibrary library), (library))
{
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char *name), (hfunc, hmod, name))
{
	*hfunc = (CUfunction)sim_kernel_intern(name);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuLibraryGetKernel, (CUkernel * pKernel, CUlibrary library, const char *name),
       (pKernel, library, name))
{
	*pKernel = sim_kernel_intern(name);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel), (pFunc, kernel))
{
	*pFunc = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuFuncGetName, (const char **name, CUfunction hfunc), (name, hfunc))
{
	CUkernel kernel = sim_kernel_resolve(hfunc);

	*name = kernel ? kernel->name : NULL;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(SIM_QUIET, cuKernelGetName, (const char **name, CUkernel hfunc), (name, hfunc))
{
	CUkernel kernel = sim_kernel_resolve(hfunc);

	*name = kernel ? kernel->name : NULL;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(SIM_QUIET, cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc), (pi, attrib, hfunc))
{
	CUkernel kernel = sim_kernel_resolve(hfunc);

	*pi = attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
	if (attrib == CU_FUNC_ATTRIBUTE_NUM_REGS && kernel)
		*pi = (int)kernel->registers;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(SIM_QUIET, cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value),
       (hfunc, attrib, value))
{
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config), (hfunc, config))
{
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuOccupancyMaxActiveBlocksPerMultiprocessor,
       (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
       (numBlocks, func, blockSize, dynamicSMemSize))
{
	*numBlocks = sim_occupancy(blockSize, dynamicSMemSize);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
       (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
       (numBlocks, func, blockSize, dynamicSMemSize, flags))
{
	*numBlocks = sim_occupancy(blockSize, dynamicSMemSize);
	return CUDA_SUCCESS;
}
