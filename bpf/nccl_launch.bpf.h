/* SPDX-License-Identifier: GPL-2.0-only */
/* Launches that a thread makes inside NCCL; used by call.bpf.c. */
#pragma once

#include "nccl.bpf.h"

#include <gputrace/cuda_api.h>

static __always_inline bool is_launch(__u16 api)
{
#define NCCL_LAUNCH(domain, symbol, class, args, twin, cbid, twin_cbid)                                                \
	(GPT_CLASS_##class == GPT_CLASS_LAUNCH && (api == GPT_API(GPT_DOMAIN_##domain, cbid) ||                        \
						   (twin_cbid && api == GPT_API(GPT_DOMAIN_##domain, twin_cbid)))) ||
	return GPT_CUDA_API_TABLE(NCCL_LAUNCH) false;
#undef NCCL_LAUNCH
}

/* A thread that has entered NCCL makes a CUDA call. Sends the GPT_NCCL record before the record of that call. */
static __noinline int nccl_launch(struct gpt_thread_state *thread, __u64 sp, __u64 now, __u16 api)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	const struct gpt_nccl_thread *nccl;
	__u32 tid = pid_tid;
	struct gpt_nccl *record;

	if (!thread)
		return 0;
	if (!nccl_lasts(thread, sp)) {
		thread->nccl_sp = 0;
		return 0;
	}
	nccl = bpf_map_lookup_elem(&nccl_threads, &tid);
	if (!nccl || nccl->program != thread->program || !nccl->group.calls || !is_launch(api))
		return 0;
	record = RING_RESERVE(sizeof(*record));
	if (!record) {
		count_one(GPT_COUNTER_OTHER_LOST);
		return 0;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_NCCL);
	record->time_ns = now;
	record->comm = nccl->group.comm;
	record->comm_id = nccl->group.comm_id;
	record->count = nccl->group.count;
	record->sequence = nccl->group.sequence;
	record->pid = pid_tid >> 32;
	record->tid = tid;
	record->calls = nccl->group.calls;
	record->rank = nccl->group.rank;
	record->ranks = nccl->group.ranks;
	record->function = nccl->group.function;
	record->dtype = nccl->group.dtype;
	record->sends = nccl->pairs.sends;
	record->receives = nccl->pairs.receives;
	record->pairs = nccl->pairs.pairs;
	record->more_pairs = nccl->pairs.more_pairs;
	__builtin_memset(record->pad, 0, sizeof(record->pad));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
