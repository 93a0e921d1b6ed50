/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/gpu_counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "capture/nvml_process.h"
#include "nvml/nvml_abi.h"
#include "target/process.h"

#define SECOND_NS 1000000000ull
#define MESSAGES_MOST 256u		 /* in one tick */
#define SAMPLE_LEAST_NS (SECOND_NS / 20) /* of a GPU; more often are not taken */
#define PROCESSES_LEAST_NS (SECOND_NS / 2)
#define ERRORS_MOST 1000u
#define SILENT_NS (3 * SECOND_NS) /* the longest interval is a second (nvml/program.c) */

struct gpu {
	uint8_t uuid[GPT_UUID];
	uint32_t parent; /* its own number: no MIG instance */
	uint32_t sm_max_mhz, memory_max_mhz;
	uint64_t sample_ns, processes_ns; /* of the latest sample and list */
	uint32_t processes;		  /* in that list */
	bool lost, has_errors;		  /* has_errors: NVML reports XIDs of it */
};

struct gpu_counters {
	struct nvml_process_of process;
	gpu_counters_emit emit;
	void *context;
	struct gpu gpus[NVML_GPUS_MOST];
	uint32_t count, errors;
	enum gpt_nvml_state state; /* as the log has it; 0: it does not */
	bool is_machine;	   /* pids are those of this namespace */
	uint64_t start_ns, latest_ns;
};

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void emit_state(struct gpu_counters *counters, enum gpt_nvml_state state, const char *text)
{
	union {
		struct gpt_nvml record;
		uint8_t bytes[sizeof(struct gpt_nvml) + 136];
	} nvml = {0};
	size_t bytes = strnlen(text, 127) + 1;

	counters->state = state;
	nvml.record = (struct gpt_nvml){
		.hdr = {.size = (uint32_t)(sizeof(nvml.record) + gpt_padded(bytes)), .type = GPT_NVML},
		.state = state,
		.bytes = (uint32_t)bytes};
	memcpy(nvml.record.text, text, bytes - 1);
	counters->emit(counters->context, &nvml.record.hdr);
}

/* Without the driver there is nothing to miss. */
static void emit_absent(struct gpu_counters *counters, const char *why)
{
	if (nvml_driver_loaded())
		emit_state(counters, GPT_NVML_ABSENT, why);
	else
		emit_state(counters, GPT_NVML_NO_DRIVER, "NVIDIA's driver is not loaded");
}

static void emit_sample(struct gpu_counters *counters, uint32_t number, const struct nvml_message *message)
{
	const struct gpu *gpu = &counters->gpus[number], *of = &counters->gpus[gpu->parent];
	uint64_t took_us = message->sample.took_ns / 1000;
	struct gpt_gpu_sample sample = {.hdr = {.size = sizeof(sample), .type = GPT_GPU_SAMPLE},
					.time_ns = message->time_ns,
					.sm_mhz = message->sample.sm_mhz,
					.sm_max_mhz = of->sm_max_mhz,
					.memory_mhz = message->sample.memory_mhz,
					.memory_max_mhz = of->memory_max_mhz,
					.power_mw = message->sample.power_mw,
					.power_limit_mw = message->sample.power_limit_mw,
					.temperature_c = message->sample.temperature_c,
					.took_us = took_us < UINT32_MAX ? (uint32_t)took_us : UINT32_MAX,
					.reasons = message->sample.reasons,
					.pcie_tx = message->sample.pcie_tx,
					.pcie_rx = message->sample.pcie_rx,
					.nvlink_tx = message->sample.nvlink_tx,
					.nvlink_rx = message->sample.nvlink_rx};

	memcpy(sample.uuid, gpu->uuid, GPT_UUID);
	counters->emit(counters->context, &sample.hdr);
}

static void emit_process(struct gpu_counters *counters, const struct gpu *gpu, const struct nvml_message *message)
{
	struct gpt_gpu_process process = {.hdr = {.size = sizeof(process), .type = GPT_GPU_PROCESS},
					  .time_ns = message->time_ns,
					  .bytes = message->process.bytes,
					  .pid = message->process.pid};
	char path[64];
	FILE *file;

	memcpy(process.uuid, gpu->uuid, GPT_UUID);
	snprintf(path, sizeof(path), "/proc/%u/comm", message->process.pid);
	file = counters->is_machine ? fopen(path, "re") : NULL;
	if (file) {
		size_t length = fread(process.comm, 1, sizeof(process.comm) - 1, file);

		process.comm[length && process.comm[length - 1] == '\n' ? length - 1 : length] = '\0';
		fclose(file);
	}
	counters->emit(counters->context, &process.hdr);
}

static void emit_error(struct gpu_counters *counters, const struct gpu *gpu, uint64_t time_ns,
		       enum gpt_gpu_error_kind kind, uint64_t data)
{
	struct gpt_gpu_error error = {
		.hdr = {.size = sizeof(error), .type = GPT_GPU_ERROR}, .time_ns = time_ns, .data = data, .kind = kind};

	if (counters->errors++ >= ERRORS_MOST)
		return;
	memcpy(error.uuid, gpu->uuid, GPT_UUID);
	counters->emit(counters->context, &error.hdr);
}

/* ---- messages, of which none is trusted -------------------------------------------------------------------------- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "GPU-01234567-89ab-...", as CUPTI has it: 16 bytes. */
static bool parse_uuid(const char *text, size_t size, uint8_t uuid[GPT_UUID])
{
	size_t digits = 0;

	if (strnlen(text, size) != strlen("GPU-") + 36 ||
	    (memcmp(text, "GPU-", 4) != 0 && memcmp(text, "MIG-", 4) != 0))
		return false;
	memset(uuid, 0, GPT_UUID);
	for (text += 4; *text; text++) {
		int digit = digit_of(*text);

		if (*text == '-')
			continue;
		if (digit < 0 || digits == 2 * GPT_UUID)
			return false;
		uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | digit);
		digits++;
	}
	return digits == 2 * GPT_UUID;
}

static void take_gpu(struct gpu_counters *counters, const struct nvml_message *message)
{
	struct gpu gpu = {.parent = message->of_gpu.parent,
			  .sm_max_mhz = message->of_gpu.sm_max_mhz,
			  .memory_max_mhz = message->of_gpu.memory_max_mhz,
			  .has_errors = !message->of_gpu.events_missing};

	if (message->gpu != counters->count || counters->count == NVML_GPUS_MOST || gpu.parent > counters->count ||
	    (gpu.parent < counters->count && counters->gpus[gpu.parent].parent != gpu.parent))
		return;
	/* One of another form has no place in the log, but its number. */
	if (!parse_uuid(message->of_gpu.uuid, sizeof(message->of_gpu.uuid), gpu.uuid))
		gpu.lost = true;
	counters->gpus[counters->count++] = gpu;
}

static void take_sample(struct gpu_counters *counters, const struct nvml_message *message)
{
	struct gpu *gpu = &counters->gpus[message->gpu];

	if (gpu->parent != message->gpu || message->time_ns < gpu->sample_ns + SAMPLE_LEAST_NS)
		return;
	gpu->sample_ns = message->time_ns;
	for (uint32_t i = 0; i < counters->count; i++)
		if (counters->gpus[i].parent == message->gpu && !counters->gpus[i].lost)
			emit_sample(counters, i, message);
}

static void take_process(struct gpu_counters *counters, const struct nvml_message *message)
{
	struct gpu *gpu = &counters->gpus[message->gpu];

	if (message->time_ns >= gpu->processes_ns + PROCESSES_LEAST_NS) {
		gpu->processes_ns = message->time_ns;
		gpu->processes = 0;
	}
	if (gpu->processes++ < NVML_PROCESSES_MOST && !gpu->lost && message->process.pid)
		emit_process(counters, gpu, message);
}

static void take_event(struct gpu_counters *counters, const struct nvml_message *message)
{
	const struct gpu *gpu = &counters->gpus[message->gpu];

	if (gpu->lost)
		return;
	if (message->event.type == NVML_EVENT_XID)
		emit_error(counters, gpu, message->time_ns, GPT_GPU_XID, message->event.data);
	else if (message->event.type == NVML_EVENT_ECC_SINGLE_BIT)
		emit_error(counters, gpu, message->time_ns, GPT_GPU_ECC_CORRECTED, 0);
	else if (message->event.type == NVML_EVENT_ECC_DOUBLE_BIT)
		emit_error(counters, gpu, message->time_ns, GPT_GPU_ECC_UNCORRECTED, 0);
}

static void take_lost(struct gpu_counters *counters, const struct nvml_message *message)
{
	struct gpu *gpu = &counters->gpus[message->gpu];

	if (!gpu->lost)
		emit_error(counters, gpu, message->time_ns, GPT_GPU_LOST, 0);
	gpu->lost = true;
}

/* Text of a library: only what can be printed. */
static void take_state(struct gpu_counters *counters, const struct nvml_message *message, enum gpt_nvml_state state)
{
	char text[sizeof(message->text)];
	size_t length = strnlen(message->text, sizeof(text) - 1);

	for (size_t i = 0; i < length; i++)
		text[i] = message->text[i] >= ' ' && message->text[i] <= '~' ? message->text[i] : '?';
	text[length] = '\0';
	if (!counters->state)
		emit_state(counters, state, text);
}

static void take_message(struct gpu_counters *counters, const struct nvml_message *message)
{
	static void (*const of_gpu[])(struct gpu_counters *,
				      const struct nvml_message *) = {[NVML_SAMPLE] = take_sample,
								      [NVML_PROCESS] = take_process,
								      [NVML_EVENT] = take_event,
								      [NVML_LOST] = take_lost};

	if (message->time_ns < counters->start_ns || message->time_ns > monotonic_ns())
		return;
	counters->latest_ns = message->time_ns;
	if (message->kind == NVML_FOUND || message->kind == NVML_NONE)
		take_state(counters, message, message->kind == NVML_FOUND ? GPT_NVML_READ : GPT_NVML_ABSENT);
	else if (message->kind == NVML_NO_LIBRARY && !counters->state)
		emit_absent(
			counters,
			"libnvidia-ml.so.1 not found (in a container NVIDIA_DRIVER_CAPABILITIES has to name utility)");
	else if (message->kind == NVML_GPU)
		take_gpu(counters, message);
	else if (message->kind < sizeof(of_gpu) / sizeof(*of_gpu) && of_gpu[message->kind] &&
		 message->gpu < counters->count)
		of_gpu[message->kind](counters, message);
}

/* ---- its life ---------------------------------------------------------------------------------------------------- */

struct gpu_counters *gpu_counters_start(const char *const *libraries, const char *library_path, gpu_counters_emit emit,
					void *context)
{
	struct gpu_counters *counters = xcalloc(1, sizeof(*counters));
	char why[128];
	int err;

	*counters = (struct gpu_counters){

		.emit = emit,
		.context = context,
		.start_ns = monotonic_ns(),
		.is_machine = process_in_initial_pid_namespace()};
	err = nvml_process_start(libraries, library_path, &counters->process);
	if (err) {
		snprintf(why, sizeof(why), "gputrace-nvml does not start: %s", strerror(-err));
		emit_absent(counters, why);
	}
	return counters;
}

/* After its last message. */
static void end_early(struct gpu_counters *counters)
{
	if (!counters->state)
		emit_state(counters, GPT_NVML_ENDED, "the process that calls NVML ended before NVML had answered");
	else if (counters->state == GPT_NVML_READ)
		emit_state(counters, GPT_NVML_ENDED, "the process that calls NVML ended during the recording");
	nvml_process_end(&counters->process);
}

void gpu_counters_tick(struct gpu_counters *counters)
{
	struct nvml_message message;
	int got = 0;

	if (!counters || !counters->process.pid)
		return;
	for (unsigned i = 0; i < MESSAGES_MOST; i++) {
		got = nvml_process_receive(&counters->process, &message);
		if (got <= 0)
			break;
		take_message(counters, &message);
	}
	if (got < 0)
		end_early(counters);
}

bool gpu_counters_answer(const struct gpu_counters *counters)
{
	return counters && counters->state == GPT_NVML_READ;
}

unsigned gpu_counters_without_errors(const struct gpu_counters *counters)
{
	unsigned without = 0;

	/* those of a MIG instance are its GPU's */
	for (uint32_t i = 0; counters && i < counters->count; i++)
		without += counters->gpus[i].parent == i && !counters->gpus[i].has_errors;
	return without;
}

void gpu_counters_stop(struct gpu_counters *counters)
{
	if (!counters)
		return;
	gpu_counters_tick(counters);
	if (counters->process.pid && !counters->state)
		emit_state(counters, GPT_NVML_SILENT, "NVML did not answer during the recording");
	else if (counters->process.pid && counters->state == GPT_NVML_READ &&
		 monotonic_ns() - counters->latest_ns > SILENT_NS)
		emit_state(counters, GPT_NVML_SILENT, "NVML stopped answering during the recording");
	nvml_process_end(&counters->process);
	free(counters);
}
