/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What NVML says of GPUs (model.h): clocks and power about ten times a second, who has memory once a second, errors
 * when they occur.  Only of devices that a process of the trace has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/agent.h>

#define MODEL_NOT_SAID UINT32_MAX
#define MODEL_NOT_SAID_64 UINT64_MAX

/* In the members all bits set: NVML does not say. */
struct model_gpu_sample {
	union {
		struct gpt_gpu_sample record;
		struct GPT_RECORD(gpu_sample);
	};
	uint32_t device; /* model_device.id, instead of its uuid */
};

struct model_gpu_process {
	uint64_t time_ns;
	uint64_t bytes;
	uint32_t device;
	uint32_t pid;
	uint32_t process; /* model.processes, NONE: it is not traced */
	const char *name; /* of a process that is not traced; "": not known */
};

struct model_gpu_error {
	uint64_t time_ns;
	uint64_t data; /* GPT_GPU_XID: its number */
	uint32_t device;
	uint8_t kind; /* enum gpt_gpu_error_kind */
};

/* A sample stands for the time until the next one of its GPU, if that comes within this time. */
#define GPU_SAMPLE_HOLDS_NS 2500000000ull

/* A clock below this share of its maximum is low: GPUs step by 15 MHz, which is less. */
#define GPU_CLOCK_LOW_PERCENT 97u

static inline bool gpu_clock_is_low(const struct model_gpu_sample *sample)
{
	return sample->sm_mhz != MODEL_NOT_SAID && sample->sm_max_mhz != MODEL_NOT_SAID &&
	       (uint64_t)sample->sm_mhz * 100 < (uint64_t)sample->sm_max_mhz * GPU_CLOCK_LOW_PERCENT;
}

#define GPU_CLOCK_REASONS 11 /* bits of enum gpt_clock_reason */

/* "power cap" and so on, by bit; NULL: newer than this gputrace. */
const char *gpu_clock_reason_name(unsigned bit);

/* "XID" and so on. */
const char *gpu_error_name(enum gpt_gpu_error_kind kind);
