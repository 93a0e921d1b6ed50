/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The analyses that are group-bys (group.h): for each what its two numbers are, and what `more` is.  Rows are of struct
 * line_tally_row.
 */
#pragma once

#include "analyze/sums/group.h"

/* GPU time by kernel.  Number: its name with the place of its function (model.strings), NONE; ns: of all operations. */
void group_add_kernel(struct group *kernels, const struct gpu_event *event);
#define ANALYSIS_KERNELS(X) GROUP_HOOKS(X, KERNELS, kernels, gpu, group_add_kernel, GROUP_BY_PARTS)

/* CUDA calls as the CPU sees them, by function.  Number: api; more: calls whose return was seen; ns is their time. */
void group_add_api_time(struct group *times, const struct call_event *event);
#define ANALYSIS_API_TIMES(X) GROUP_HOOKS(X, API_TIMES, api_times, call, group_add_api_time, GROUP_BY_PARTS)

/* What the driver compiled, inside the call that needed the code.  Numbers: enum gpt_agent_jit_operation, ..._entry. */
void group_add_jit(struct group *jit, const struct jit_event *event);
#define ANALYSIS_JIT(X) GROUP_HOOKS(X, JIT, jit, jit, group_add_jit, GROUP_BY_LINE)

/* Calls that returned an error.  Numbers: the error (cudaError_t, CUresult), api; more: launches. */
void group_add_failure(struct group *failures, const struct call_event *event);
#define ANALYSIS_FAILURES(X) GROUP_HOOKS(X, FAILURES, failures, call, group_add_failure, GROUP_BY_LINE_AND_COUNT)
