/*
 * library.c: libcudart's libraries (cudaLibraryLoadData and friends): any kernel asked for exists.
 */
#include "call.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static char library_mark;

RUNTIME(SIM_MODULE, cudaLibraryLoadData, v12060,
	(cudaLibrary_t * library, const void *code, enum cudaJitOption *jitOptions, void **jitOptionsValues,
	 unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
	 unsigned int numLibraryOptions),
	(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
	 numLibraryOptions))
{
	*library = (cudaLibrary_t)&library_mark;
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaLibraryUnload, v12060, (cudaLibrary_t library), (library))
{
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaLibraryGetKernel, v12060, (cudaKernel_t * pKernel, cudaLibrary_t library, const char *name),
	(pKernel, library, name))
{
	*pKernel = sim_kernel_intern(name);
	return cudaSuccess;
}

RUNTIME(SIM_QUIET, cudaKernelSetAttributeForDevice, v12060,
	(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value, int device), (kernel, attr, value, device))
{
	return cudaSuccess;
}
