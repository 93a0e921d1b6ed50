/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A CUPTI client with which gputrace's checks test CUPTI itself: which ids its records have, whether a second client
 * may subscribe, what each of its features costs per launch.  The tested program loads it by ctypes.  One session at a
 * time; uses nothing of gputrace but the numbers in cupti_abi.h.
 *
 * Every public function writes a JSON object into `answer` and returns CUPTI's or the driver's last result, -1 where
 * a library could not be used.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gputrace/cuda_api.h>

#include "cupti/cupti_abi.h"
#include "agent/process/old_glibc.h"

/* Declares and defines a function that Python calls. */
#define QUESTION(name, ...)                                                                                            \
	__attribute__((visibility("default"))) int name(char *answer, size_t size, ##__VA_ARGS__);                     \
	int name(char *answer, size_t size, ##__VA_ARGS__)

enum mode {
	MODE_KERNELS = 1,      /* records of kernels */
	MODE_LAUNCH_API = 2,   /* records of API calls that launch, chosen by callback id */
	MODE_CALLBACKS = 4,    /* a callback at each call that launches */
	MODE_WHOLE_API = 8,    /* records of all API calls */
	MODE_EVERY_LAUNCH = 16 /* callbacks for all calls of both domains, to find the ids in use */
};

#define KIND_DRIVER 4u
#define KIND_RUNTIME 5u
#define API_CBID 4 /* CUpti_ActivityAPI: kind, cbid, start, end, ... (all versions) */
#define CBID_MAX 1024
#define BUFFER_SIZE (1u << 20)
#define ROUNDS 7
#define BETWEEN_WAITS 256 /* launches; a stream's queue must not fill (1,024), or launches would wait */

/* One session with CUPTI. */
static struct {
	struct cupti cupti;
	uint32_t (*enable_runtime_api)(uint32_t cbid, uint8_t enable);
	uint32_t (*enable_driver_api)(uint32_t cbid, uint8_t enable);
	void *subscriber;
	unsigned mode;
	_Atomic unsigned long kernels, correlated, api, callbacks[3][CBID_MAX];
	_Atomic unsigned last_correlation, distinct;
} probe;

static struct {
	int (*load)(void **module, const void *image);
	int (*function)(void **function, void *module, const char *name);
	int (*launch)(void *f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream,
		      void **arguments, void **extra);
	int (*wait)(void);
	void *kernel;
} driver;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- libraries ---------------------------------------------------------------------------------------------- */

static bool open_cupti(struct cupti *cupti, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
#define LOAD(name, symbol, needed, parameters)                                                                         \
	*(void **)&cupti->name = dlsym(library, #symbol);                                                              \
	if (needed && !cupti->name)                                                                                    \
		return false;
	CUPTI_FUNCTIONS(LOAD)
#undef LOAD
	*(void **)&probe.enable_runtime_api = dlsym(library, "cuptiActivityEnableRuntimeApi");
	*(void **)&probe.enable_driver_api = dlsym(library, "cuptiActivityEnableDriverApi");
	return true;
}

/* On the simulated GPU the name sets its duration; on a real GPU it ends at once. */
static const char empty_kernel[] =
	".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry empty_700ns() { ret; }\n";

static int open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *module = NULL;
	int error;

	if (driver.kernel)
		return 0;
	if (!library)
		return -1;
	*(void **)&driver.load = dlsym(library, "cuModuleLoadData");
	*(void **)&driver.function = dlsym(library, "cuModuleGetFunction");
	*(void **)&driver.launch = dlsym(library, "cuLaunchKernel");
	*(void **)&driver.wait = dlsym(library, "cuCtxSynchronize");
	if (!driver.load || !driver.function || !driver.launch || !driver.wait)
		return -1;
	error = driver.load(&module, empty_kernel);
	return error ? error : driver.function(&driver.kernel, module, "empty_700ns");
}

/* CPU nanoseconds per launch on this thread, without waits for the GPU; the minimum over the rounds. */
static double launch_ns(unsigned count)
{
	uint64_t least = UINT64_MAX;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t spent = 0;

		for (unsigned done = 0; done < count; done += BETWEEN_WAITS) {
			uint64_t start = now_ns();

			for (unsigned i = 0; i < BETWEEN_WAITS; i++)
				driver.launch(driver.kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
			spent += now_ns() - start;
			driver.wait();
		}
		if (spent < least)
			least = spent;
	}
	return (double)least / ((count + BETWEEN_WAITS - 1) / BETWEEN_WAITS * BETWEEN_WAITS);
}

/* ---- a session ------------------------------------------------------------------------------------------------ */

static void request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_SIZE);
	*size = *buffer ? BUFFER_SIZE : 0;
	*max_records = 0;
}

static void note_kernel(const uint8_t *record)
{
	uint32_t correlation;

	memcpy(&correlation, record + CUPTI_KERNEL_CORR, sizeof(correlation));
	atomic_fetch_add(&probe.kernels, 1);
	if (!correlation)
		return;
	atomic_fetch_add(&probe.correlated, 1);
	if (atomic_exchange(&probe.last_correlation, correlation) != correlation)
		atomic_fetch_add(&probe.distinct, 1);
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;
	uint32_t kind;

	while (valid && probe.cupti.next_record(buffer, valid, &record) == CUPTI_OK) {
		memcpy(&kind, record, sizeof(kind));
		if (kind == CUPTI_KIND_CONCURRENT_KERNEL)
			note_kernel(record);
		else if (kind == KIND_DRIVER || kind == KIND_RUNTIME)
			atomic_fetch_add(&probe.api, 1);
	}
	free(buffer);
}

static void count_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	uint32_t site;

	memcpy(&site, (const uint8_t *)data + CUPTI_CB_SITE, sizeof(site));
	if (site == CUPTI_SITE_ENTER && domain < 3 && cbid < CBID_MAX)
		atomic_fetch_add_explicit(&probe.callbacks[domain][cbid], 1, memory_order_relaxed);
}

static void for_each_launch(void (*act)(uint32_t domain, uint32_t cbid, uint32_t on), uint32_t on)
{
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{GPT_DOMAIN_##domain, GPT_CLASS_##class, cbid}, {GPT_DOMAIN_##domain, GPT_CLASS_##class, twin_cbid},
#define ALIAS(domain, cbid, real) {GPT_DOMAIN_##domain, GPT_CLASS_LAUNCH, cbid},
	static const struct {
		uint32_t domain, class, cbid;
	} rows[] = {GPT_CUDA_API_TABLE(ROW) GPT_CUDA_API_ALIASES(ALIAS)};
#undef ROW
#undef ALIAS

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].class == GPT_CLASS_LAUNCH && rows[i].cbid)
			act(rows[i].domain, rows[i].cbid, on);
}

static void record_api(uint32_t domain, uint32_t cbid, uint32_t on)
{
	if (domain == GPT_DOMAIN_RUNTIME && probe.enable_runtime_api)
		probe.enable_runtime_api(cbid, (uint8_t)on);
	else if (domain == GPT_DOMAIN_DRIVER && probe.enable_driver_api)
		probe.enable_driver_api(cbid, (uint8_t)on);
}

static void call_back(uint32_t domain, uint32_t cbid, uint32_t on)
{
	probe.cupti.enable_callback(on, probe.subscriber, domain, cbid);
}

static uint32_t switch_parts(uint32_t on)
{
	uint32_t (*switch_kind)(uint32_t) = on ? probe.cupti.enable : probe.cupti.disable;
	uint32_t result = CUPTI_OK;

	if (probe.mode & MODE_KERNELS)
		result = switch_kind(CUPTI_KIND_CONCURRENT_KERNEL);
	if (probe.mode & MODE_LAUNCH_API)
		for_each_launch(record_api, on);
	if (probe.mode & MODE_CALLBACKS)
		for_each_launch(call_back, on);
	if (probe.mode & MODE_WHOLE_API) {
		switch_kind(KIND_RUNTIME);
		switch_kind(KIND_DRIVER);
	}
	if (probe.mode & MODE_EVERY_LAUNCH) {
		probe.cupti.enable_domain(on, probe.subscriber, CUPTI_DOMAIN_DRIVER);
		probe.cupti.enable_domain(on, probe.subscriber, CUPTI_DOMAIN_RUNTIME);
	}
	return result;
}

static uint32_t start_probe(const char *path, unsigned mode)
{
	uint32_t result;

	memset(&probe, 0, sizeof(probe));
	if (!open_cupti(&probe.cupti, path))
		return (uint32_t)-1;
	result = probe.cupti.subscribe(&probe.subscriber, count_callback, NULL);
	if (result != CUPTI_OK)
		return result;
	probe.mode = mode;
	if (mode & ~(unsigned)(MODE_CALLBACKS | MODE_EVERY_LAUNCH))
		result = probe.cupti.register_buffers(request_buffer, take_buffer);
	if (result == CUPTI_OK)
		result = switch_parts(1);
	if (result != CUPTI_OK)
		probe.cupti.unsubscribe(probe.subscriber);
	return result;
}

static uint32_t stop_probe(void)
{
	switch_parts(0);
	probe.cupti.flush_all(CUPTI_FLUSH_FORCED);
	return probe.cupti.unsubscribe(probe.subscriber);
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

QUESTION(probe_start, const char *path, const char *mode)
{
	snprintf(answer, size, "{}");
	return (int)start_probe(path, (unsigned)atoi(mode));
}

QUESTION(probe_stop)
{
	int result = (int)stop_probe();
	size_t used = (size_t)snprintf(
		answer, size,
		"{\"kernels\": %lu, \"correlated\": %lu, \"distinct\": %u, \"api_records\": %lu, \"callbacks\": {",
		(unsigned long)probe.kernels, (unsigned long)probe.correlated, (unsigned)probe.distinct,
		(unsigned long)probe.api);
	const char *comma = "";

	for (unsigned domain = 1; domain < 3; domain++)
		for (unsigned cbid = 0; cbid < CBID_MAX && used + 64 < size; cbid++)
			if (probe.callbacks[domain][cbid]) {
				used += (size_t)snprintf(answer + used, size - used, "%s\"%s %u\": %lu", comma,
							 domain == 1 ? "driver" : "runtime", cbid,
							 (unsigned long)probe.callbacks[domain][cbid]);
				comma = ", ";
			}
	snprintf(answer + used, size - used, "}}");
	return result;
}

QUESTION(probe_launch_cost, const char *path, const char *mode, const char *count)
{
	unsigned parts = (unsigned)atoi(mode);
	int error = open_driver();
	double cost;

	snprintf(answer, size, "{}");
	if (!error && parts)
		error = (int)start_probe(path, parts);
	if (error)
		return error;
	cost = launch_ns((unsigned)atoi(count));
	if (parts)
		error = (int)stop_probe();
	snprintf(answer, size, "{\"ns\": %.1f, \"kernels\": %lu, \"api_records\": %lu}", cost,
		 (unsigned long)probe.kernels, (unsigned long)probe.api);
	return error;
}

/* The time from subscribing until the first kernel's record arrives. */
QUESTION(probe_first_record, const char *path)
{
	uint64_t begin, ready, end;
	int error = open_driver();

	snprintf(answer, size, "{}");
	if (error)
		return error;
	begin = now_ns();
	error = (int)start_probe(path, MODE_KERNELS);
	ready = now_ns();
	if (error)
		return error;
	driver.launch(driver.kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	driver.wait();
	do {
		probe.cupti.flush_all(0);
		end = now_ns();
	} while (!probe.kernels && end - begin < 2000000000u);
	snprintf(answer, size, "{\"ready_us\": %.1f, \"record_us\": %.1f, \"records\": %lu}",
		 (double)(ready - begin) / 1e3, (double)(end - begin) / 1e3, (unsigned long)probe.kernels);
	return (int)stop_probe();
}

/* The result of subscribing to a second CUPTI, from another file, while the first has a subscriber. */
QUESTION(probe_second, const char *path, const char *second_path)
{
	struct cupti second = {0};
	void *subscriber = NULL;
	uint32_t first = start_probe(path, 0), result;

	snprintf(answer, size, "{\"first\": %u}", first);
	if (first != CUPTI_OK)
		return (int)first;
	if (open_cupti(&second, second_path)) {
		uint32_t version = 0;

		second.get_version(&version);
		result = second.subscribe(&subscriber, count_callback, NULL);
		if (result == CUPTI_OK)
			second.unsubscribe(subscriber);
		snprintf(answer, size, "{\"first\": 0, \"second\": %u, \"version\": %u}", result, version);
	} else {
		snprintf(answer, size, "{\"first\": 0, \"second\": null}");
	}
	return (int)probe.cupti.unsubscribe(probe.subscriber);
}

/* Subscribes and records nothing, until probe_release. */
QUESTION(probe_hold, const char *path)
{
	snprintf(answer, size, "{}");
	return (int)start_probe(path, 0);
}

QUESTION(probe_release)
{
	snprintf(answer, size, "{}");
	return (int)probe.cupti.unsubscribe(probe.subscriber);
}
