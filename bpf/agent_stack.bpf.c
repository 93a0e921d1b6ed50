/* SPDX-License-Identifier: GPL-2.0-only */
/* The Python stack of a thread at a moment chosen by the agent, for instance when an op of PyTorch begins. */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "python.bpf.h"
#include "thread.bpf.h"
#include "torch.bpf.h"

#include <gputrace/agent.h>

/* Returns enum gpt_stack_state. */
static __always_inline long stack_here(struct gpt_process_state *process, struct gpt_thread_state *thread, __u64 sp,
				       __u64 *id)
{
	struct walk_slot *slot;
	long state;

	if (process->python_state != GPT_STACK_OK)
		return process->python_state;
	if (unlikely(detail_is_off(GPT_DETAIL_STACKS)))
		return GPT_STACK_LOWERED;
	slot = slot_acquire(thread->pid);
	if (unlikely(!slot)) {
		count_one(GPT_COUNTER_OP_STACKS_LOST);
		return GPT_STACK_LOST;
	}
	state = python_stack(process, thread, slot, sp, id);
	slot_release(slot);
	if (!*id)
		*id = backward_stack(thread, sp, state);
	else
		return state;
	return *id ? GPT_STACK_BACKWARD : state;
}

/* gputrace_agent_stack(what, number), agent.h */
COUNTED_PROGRAM("uprobe.later", agent_stack)
{
	__u64 now = run->start_ns, pid_tid = bpf_get_current_pid_tgid(), id = 0;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_thread_state *thread;
	struct gpt_stack_at *record;
	long state;

	if (!process)
		return GPT_PART_IDLE;
	thread = thread_get(process, tid, pid);
	run->thread = thread;
	if (unlikely(!thread)) {
		count_one(GPT_COUNTER_OP_STACKS_LOST);
		keep_own_stack(ctx);
		return GPT_PART_AGENT_STACKS;
	}
	state = stack_here(process, thread, PT_REGS_SP(ctx), &id);
	record = RING_RESERVE(sizeof(*record));
	if (unlikely(!record)) {
		count_one(GPT_COUNTER_OP_STACKS_LOST);
		return GPT_PART_AGENT_STACKS;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_STACK_AT);
	record->time_ns = now;
	record->stack_id = id;
	record->number = PT_REGS_PARM2(ctx);
	record->pid = pid;
	record->tid = tid;
	record->what = PT_REGS_PARM1(ctx);
	record->stack_state = state;
	record->pad[0] = record->pad[1] = record->pad[2] = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return GPT_PART_AGENT_STACKS;
}

char LICENSE[] SEC("license") = "GPL";
