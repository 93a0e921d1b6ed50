/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPUs: CUPTI numbers them per process (CUDA_VISIBLE_DEVICES), the model once: a device is its uuid, and
 * keeps CUPTI's number unless another device has it already.
 */
#ifndef GPUTRACE_DEVICE_TABLE_H
#define GPUTRACE_DEVICE_TABLE_H

#include "model/agent_batch.h"

bool device_table_add(struct agents *agents, uint32_t process, const struct gpt_agent_device *record);

/* Puts the model's numbers into the operations and the devices in order. */
void device_table_finish(struct agents *agents);

/* A stream of an address space, which numbers it within its context; and what it tells of an operation in it. */
void device_table_add_stream(struct agents *agents, uint32_t space, const struct gpt_agent_stream *event);
void device_table_set_stream(const struct agents *agents, uint32_t space, struct model_gpu *op);

/* Numbers that are small on every GPU, truncated where a target makes them up. */
uint8_t gpu_small(uint32_t value);
int8_t gpu_priority(uint32_t value);

#endif
