/*
 * cupti-client.c: a small CUPTI client in the program it watches. It launches a known amount of work
 * with callbacks and records on, and prints what arrived as "key value" lines for check.py.
 *
 * Records are read by offset, not through the headers' structures, so that every emulated layout
 * can be read.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <cupti.h>

#include "../core/sim.h"

#define BUFFER_BYTES 16384
#define NODES 4
#define MAX_NOTED 4096 /* buffers */

static struct {
	unsigned long records[64], bytes_odd, unordered, zeroed, wrong_name, graph_nodes, late_external;
	unsigned long enters, exits, nested, slot_kept, symbols, cloned, created, own_thread;
	uint64_t last_start, kernel_ns;
	uint32_t nested_wrong, external_for;
} seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of seen */
static __thread uint32_t last_correlation;

static _Atomic unsigned long requested, completed;
/* What happened to this client's buffers when another client registered. */
static struct {
	void *_Atomic buffers[MAX_NOTED];
	bool registered, registering;
	unsigned long at_once, to_old, to_new, records;
} left;

static pthread_t application;
static int rounds = 20;

static void check_status(int status, const char *what)
{
	if (status) {
		fprintf(stderr, "cupti-client: %s: %d\n", what, status);
		exit(1);
	}
}

static uint64_t read_u64(const uint8_t *record, int offset)
{
	uint64_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static uint32_t read_u32(const uint8_t *record, int offset)
{
	uint32_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static void buffer_request(uint8_t **buffer, size_t *size, size_t *max)
{
	if (pthread_equal(pthread_self(), application))
		seen.own_thread = 1;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max = 0;
	if (requested < MAX_NOTED)
		left.buffers[requested] = *buffer;
	requested++;
}

static void see_kernel(const uint8_t *record)
{
	uint64_t start = read_u64(record, 16), end = read_u64(record, 24);
	const char *name = (const char *)(uintptr_t)read_u64(record, 104);

	seen.wrong_name += strncmp(name, "check_", 6) != 0;
	seen.graph_nodes += read_u32(record, 156) != 0 && read_u64(record, 144) != 0;
	if (!start) {
		seen.zeroed++;
		return;
	}
	seen.kernel_ns += end - start;
	seen.unordered += start < seen.last_start;
	seen.last_start = start;
}

static void buffer_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	completed++;
	pthread_mutex_lock(&lock);
	left.to_old += left.registered;
	left.at_once += left.registering;
	for (unsigned i = 0; i < requested && i < MAX_NOTED; i++)
		if (left.buffers[i] == buffer)
			left.buffers[i] = NULL; /* malloc may reuse the address */
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		const uint8_t *bytes = (const uint8_t *)record;

		seen.records[record->kind]++;
		seen.bytes_odd += (uintptr_t)record % 8 != 0;
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			see_kernel(bytes);
		if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
			seen.external_for = read_u32(bytes, 16);
		if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME)
			seen.late_external += read_u32(bytes, 32) != seen.external_for;
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

/* An outer call's slot must come back at its exit; a driver call inside shares the id. */
static void see_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *call = data;

	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		seen.created += cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
		seen.cloned += cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
		return;
	}
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
		if (call->callbackSite == CUPTI_API_ENTER) {
			seen.nested++;
			seen.nested_wrong += call->correlationId != last_correlation;
		}
		return;
	}
	if (call->callbackSite == CUPTI_API_ENTER) {
		seen.enters++;
		last_correlation = call->correlationId;
		*call->correlationData = call->correlationId + 1000ull;
		seen.symbols += call->symbolName && !strncmp(call->symbolName, "check_", 6) &&
				((const cudaLaunchKernel_v7000_params *)call->functionParams)->gridDim.x == 7;
	} else {
		seen.exits++;
		seen.slot_kept += *call->correlationData == call->correlationId + 1000ull;
	}
}

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	(void)user;
	pthread_mutex_lock(&lock);
	see_callback(domain, cbid, data);
	pthread_mutex_unlock(&lock);
}

static void start_tracing(void)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY,
		CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_RUNTIME,
		CUPTI_ACTIVITY_KIND_DRIVER,
		CUPTI_ACTIVITY_KIND_OVERHEAD,
		CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
		CUPTI_ACTIVITY_KIND_MEMORY2,
	};
	static const CUpti_ActivityKind dumped[] = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT,
						    CUPTI_ACTIVITY_KIND_STREAM};
	CUpti_SubscriberHandle subscriber, second;

	check_status(cuptiSubscribe(&subscriber, on_callback, NULL), "subscribe");
	printf("second_subscriber %d\n", cuptiSubscribe(&second, on_callback, NULL));
	check_status(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
					 CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
		     "callback");
	check_status(
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
		"driver callback");
	check_status(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), "resource callbacks");
	check_status(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "thread ids");
	check_status(cuptiActivityRegisterCallbacks(buffer_request, buffer_complete), "buffers");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		check_status(cuptiActivityEnable(kinds[i]), "enable");
	for (size_t i = 0; i < sizeof(dumped) / sizeof(dumped[0]); i++)
		check_status(cuptiActivityEnableAndDump(dumped[i]), "dump");
}

static cudaGraphExec_t graph_make(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	dim3 one = {7, 1, 1};

	check_status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture");
	for (int i = 0; i < NODES; i++)
		check_status(cudaLaunchKernel(sim_kernel("check_node_20us"), one, one, NULL, 0, stream), "node");
	check_status(cudaStreamEndCapture(stream, &graph), "end of capture");
	check_status(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
	check_status(cudaGraphDestroy(graph), "destroy");
	return exec;
}

static void *run_work(void *unused)
{
	cudaStream_t stream;
	cudaGraphExec_t exec;
	dim3 grid = {7, 1, 1}, block = {32, 1, 1};
	void *device;
	char host[256] = "x";

	(void)unused;
	check_status(cudaStreamCreate(&stream), "stream");
	check_status(cudaMalloc(&device, 4096), "malloc");
	exec = graph_make(stream);
	check_status(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77), "push");
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 3; k++)
			check_status(cudaLaunchKernel(sim_kernel("check_kernel_50us"), grid, block, NULL, 0, stream),
				     "launch");
		check_status(cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, stream), "copy");
		check_status(cudaMemsetAsync(device, 0, 4096, stream), "fill");
		check_status(cudaGraphLaunch(exec, stream), "graph");
	}
	check_status(cudaStreamSynchronize(stream), "synchronize");
	check_status(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL), "pop");
	return NULL;
}

/* ---- another client ---- */

static void other_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max = 0;
}

static void other_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < requested && i < MAX_NOTED; i++)
		if (left.buffers[i] == buffer) {
			left.to_new++;
			left.at_once += left.registering;
			goto out;
		}
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		left.records += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(buffer);
out:
	pthread_mutex_unlock(&lock);
}

/* Registers another client while the first one's buffers are open, then does some work. */
static void take_over(void)
{
	left.registered = left.registering = true;
	check_status(cuptiActivityRegisterCallbacks(other_request, other_complete), "other's buffers");
	left.registering = false;
	run_work(NULL);
	check_status(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush");
	printf("at_once %lu\nto_old %lu\nto_new %lu\nothers %lu\nours %lu\n", left.at_once, left.to_old, left.to_new,
	       left.records, seen.records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]);
}

static void one_buffer_for_all(void)
{
	uint8_t off = 0;
	size_t size = sizeof(off);

	check_status(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &off),
		     "attribute");
}

static void report_counts(void)
{
	size_t dropped = 0;
	uint32_t version = 0;

	check_status(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), "dropped");
	check_status(cuptiGetVersion(&version), "version");
	printf("version %u\ndropped %zu\n", version, dropped);
	for (int kind = 0; kind < 64; kind++)
		if (seen.records[kind])
			printf("records_%d %lu\n", kind, seen.records[kind]);
	printf("kernel_ns %llu\nunordered %lu\nzeroed %lu\nwrong_name %lu\ngraph_nodes %lu\n",
	       (unsigned long long)seen.kernel_ns, seen.unordered, seen.zeroed, seen.wrong_name, seen.graph_nodes);
	printf("enters %lu\nexits %lu\nslot_kept %lu\nsymbols %lu\nnested %lu\nnested_wrong %u\n", seen.enters,
	       seen.exits, seen.slot_kept, seen.symbols, seen.nested, seen.nested_wrong);
	printf("created %lu\ncloned %lu\nbytes_odd %lu\nlate_external %lu\n", seen.created, seen.cloned, seen.bytes_odd,
	       seen.late_external);
	printf("buffers %lu\n", requested);
	printf("buffers_open %ld\nown_thread %d\n", (long)(requested - completed), seen.own_thread > 0);
}

/* usage: cupti-client [ROUNDS [THREADS [one-buffer | take-over]]] */
int main(int argc, char **argv)
{
	int extra = (argc > 2 ? atoi(argv[2]) : 1) - 1;
	const char *more = argc > 3 ? argv[3] : "";
	pthread_t threads[16];

	rounds = argc > 1 ? atoi(argv[1]) : rounds;
	application = pthread_self();
	check_status(cudaFree(NULL), "context");
	if (!strcmp(more, "one-buffer"))
		one_buffer_for_all();
	start_tracing();
	for (int i = 0; i < extra && i < 16; i++)
		check_status(pthread_create(&threads[i], NULL, run_work, NULL), "thread");
	run_work(NULL);
	for (int i = 0; i < extra && i < 16; i++)
		pthread_join(threads[i], NULL);
	if (!strcmp(more, "take-over")) {
		take_over();
		return 0;
	}
	check_status(cuptiActivityFlushAll(0), "flush");
	printf("after_flush %lu\n", seen.records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]);
	check_status(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "forced flush");
	report_counts();
	return 0;
}
