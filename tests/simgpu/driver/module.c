/*
 * module.c: libcuda's modules, libraries, functions and occupancy. Any image loads as a module, and a
 * module has a function of every name asked for. Modules and their functions have handles of their own;
 * CUPTI gets modules that are ELF files.
 */
#include <cupti_callbacks.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/device.h"
#include "thunk.h"

#define FILE_BYTES_MAX (4u << 20)

static size_t larger_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Size of an ELF file in bytes, up to the end of its last header table; 0: not an ELF file. */
static size_t elf_size(const void *image)
{
	Elf64_Ehdr header;

	if (memcmp(image, ELFMAG, SELFMAG))
		return 0;
	memcpy(&header, image, sizeof(header));
	return larger_size(header.e_shoff + (size_t)header.e_shnum * header.e_shentsize,
			   header.e_phoff + (size_t)header.e_phnum * header.e_phentsize);
}

/* A CUmodule or CUlibrary. */
static void *module_new(const void *image)
{
	void *module = malloc(1);

	if (!module)
		abort();
	if (image && elf_size(image))
		sim_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED,
			     &(struct sim_resource){.image = image, .image_bytes = elf_size(image)});
	return module;
}

/* The same from a file. The file may be missing: kernels need no code here. */
static void *module_of_file(const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char *image = calloc(1, FILE_BYTES_MAX);
	void *module;
	size_t bytes;

	if (!image)
		abort();
	bytes = file ? fread(image, 1, FILE_BYTES_MAX, file) : 0;
	module = module_new(bytes >= sizeof(Elf64_Ehdr) && elf_size(image) <= bytes ? image : NULL);
	if (file)
		fclose(file);
	free(image);
	return module;
}

#define LOAD(name, parameters, arguments, out, compile, image)                                                         \
	DRIVER(SIM_MODULE, name, parameters, arguments)                                                                \
	{                                                                                                              \
		compile;                                                                                               \
		*(void **)out = image;                                                                                 \
		return CUDA_SUCCESS;                                                                                   \
	}
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wstrict-aliasing"

LOAD(cuModuleLoad, (CUmodule * module, const char *fname), (module, fname), module, (void)0, module_of_file(fname))
LOAD(cuModuleLoadData, (CUmodule * module, const void *image), (module, image), module, sim_jit_code(image),
     module_new(image))
LOAD(cuModuleLoadFatBinary, (CUmodule * module, const void *fatCubin), (module, fatCubin), module, (void)0, NULL)
LOAD(cuModuleLoadDataEx,
     (CUmodule * module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues),
     (module, image, numOptions, options, optionValues), module, sim_jit_code(image), module_new(image))
LOAD(cuLibraryLoadData,
     (CUlibrary * library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
      unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
      unsigned int numLibraryOptions),
     (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
      numLibraryOptions),
     library, (void)0, module_new(code))

DRIVER(SIM_QUIET, cuModuleUnload, (CUmodule hmod), (hmod))
{
	free(hmod);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuLibraryUnload, (CUlibrary library), (library))
{
	free(library);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char *name), (hfunc, hmod, name))
{
	*hfunc = (CUfunction)sim_kernel_of(hmod, name);
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuLibraryGetKernel, (CUkernel * pKernel, CUlibrary library, const char *name),
       (pKernel, library, name))
{
	*pKernel = sim_kernel_of(library, name);
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

static CUresult attribute_of(const void *function, CUfunction_attribute attrib, int *pi)
{
	CUkernel kernel = sim_kernel_resolve(function);

	*pi = attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
	if (attrib == CU_FUNC_ATTRIBUTE_NUM_REGS && kernel)
		*pi = (int)kernel->registers;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(SIM_QUIET, cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc), (pi, attrib, hfunc))
{
	return attribute_of(hfunc, attrib, pi);
}

DRIVER(SIM_QUIET, cuKernelGetAttribute, (int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev),
       (pi, attrib, kernel, dev))
{
	return attribute_of(kernel, attrib, pi);
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
