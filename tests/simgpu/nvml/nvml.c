/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The simulated NVML: libnvidia-ml.so.1, whose driver version is "simulated".  gputrace's process that calls it has no
 * environment, so its script is the file `nvml-script` in the library's folder: words with values, of which a later one
 * counts from its time on (seconds since nvmlInit_v2, or since `base`, a time of CLOCK_MONOTONIC, which goes into the
 *file `nvml-truth`):
 *
 *	gpus=2 max=1980 limit=700000		what the GPUs are
 *	at=0.5 sm=1200 power=698000 reasons=4	from then on: clock, power, why
 *	at=1 xid=79				an event, once; with ecc=1 before it one of ECC, that is not corrected
 *	process=4242 bytes=1000000		on GPU 0
 *	base=1234.5 (see SIMGPU_CLOCKS, which slows the kernels)
 *	init=18 (returned by nvmlInit_v2) start=60 (seconds that it takes) deny=power (not supported)
 *	lost=1.5 (GPU 0 is lost) slow=3 (seconds for each clock) crash=1 (from then on the next clock ends the process)
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml/nvml_abi.h"

struct nvml_device {
	unsigned index;
};

static struct nvml_device devices[64];
static double start;
static int event_sent;
static char script_text[4096];

static void path_of(const char *name, char path[4096])
{
	Dl_info self;

	path[0] = 0;
	if (dladdr(&devices, &self) && strrchr(self.dli_fname, '/'))
		snprintf(path, 4096, "%.*s/%s", (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname,
			 name);
}

static void read_script(void)
{
	char path[4096];
	FILE *file;

	path_of("nvml-script", path);
	file = fopen(path, "re");
	if (!file)
		return;
	script_text[fread(script_text, 1, sizeof(script_text) - 1, file)] = 0;
	script_text[strcspn(script_text, "\n")] = 0;
	fclose(file);
}

static void write_truth(void)
{
	char path[4096];
	FILE *file;

	path_of("nvml-truth", path);
	file = fopen(path, "we");
	if (!file)
		return;
	fprintf(file, "%.9f\n", start);
	fclose(file);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 - start;
}

/* The latest value of a word by that time. */
static double script_at(const char *name, double otherwise, double by)
{
	const char *at = script_text;
	double time = 0, value = otherwise;
	size_t length = strlen(name);

	while (at && *at) {
		at += strspn(at, " ");
		if (!strncmp(at, "at=", 3))
			time = atof(at + 3);
		if (!strncmp(at, name, length) && at[length] == '=' && time <= by)
			value = atof(at + length + 1);
		at += strcspn(at, " ");
	}
	return value;
}

static double script(const char *name, double otherwise)
{
	return script_at(name, otherwise, now());
}

/* When the word first counts. */
static double time_of(const char *name)
{
	const char *at = script_text;
	double time = 0;
	size_t length = strlen(name);

	for (; at && *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (!strncmp(at, "at=", 3))
			time = atof(at + 3);
		if (!strncmp(at, name, length) && at[length] == '=')
			return time;
	}
	return 1e9;
}

static int denied(const struct nvml_device *device, const char *what)
{
	const char *deny = script_text;

	if (device->index == 0 && script("lost", 1e9) <= now())
		return NVML_ERROR_GPU_IS_LOST;
	while (deny && (deny = strstr(deny, "deny="))) {
		deny += 5;
		if (!strncmp(deny, what, strlen(what)) && strchr(" ", deny[strlen(what)]))
			return NVML_ERROR_NOT_SUPPORTED;
	}
	return NVML_SUCCESS;
}

#define EXPORT __attribute__((visibility("default")))
#define NUMBER(name, what, value, ...)                                                                                 \
	EXPORT int name(struct nvml_device *device, ##__VA_ARGS__, unsigned *out);                                     \
	EXPORT int name(struct nvml_device *device, ##__VA_ARGS__, unsigned *out)                                      \
	{                                                                                                              \
		int error = denied(device, what);                                                                      \
		if (!error)                                                                                            \
			*out = (unsigned)(value);                                                                      \
		return error;                                                                                          \
	}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	start = 0;
	start = now();
	read_script();
	start = script_at("base", start, 1e9);
	write_truth();
	usleep((useconds_t)(script("start", 0) * 1e6));
	return (int)script("init", 0);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = (unsigned)script("gpus", 1);
	return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **device);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **device)
{
	if (index >= 64)
		return 2; /* NVML_ERROR_INVALID_ARGUMENT */
	devices[index].index = index;
	*device = &devices[index];
	return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetUUID(struct nvml_device *device, char *uuid, unsigned length);
EXPORT int nvmlDeviceGetUUID(struct nvml_device *device, char *uuid, unsigned length)
{
	uint8_t id[17] = "simulated-gpu-00"; /* as core/device.c */

	id[15] = (uint8_t)('0' + device->index);
	if (length < 41)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	uuid += sprintf(uuid, "GPU");
	for (int i = 0; i < 16; i++)
		uuid += sprintf(uuid, i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
	return NVML_SUCCESS;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length);
EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	snprintf(version, length, "simulated");
	return NVML_SUCCESS;
}

static double clock_of(unsigned type)
{
	double slow = script("slow", 0);

	if (script("crash", 0) > 0)
		raise(SIGKILL);
	if (slow > 0)
		usleep((useconds_t)(slow * 1e6));
	return type == NVML_CLOCK_SM ? script("sm", script("max", 1980)) : 2619;
}

NUMBER(nvmlDeviceGetClockInfo, "clock", clock_of(type), unsigned type)
NUMBER(nvmlDeviceGetMaxClockInfo, "max", type == NVML_CLOCK_SM ? script("max", 1980) : 2619, unsigned type)
NUMBER(nvmlDeviceGetPowerUsage, "power", script("power", 350000))
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "limit", script("limit", 700000))
NUMBER(nvmlDeviceGetTemperature, "temperature", script("temperature", 50), unsigned sensor)

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device, unsigned long long *reasons);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device, unsigned long long *reasons)
{
	*reasons = (unsigned long long)script("reasons", 0);
	return denied(device, "reasons");
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device, unsigned *count,
						   struct nvml_process *list);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device, unsigned *count,
						   struct nvml_process *list)
{
	double pid = script("process", 0);
	int error = denied(device, "processes");

	if (error)
		return error;
	*count = (unsigned)script("count", pid > 0 && device->index == 0); /* count=4000000000: garbage */
	list[0] =
		(struct nvml_process){.pid = (unsigned)pid, .used_bytes = (unsigned long long)script("bytes", 1 << 20)};
	return NVML_SUCCESS;
}

EXPORT int nvmlEventSetCreate(void **set);
EXPORT int nvmlEventSetCreate(void **set)
{
	*set = devices;
	return denied(&devices[63], "events");
}

EXPORT int nvmlDeviceGetSupportedEventTypes(struct nvml_device *device, unsigned long long *types);
EXPORT int nvmlDeviceGetSupportedEventTypes(struct nvml_device *device, unsigned long long *types)
{
	*types = NVML_EVENT_XID;
	return denied(device, "types");
}

EXPORT int nvmlDeviceRegisterEvents(struct nvml_device *device, unsigned long long types, void *set);
EXPORT int nvmlDeviceRegisterEvents(struct nvml_device *device, unsigned long long types, void *set)
{
	return types && set ? denied(device, "register") : 2;
}

EXPORT int nvmlEventSetWait_v2(void *set, struct nvml_event *event, unsigned timeout_ms);
EXPORT int nvmlEventSetWait_v2(void *set, struct nvml_event *event, unsigned timeout_ms)
{
	double until = now() + timeout_ms / 1e3, due = event_sent ? 1e9 : time_of("xid"),
	       end = due < until ? due : until;

	(void)set;
	if (end > now())
		usleep((useconds_t)((end - now()) * 1e6));
	if (due <= until) {
		event_sent = 1;
		*event = (struct nvml_event){.device = &devices[0],
					     .type = script("ecc", 0) != 0 ? NVML_EVENT_ECC_DOUBLE_BIT : NVML_EVENT_XID,
					     .data = (unsigned long long)script_at("xid", 0, 1e9)};
		return NVML_SUCCESS;
	}
	return NVML_ERROR_TIMEOUT;
}
