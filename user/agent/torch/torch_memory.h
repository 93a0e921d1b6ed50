/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What PyTorch's allocators hand out and take back.  They report to a profiler of PyTorch's own (c10::
 * reportMemoryUsageToProfiler, and on the CPU c10::ProfiledCPUMemoryReporter); the calls that do so are led through
 * gputrace's detours, which put the event into the thread's buffer and go on.  On the CPU the reporter itself is not
 * asked: it keeps a table of all blocks as soon as someone profiles.
 */
#ifndef GPUTRACE_AGENT_TORCH_MEMORY_H
#define GPUTRACE_AGENT_TORCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "agent/torch/torch.h"

/*
 * On the thread of ops, again and again while events are wanted: leads calls here, also those of libraries that have
 * come since, and those that the loader has filled in meanwhile.  Returns whose memory is seen, 1 << enum
 * gpt_agent_torch_memory_of; why says what is not, "": nothing.
 */
unsigned torch_memory_follow(const struct torch *torch, char *why, size_t why_size);

/* Puts all calls back; events stop at once. */
void torch_memory_end(void);

/* Events that had no room since the first torch_memory_follow. */
uint64_t torch_memory_lost(void);

/* In the child of a fork: calls go on as before. */
void torch_memory_forked(void);

#endif
