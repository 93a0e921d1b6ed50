/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Allocations and frees of PyTorch's allocators. They report to PyTorch's own profiler
 * (c10::reportMemoryUsageToProfiler, and on the CPU c10::ProfiledCPUMemoryReporter). Detours of gputrace in these calls
 * put the event into the thread's buffer and continue. The CPU reporter itself is not used: it keeps a table of all
 * blocks as soon as a profiler is active.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/torch/torch.h"

/*
 * On the thread of ops, repeatedly while events are wanted: redirects the calls, also of newly loaded libraries and in
 * entries that the loader has bound meanwhile. Returns which memory is seen, 1 << enum gpt_agent_torch_memory_of; why
 * names what is not seen, "": all is.
 */
unsigned torch_memory_follow(const struct torch *torch, char *why, size_t why_size);

/* Restores all calls; events stop at once. */
void torch_memory_end(void);

/* Events that had no room since the first torch_memory_follow. */
uint64_t torch_memory_lost(void);

/* In the child of a fork: calls go on as before. */
void torch_memory_forked(void);
