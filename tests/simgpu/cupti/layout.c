/*
 * layout.c: the length of each record, by CUPTI version. Records only ever grew at their end, so an
 * older version's record is the beginning of the newest one. Static assertions check the sizes of 13.0
 * and important offsets against the real headers.
 */
#include <pthread.h>
#include <string.h>

#include "stand-in.h"

enum { V11_8, V12_4, V13_0, V13_2, V13_4, VERSIONS };

static const struct {
	const char *name;
	uint32_t number;
} versions[VERSIONS] = {
	[V11_8] = {"11.8", 18},	    [V12_4] = {"12.4", 22},	[V13_0] = {"13.0", 130001},
	[V13_2] = {"13.2", 130200}, [V13_4] = {"13.4", 130400},
};

static const uint16_t sizes[KIND_LIMIT][VERSIONS] = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = {88, 88, 96, 96, 112},
	[CUPTI_ACTIVITY_KIND_MEMSET] = {88, 88, 88, 88, 104},
	[CUPTI_ACTIVITY_KIND_KERNEL] = {200, 208, 216, 224, 248},
	[CUPTI_ACTIVITY_KIND_DRIVER] = {40, 40, 40, 40, 40},
	[CUPTI_ACTIVITY_KIND_RUNTIME] = {40, 40, 40, 40, 40},
	[CUPTI_ACTIVITY_KIND_DEVICE] = {176, 184, 184, 192, 192},
	[CUPTI_ACTIVITY_KIND_CONTEXT] = {16, 24, 32, 40, 40},
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = {200, 208, 216, 224, 248},
	[CUPTI_ACTIVITY_KIND_MARKER] = {56, 56, 56, 56, 56},
	[CUPTI_ACTIVITY_KIND_MARKER_DATA] = {32, 32, 40, 40, 40},
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = {40, 56, 56, 56, 56},
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = {96, 96, 96, 96, 96},
	[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = {64, 64, 104, 104, 104},
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = {24, 24, 56, 56, 56},
	[CUPTI_ACTIVITY_KIND_STREAM] = {24, 24, 24, 24, 24},
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = {40, 40, 56, 56, 56},
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = {24, 24, 24, 24, 24},
	[CUPTI_ACTIVITY_KIND_NVLINK] = {136, 136, 136, 136, 136},
	[CUPTI_ACTIVITY_KIND_PCIE] = {168, 168, 168, 168, 168},
	[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = {40, 40, 40, 40, 40},
	[CUPTI_ACTIVITY_KIND_MEMORY2] = {120, 120, 128, 128, 128},
	[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = {72, 72, 80, 80, 80},
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = {48, 56, 56, 56, 56},
	[CUPTI_ACTIVITY_KIND_JIT] = {64, 72, 72, 72, 72},
};

_Static_assert(sizeof(CUpti_ActivityKernel10) == 216, "kernel");
_Static_assert(sizeof(CUpti_ActivityMemcpy6) == 96, "memcpy");
_Static_assert(sizeof(CUpti_ActivityMemset4) == 88, "memset");
_Static_assert(sizeof(CUpti_ActivityAPI) == 40, "api");
_Static_assert(sizeof(CUpti_ActivityDevice5) == 184, "device");
_Static_assert(sizeof(CUpti_ActivityContext3) == 32, "context");
_Static_assert(sizeof(CUpti_ActivityOverhead3) == 56, "overhead");
_Static_assert(sizeof(CUpti_ActivityStream) == 24, "stream");
_Static_assert(sizeof(CUpti_ActivitySynchronization2) == 56, "synchronization");
_Static_assert(sizeof(CUpti_ActivityCudaEvent2) == 56, "event");
_Static_assert(sizeof(CUpti_ActivityExternalCorrelation) == 24, "external correlation");
_Static_assert(sizeof(CUpti_ActivityMemory4) == 128, "memory");
_Static_assert(sizeof(CUpti_ActivityGraphTrace2) == 56, "graph trace");
_Static_assert(sizeof(CUpti_ActivityJit2) == 72, "jit");
_Static_assert(offsetof(CUpti_ActivityKernel10, start) == 16, "kernel start");
_Static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == 92, "kernel correlation");
_Static_assert(offsetof(CUpti_ActivityKernel10, name) == 104, "kernel name");
_Static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == 144, "kernel node");
_Static_assert(offsetof(CUpti_ActivityKernel10, graphId) == 156, "kernel graph");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, bytes) == 8, "memcpy bytes");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, correlationId) == 44, "memcpy correlation");
_Static_assert(offsetof(CUpti_ActivityMemset4, correlationId) == 44, "memset correlation");
_Static_assert(offsetof(CUpti_ActivityAPI, threadId) == 28, "api thread");
_Static_assert(offsetof(CUpti_ActivityAPI, correlationId) == 32, "api correlation");
_Static_assert(offsetof(CUpti_ActivityOverhead3, start) == 24, "overhead start");

static int chosen = V13_0;
static pthread_once_t choose_once = PTHREAD_ONCE_INIT;

static void choose_version(void)
{
	const char *wanted = sim_options()->cupti;

	for (int i = 0; wanted && i < VERSIONS; i++)
		if (!strcmp(versions[i].name, wanted))
			chosen = i;
}

uint32_t layout_version(void)
{
	pthread_once(&choose_once, choose_version);
	return versions[chosen].number;
}

size_t layout_size(uint32_t kind)
{
	pthread_once(&choose_once, choose_version);
	return kind < KIND_LIMIT ? sizes[kind][chosen] : 0;
}
