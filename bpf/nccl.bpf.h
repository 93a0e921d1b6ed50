/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread does in NCCL. A call outside of a group launches before it returns; the calls of a group launch in the
 * ncclGroupEnd that ends it. The stack pointer shows whether the thread is still in that call, as for a node of a
 * backward pass (torch.bpf.h), until a probe on one of the function's exits reports the end.
 */
#pragma once

#include "common.bpf.h"
#include "thread.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_NCCL_THREADS);
	__type(key, __u32); /* thread id */
	__type(value, struct gpt_nccl_thread);
} nccl_threads SEC(".maps") __attribute__((weak));

/* Whether a function with this stack pointer is called by the NCCL call that the thread entered last. */
static __always_inline bool nccl_lasts(const struct gpt_thread_state *thread, __u64 sp)
{
	return call_lasts(sp, thread->nccl_sp, thread->nccl_return);
}
