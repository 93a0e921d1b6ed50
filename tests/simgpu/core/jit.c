/*
 * jit.c: the driver's compiler. A kernel called jit_* has no code for this GPU: its first launch compiles it and stores
 * it in the cache. A kernel called jit_cached_* is loaded from the cache.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "sim.h"

enum { CACHE_LOAD = 1, CACHE_STORE = 2, COMPILE = 3 }; /* CUpti_ActivityJitOperationType */

#define COMPILE_NS 400000
#define LOAD_NS 100000
#define STORE_NS 50000
#define CODE_BYTES 4096

static void work_for(uint32_t operation, uint64_t unit, long ns)
{
	const struct sim_tool *tool = sim_tool();
	const struct timespec pause = {.tv_nsec = ns};
	struct sim_jit jit = {.operation = operation,
			      .device = (uint32_t)sim_thread()->device,
			      .correlation = sim_thread()->correlation,
			      .unit = unit,
			      .bytes = CODE_BYTES,
			      .start = sim_now()};

	nanosleep(&pause, NULL);
	jit.end = sim_now();
	if (tool && tool->jit)
		tool->jit(&jit);
}

static _Atomic uint64_t units;

void sim_jit_code(const void *image)
{
	if (!strncmp(image, "//jit", 5))
		work_for(COMPILE, atomic_fetch_add(&units, 1) + 1, COMPILE_NS);
}

void sim_jit_need(CUkernel kernel)
{
	uint64_t unit;

	if (strncmp(kernel->name, "jit_", 4) || atomic_exchange(&kernel->compiled, 1))
		return;
	unit = atomic_fetch_add(&units, 1) + 1;
	if (!strncmp(kernel->name, "jit_cached_", 11)) {
		work_for(CACHE_LOAD, unit, LOAD_NS);
		return;
	}
	work_for(COMPILE, unit, COMPILE_NS);
	work_for(CACHE_STORE, unit, STORE_NS);
}
