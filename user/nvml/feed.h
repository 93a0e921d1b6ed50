/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the process that calls NVML (program.c) sends, one message each, on the socket that is its standard input.  The
 * driver's library runs in it, so what comes is checked as if anybody had sent it.
 */
#pragma once

#include <stdint.h>

#define NVML_GPUS_MOST 64u
#define NVML_PROCESSES_MOST 64u
#define NVML_UNKNOWN UINT32_MAX /* a number that NVML does not have, or refused */
#define NVML_UNKNOWN_BYTES UINT64_MAX

enum nvml_message_kind {
	NVML_FOUND = 1, /* once, first: text is the driver's version */
	NVML_NONE,	/* once, instead, and the process ends: why not */
	NVML_GPU,	/* once for each GPU, and for each MIG instance */
	NVML_SAMPLE,	/* of a GPU, not of a MIG instance */
	NVML_PROCESS,	/* once a second for each process on a GPU */
	NVML_EVENT,
	NVML_LOST,	 /* the GPU does not answer any more: nothing further of it comes */
	NVML_NO_LIBRARY, /* as NVML_NONE: there is no such file */
};

struct nvml_message {
	uint32_t kind, gpu; /* gpu: number among this process's; uuid says which it is */
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	union {
		struct {
			char uuid[96];	 /* "GPU-..." or "MIG-..." */
			uint32_t parent; /* of a MIG instance: its GPU's number; else its own */
			uint32_t sm_max_mhz, memory_max_mhz, power_limit_mw, events_missing;
		} of_gpu;
		struct {
			uint32_t sm_mhz, memory_mhz, power_mw, power_limit_mw, temperature_c, pad;
			uint64_t reasons; /* bits, as NVML has them; NVML_UNKNOWN_BYTES */
			uint64_t pcie_tx, pcie_rx, nvlink_tx, nvlink_rx; /* bytes since some time; NVML_UNKNOWN_BYTES */
			uint64_t took_ns;				 /* how long NVML took to answer */
		} sample;
		struct {
			uint32_t pid, pad; /* in the pid namespace of this process, as the driver says */
			uint64_t bytes;
		} process;
		struct {
			uint64_t type, data;
		} event;
		char text[128];
	};
};
