/* SPDX-License-Identifier: GPL-2.0-only */
/* Data from the agent: batches of records, copied as they are, and its state. */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "site.bpf.h"
#include "thread.bpf.h"

#include <gputrace/agent.h>

/* The ring buffer takes constant sizes only: one function for each. */
#define BATCH_COPY(name, room)                                                                                         \
	static __always_inline long name(const struct gpt_agent_batch *head, __u64 from, __u64 bytes)                  \
	{                                                                                                              \
		struct gpt_agent_batch *record = RING_RESERVE(sizeof(*record) + (room));                               \
                                                                                                                       \
		if (!record)                                                                                           \
			return -1;                                                                                     \
		SPILLED(bytes);                                                                                        \
		__builtin_memcpy(record, head, sizeof(*record));                                                       \
		if (bytes > (room) || bpf_probe_read_user(record->data, bytes, (void *)from)) {                        \
			bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);                                                 \
			return -1;                                                                                     \
		}                                                                                                      \
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);                                                          \
		return 0;                                                                                              \
	}

BATCH_COPY(batch_copy_small, GPT_AGENT_BATCH_SMALL)
BATCH_COPY(batch_copy_medium, GPT_AGENT_BATCH_MEDIUM)
BATCH_COPY(batch_copy_large, GPT_AGENT_BATCH_MAX)

/* gputrace_agent_batch(data, bytes, own_thread) */
COUNTED_PROGRAM("uprobe", agent_batch)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), from = PT_REGS_PARM1(ctx);
	__u32 bytes = PT_REGS_PARM2(ctx), pid = pid_tid >> 32;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_agent_batch head = {};
	struct gpt_thread_state *thread;
	long failed;

	if (!process)
		return GPT_PART_IDLE;
	thread = config.off_cpu_min_ns && PT_REGS_PARM3(ctx) == 1 ? thread_get(process, pid_tid, pid) : 0;
	if (thread)
		thread->of_agent = 1;
	count_one(GPT_COUNTER_BATCHES);
	record_begin(&head.hdr, sizeof(head) + ((bytes + 7) & ~7u), GPT_AGENT_BATCH);
	head.time_ns = bpf_ktime_get_ns();
	head.pid = pid;
	head.tid = pid_tid;
	head.bytes = bytes;
	head.uid = (__u32)bpf_get_current_uid_gid();
	if (bytes <= GPT_AGENT_BATCH_SMALL)
		failed = batch_copy_small(&head, from, bytes);
	else if (bytes <= GPT_AGENT_BATCH_MEDIUM)
		failed = batch_copy_medium(&head, from, bytes);
	else
		failed = batch_copy_large(&head, from, bytes);
	if (failed) {
		count_one(GPT_COUNTER_BATCHES_LOST);
		keep_own_stack(ctx);
	}
	return GPT_PART_BATCHES;
}

static __always_inline void note_agent_text(struct pt_regs *ctx, __u32 pid)
{
	struct gpt_text_segment text;

	if (site_text(ctx, &text))
		bpf_map_update_elem(&agent_texts, &pid, &text, BPF_ANY);
}

/* gputrace_agent_state(state, abi): says whether the agent reports the calls of this process from now on */
SEC("uprobe")
int agent_state(struct pt_regs *ctx)
{
	__u32 state = PT_REGS_PARM1(ctx), abi = PT_REGS_PARM2(ctx);
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u8 at_work = state;

	if (!traced_process(pid)) {
		keep_own_stack(ctx);
		return 0;
	}
	any_agent = 1;
	note_agent_text(ctx, pid);
	if (gpt_agent_is_live(state) && abi == GPT_AGENT_ABI)
		bpf_map_update_elem(&agents, &pid, &at_work, BPF_ANY);
	else
		bpf_map_delete_elem(&agents, &pid);
	return 0;
}

/* gputrace_agent_activity_set_NAME(): never called; a probe on it raises the counter that requests NAME */
SEC("uprobe")
int agent_activity_set(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
