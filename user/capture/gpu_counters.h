/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clocks, power and memory of GPUs in the log (GPT_GPU_SAMPLE, GPT_GPU_PROCESS, GPT_GPU_ERROR, GPT_NVML).  A process of
 * its own reads them (nvml_process.h); what it sends is checked here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

struct gpu_counters;

/* Gets each record, which is valid during the call. */
typedef void (*gpu_counters_emit)(void *context, const struct gpt_record *record);

/* Starts the process; where that fails a GPT_NVML says why.  libraries, library_path: as nvml_process_start. */
struct gpu_counters *gpu_counters_start(const char *const *libraries, const char *library_path, gpu_counters_emit emit,
					void *context);

/* Puts what has come into the log.  NULL is allowed, also below. */
void gpu_counters_tick(struct gpu_counters *counters);

/* Whether NVML has answered, and still does as far as is known. */
bool gpu_counters_answer(const struct gpu_counters *counters);

/* The GPUs of which NVML reports no errors (XIDs): virtual ones, and where a container keeps it from that. */
unsigned gpu_counters_without_errors(const struct gpu_counters *counters);

/* Ends the process; a GPT_NVML says so if it answered no more. */
void gpu_counters_stop(struct gpu_counters *counters);
