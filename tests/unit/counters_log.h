/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of counters of GPUs: a log with kernels at known clocks. */
#pragma once

#include "gap_log.h"

#define COUNTERS_UUID "0123456789abcdef"
#define GPU_MHZ 1980u

struct counters_log {
	struct log_builder log;
	uint32_t corr;
	struct model *model;
	struct analyses all;
};

GAP_FN void begin_counters(struct counters_log *counters)
{
	struct gpt_agent_device device = {.id = 0};

	*counters = (struct counters_log){0};
	begin(&counters->log);
	memcpy(device.uuid, COUNTERS_UUID, 16);
	log_agent_device(&counters->log, &device, "GPU of tests");
}

/* The SM clock from then on, and why. */
GAP_FN void clock_is(struct counters_log *counters, uint64_t time_ns, uint32_t mhz, uint64_t reasons)
{
	struct gpt_gpu_sample sample = {.time_ns = time_ns,
					.sm_mhz = mhz,
					.sm_max_mhz = GPU_MHZ,
					.memory_mhz = 2619,
					.memory_max_mhz = UINT32_MAX,
					.power_mw = mhz == GPU_MHZ ? 350000 : 698400,
					.power_limit_mw = 700000,
					.temperature_c = UINT32_MAX,
					.reasons = reasons,
					.pcie_tx = time_ns, /* 1 GB/s */
					.pcie_rx = UINT64_MAX,
					.nvlink_tx = UINT64_MAX,
					.nvlink_rx = UINT64_MAX};

	memcpy(sample.uuid, COUNTERS_UUID, 16);
	log_gpu_sample(&counters->log, sample);
}

GAP_FN void kernel_of(struct counters_log *counters, uint32_t blocks, uint64_t start_ns, uint64_t ns)
{
	uint32_t corr = ++counters->corr;

	log_launch(&counters->log, PID, TID, start_ns - 5 * US, TRAIN, corr);
	log_batch(&counters->log, PID, TID, start_ns + ns);
	log_agent_kernel(&counters->log, (struct gpt_agent_kernel){.start_wall_ns = start_ns,
								   .end_wall_ns = start_ns + ns,
								   .corr = corr,
								   .name = 1,
								   .grid = {blocks, 1, 1},
								   .block = {256, 1, 1}});
}

/* Reads the log, which ends then; also in parts, and a slice of it (model_of). */
GAP_FN void end_counters(struct counters_log *counters, uint64_t end_ns)
{
	log_end(&counters->log, end_ns);
	counters->model = model_of(&counters->log);
	analyze_model(&counters->all, counters->model, analyses_of_report);
}

GAP_FN void free_counters(struct counters_log *counters)
{
	analyses_free(&counters->all);
	model_free(counters->model);
}
