/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPUs: CUPTI numbers them per process (CUDA_VISIBLE_DEVICES), the model once: a device is its uuid, and
 * keeps CUPTI's number unless another device has it already.
 */
#ifndef GPUTRACE_DEVICE_TABLE_H
#define GPUTRACE_DEVICE_TABLE_H

#include "trace/agent_batch.h"

bool device_table_add(struct agents *agents, uint32_t process, const struct gpt_agent_device *record);

/* Puts the model's numbers into the operations and the devices in order. */
void device_table_finish(struct agents *agents);

#endif
