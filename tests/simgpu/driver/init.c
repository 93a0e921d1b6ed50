/*
 * init.c: cuInit, the injected library, versions, error texts, entry points.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "thunk.h"

#define DRIVER_VERSION 13020

uint32_t sim_driver_state; /* the thunks compare it; 0x321cba00 would mean "shutting down" */

_Atomic int sim_initialized;

static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static __thread bool inside_init;

/* The injected library may itself call cuInit, or start threads that do; those threads wait. */
static void init_run(void)
{
	const char *path = sim_options()->injection;
	int (*initialize)(void);
	void *library;

	inside_init = true;
	if (path) {
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		*(void **)&initialize = library ? dlsym(library, "InitializeInjection") : NULL;
		if (initialize)
			sim_say("%s: InitializeInjection() = %d", path, initialize());
		else
			sim_say("no injection: %s", dlerror());
	}
	inside_init = false;
	sim_initialized = 1;
	sim_resource(5 /* CU_INIT_FINISHED */, &(struct sim_resource){0});
}

DRIVER(SIM_QUIET, cuInit, (unsigned int Flags), (Flags))
{
	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!inside_init)
		pthread_once(&init_once, init_run);
	return sim_options()->devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

DRIVER(SIM_QUIET, cuDriverGetVersion, (int *driverVersion), (driverVersion))
{
	*driverVersion = DRIVER_VERSION;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

DRIVER(SIM_QUIET, cuGetErrorString, (CUresult error, const char **pStr), (error, pStr))
{
	*pStr = "unknown error";
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			*pStr = errors[i].text;
	return CUDA_SUCCESS;
}

DRIVER(SIM_QUIET, cuGetErrorName, (CUresult error, const char **pStr), (error, pStr))
{
	*pStr = "CUDA_ERROR_UNKNOWN";
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			*pStr = errors[i].name;
	return CUDA_SUCCESS;
}

#if defined(__x86_64__)
extern const char __start_sim_unsupported[], __stop_sim_unsupported[]; /* by the linker: unsupported.c's section */

static bool is_unsupported(const void *function)
{
	return (const char *)function >= __start_sim_unsupported && (const char *)function < __stop_sim_unsupported;
}
#else
static bool is_unsupported(const void *function)
{
	return false;
}
#endif

/*
 * As in the real driver, returns the exported thunk of the newest version. Prefers a supported function. Flag 2 asks
 * for the _ptsz variant.
 */
DRIVER(SIM_QUIET, cuGetProcAddress_v2,
       (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
	CUdriverProcAddressQueryResult *symbolStatus),
       (symbol, pfn, cudaVersion, flags, symbolStatus))
{
	static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
	const char *stream = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? "_ptsz" : "";
	Dl_info self;
	void *library = NULL, *unsupported = NULL;
	char name[160];

	(void)cudaVersion;
	*pfn = NULL;
	if (dladdr(&sim_driver_state, &self))
		library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	for (int twin = *stream ? 0 : 1; library && !*pfn && twin < 2; twin++)
		for (size_t i = 0; !*pfn && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
			snprintf(name, sizeof(name), "%s%s%s", symbol, suffixes[i], twin ? "" : stream);
			*pfn = dlsym(library, name);
			if (is_unsupported(*pfn)) {
				unsupported = unsupported ? unsupported : *pfn;
				*pfn = NULL;
			}
		}
	*pfn = *pfn ? *pfn : unsupported;
	if (symbolStatus)
		*symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

DRIVER0(SIM_QUIET, cuProfilerStart)
{
	return CUDA_SUCCESS;
}

DRIVER0(SIM_QUIET, cuProfilerStop)
{
	return CUDA_SUCCESS;
}
