/* SPDX-License-Identifier: GPL-2.0-only */
/* The calling thread's entry in the thread table; made, and the thread announced, at its first call. */
#ifndef GPUTRACE_THREAD_BPF_H
#define GPUTRACE_THREAD_BPF_H

#include "common.bpf.h"

static __always_inline struct gpt_thread_state *thread_create(__u32 tid, __u32 pid)
{
	struct gpt_thread_state fresh = {.pid = pid};
	struct gpt_thread *record;

	/* What Python knows the thread by: pthread_self(), which in glibc is the thread pointer. */
	fresh.pthread = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_ANY)) {
		account(GPT_ACC_THREADS_FULL);
		return 0;
	}
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (record) {
		record_begin(&record->hdr, sizeof(*record), GPT_THREAD);
		record->time_ns = bpf_ktime_get_ns();
		record->pid = pid;
		record->tid = tid;
		bpf_get_current_comm(record->comm, sizeof(record->comm));
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	} else {
		account(GPT_ACC_OTHER_LOST);
	}
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline struct gpt_thread_state *thread_get(__u32 tid, __u32 pid)
{
	struct gpt_thread_state *thread = bpf_map_lookup_elem(&threads, &tid);

	if (likely(thread))
		return thread;
	return thread_create(tid, pid);
}

#endif
