/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Events of PyTorch's allocators, as part of a session of ops (ops.c): starts, stops and sends them. */
#pragma once

#include <stdint.h>

#include "agent/torch/op_buffer.h"
#include "agent/torch/torch.h"
#include "cupti/batch.h"

/*
 * At each tick: begins with the first listener that wants them, ends with the last, and handles newly loaded libraries.
 */
void ops_memory_follow(const struct torch *torch, struct batch *batch, uint64_t now);

/* Events stop; those in the buffers may still be sent. */
void ops_memory_stop(void);

void ops_memory_send(struct batch *batch, const struct op_entry_memory *entry);
void ops_memory_send_short(struct batch *batch, const struct op_entry_memory_short *entry, uint32_t tid);

/* Sends the state if events are recorded, or were until the latest ops_memory_stop; then it is the last one. */
void ops_memory_send_state(struct batch *batch);

/* In the child of a fork. */
void ops_memory_forked(void);
