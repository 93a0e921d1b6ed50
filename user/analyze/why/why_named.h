/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranks that wait for the last one in a collective whose kernels are known by their names only (model/comm_kernels.h).
 * Kernels of one name that run at the same time, one of each process, and end together are one collective.  It counts
 * only if all processes that have kernels of that name took part, which the end of the trace shows: until then what was
 * lost is kept by name, processes, and line.
 */
#pragma once

#include "analyze/why/why.h"

enum comm_kind why_named_kind(struct why *why, const struct model_gpu *op);

/* A kernel that each rank waits in for all others. */
void why_named_add(struct why *why, size_t device, const struct gpu_event *event);

/* To be called when no event is to come: charges what was lost. */
void why_named_settle(struct why *why);
void why_named_free(struct why_named *named);
