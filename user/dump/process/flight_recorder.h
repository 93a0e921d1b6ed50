/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PyTorch's Flight Recorder: a ring in the process's memory of the latest operations handed to NCCL or gloo.  It is on
 * since 2.11, before that with TORCH_NCCL_TRACE_BUFFER_SIZE.  It is read from the process's memory, for PyTorch 2.7 to
 * 2.15; nothing is called.
 */
#pragma once

#include "dump/process/waits.h"

/* Fills in the process's groups, whose memory must be readable. */
void flight_recorder_read(struct looker *looker);
