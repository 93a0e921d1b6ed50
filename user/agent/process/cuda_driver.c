/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/cuda_driver.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "agent/process/old_glibc.h"
#include "agent/process/own_maps.h"

#define CUDA_NOT_INITIALIZED 3 /* CUDA_ERROR_NOT_INITIALIZED, cuda.h: result of every function before cuInit */

/*
 * Queries the driver, if it is loaded. The handle is closed after the query: keeping it would keep the driver in the
 * process for good. If there is no driver, the next search waits until a library is loaded: the loader would search its
 * cache and its folders each time.
 */
static uint32_t ask_driver(uint32_t (*question)(void *driver))
{
	static _Atomic uint64_t absent; /* own_libraries_loaded when no driver was found; 0: not searched */
	uint64_t loaded = own_libraries_loaded();
	uint32_t answer;
	void *driver;

	if (loaded && loaded == atomic_load(&absent))
		return 0;
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	atomic_store(&absent, driver ? 0 : loaded);
	if (!driver)
		return 0;
	answer = question(driver);
	dlclose(driver);
	return answer;
}

static uint32_t version_of(void *driver)
{
	int (*get)(int *);
	int version = 0;

	*(void **)&get = dlsym(driver, "cuDriverGetVersion");
	return get && get(&version) == 0 && version > 0 ? (uint32_t)version : 0;
}

static uint32_t driver_works(void *driver)
{
	int (*initialize)(unsigned), (*count)(int *);
	int devices = 0;

	*(void **)&initialize = dlsym(driver, "cuInit");
	*(void **)&count = dlsym(driver, "cuDeviceGetCount");
	return initialize && count && initialize(0) == 0 && count(&devices) == 0 && devices > 0;
}

static uint32_t driver_started(void *driver)
{
	int (*count)(int *);
	int devices = 0;

	*(void **)&count = dlsym(driver, "cuDeviceGetCount");
	return count && count(&devices) != CUDA_NOT_INITIALIZED;
}

bool cuda_works(void)
{
	return ask_driver(driver_works);
}

bool cuda_started(void)
{
	return ask_driver(driver_started);
}

uint32_t cuda_driver_version(void)
{
	return ask_driver(version_of);
}
