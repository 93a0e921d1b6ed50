/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of GPUs over the recording: the least, median and highest value of each by time; for how long clocks were
 * low, and why; errors; memory by process.  A sample stands for the time until the next one, but for no longer than
 * GPU_SAMPLE_HOLDS_NS: what lies beyond is not known.
 */
#pragma once

#include "analyze/gpus/gpu_clocks.h"

enum gpu_counter {
	GPU_COUNTER_SM_CLOCK,	  /* MHz */
	GPU_COUNTER_MEMORY_CLOCK, /* MHz */
	GPU_COUNTER_POWER,	  /* W */
	GPU_COUNTER_TEMPERATURE,  /* degrees Celsius */
	GPU_COUNTER_PCIE_TX,	  /* MB/s, as the three below */
	GPU_COUNTER_PCIE_RX,
	GPU_COUNTER_NVLINK_TX,
	GPU_COUNTER_NVLINK_RX,
	GPU_COUNTERS,
};

struct gpu_counter_row {
	uint32_t device;
	enum gpu_counter counter;
	uint64_t ns; /* for which it is known */
	uint64_t least, median, most;
	uint64_t limit; /* the highest clock, the limit of power; MODEL_NOT_SAID: none is known */
};

#define GPU_REASON_NOT_SAID GPU_CLOCK_REASONS /* clocks were low, and NVML gave no reason */

struct gpu_throttle_row {
	uint32_t device;
	unsigned reason; /* bit of enum gpt_clock_reason, or GPU_REASON_NOT_SAID */
	uint64_t ns;	 /* for which NVML named it; several at a time are possible */
	uint64_t low_ns; /* of these, with a low SM clock */
};

struct gpu_error_row {
	uint32_t device;
	uint8_t kind;
	uint64_t data, count, first_ns;
};

struct gpu_process_row {
	uint32_t device, pid, process; /* process: model.processes, NONE: not traced */
	const char *name;
	uint64_t most, last; /* bytes; MODEL_NOT_SAID_64: not known */
};

struct gpu_sampled {
	uint32_t device;
	struct model_gpu_sample last;
	uint64_t ns;	   /* for which samples stand */
	uint64_t low_ns;   /* of these, with a low SM clock, though it had work */
	double low_mhz_ns; /* sum of MHz times ns over low_ns */
	uint32_t sm_max_mhz, power_limit_mw, memory_max_mhz;
};

struct gpu_counter_sums {
	struct gpu_clocks clocks;
	struct tally device_index; /* model_device.id; numbered like devices */
	ARRAY(struct gpu_sampled) devices;
	struct tally values;  /* device, counter, value */
	struct tally reasons; /* device, bit; more: of the time, with a low clock */
	struct tally error_index, process_index;
	ARRAY(struct gpu_error_row) errors;	  /* by first_ns */
	ARRAY(struct gpu_process_row) processes;  /* when finished: most memory first */
	ARRAY(struct gpu_counter_row) rows;	  /* when finished: by device and counter */
	ARRAY(struct gpu_throttle_row) throttles; /* when finished: by device, longest first */
};

void gpu_counters_free(struct gpu_counter_sums *sums);
void gpu_counters_add_sample(struct gpu_counter_sums *sums, const struct gpu_sample_event *event);
void gpu_counters_add_process(struct gpu_counter_sums *sums, const struct gpu_process_event *event);
void gpu_counters_add_error(struct gpu_counter_sums *sums, const struct gpu_error_event *event);
void gpu_counters_finish(struct gpu_counter_sums *sums);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_GPU_COUNTERS(X)                                                                                       \
	X(GPU_COUNTERS, gpu, gpu_clocks_add_kernel(&all->gpu_counters.clocks, ((const struct gpu_event *)event)->op))  \
	X(GPU_COUNTERS, gpu_sample, gpu_counters_add_sample(&all->gpu_counters, event))                                \
	X(GPU_COUNTERS, gpu_process, gpu_counters_add_process(&all->gpu_counters, event))                              \
	X(GPU_COUNTERS, gpu_error, gpu_counters_add_error(&all->gpu_counters, event))                                  \
	X(GPU_COUNTERS, finish, gpu_counters_finish(&all->gpu_counters))                                               \
	X(GPU_COUNTERS, free, gpu_counters_free(&all->gpu_counters))
