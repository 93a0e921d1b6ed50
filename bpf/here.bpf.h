/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the current thread is doing, for programs that may interrupt it anywhere: its Python stack, its innermost native
 * function, the registers with which it left user space. These programs run with interrupts off, so their searches are
 * bounded (maps.h, GPT_ATOMIC_THREADS).
 */
#pragma once

#include "common.bpf.h"
#include "cost.bpf.h"
#include "python.bpf.h"
#include "thread.bpf.h"
#include "torch.bpf.h"

struct here {
	__u64 stack_id, native_id;
	__u8 stack_state;
};

/*
 * The current task, and READ() for a member of it or of an object it points to. From Linux 5.11 on this needs no helper
 * call for each read; there are many here. An unreadable member reads as 0.
 */
#ifndef GPT_OLD_KERNEL
#define current_task() bpf_get_current_task_btf()
#define READ(pointer, member) ((pointer)->member)
#else
#define current_task() ((struct task_struct *)bpf_get_current_task())
#define READ(pointer, member) BPF_CORE_READ(pointer, member)
#endif

/* The thread's user-space registers, also while it is in the kernel. NULL for a kernel thread. */
static __always_inline struct pt_regs *here_registers(void)
{
#ifndef GPT_OLD_KERNEL
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
#else
	/* arch/x86/include/asm/processor.h, task_pt_regs: THREAD_SIZE without KASAN, no padding before FRED (6.9) */
	struct task_struct *task = current_task();

	return (struct pt_regs *)(READ(task, stack) + 16384 - sizeof(struct pt_regs));
#endif
}

/* Returns the id of a native stack of one address, and sends the stack the first time; 0: no room. */
static __always_inline __u64 here_native(struct gpt_process_state *process, struct walk_slot *slot, __u64 ip)
{
	struct gpt_native_stack *native = (struct gpt_native_stack *)slot->native;
	__u64 id = hash_frame(process->program * 0xc4ceb9fe1a85ec53ULL + slot->pid, ip, 0) & ~1ULL;

	if (!ip)
		return 0;
	native->id = id ?: 2; /* Python stacks have odd ids */
	if (bpf_map_lookup_elem(&stacks, &native->id))
		return native->id;
	record_begin(&native->hdr, sizeof(*native) + 8, GPT_NATIVE_STACK);
	native->pid = slot->pid;
	native->depth = 1;
	slot->native_ip[0] = ip;
	if (RING_OUTPUT(slot->native, sizeof(*native) + 8, BPF_RB_NO_WAKEUP))
		return 0;
	bpf_map_update_elem(&stacks, &native->id, &native->depth, BPF_ANY);
	return native->id;
}

/*
 * A thread state that was not found is searched for again after a while. A thread may be interrupted while its state is
 * being created, when it is counted but not in the list yet (CPython, Python/pystate.c, new_threadstate). So a failed
 * search here does not mark the thread as one without Python, as a failed search at a call does.
 */
static __always_inline void here_python(struct gpt_process_state *process, struct gpt_thread_state *thread,
					struct walk_slot *slot, __u64 sp, struct here *here)
{
	__u64 now = bpf_ktime_get_ns(), id = 0;

	if (unlikely(!thread->tstate && now < thread->search_after_ns)) {
		here->stack_state = thread->refused_state;
		return;
	}
	slot->steps_most = GPT_ATOMIC_STEPS;
	slot->threads_most = GPT_ATOMIC_THREADS;
	here->stack_state = python_stack(process, thread, slot, sp, &id);
	if (unlikely(!thread->tstate)) {
		thread->searched = 0;
		thread->refused_state = here->stack_state;
		thread->search_after_ns = now + (here->stack_state == GPT_STACK_UNREADABLE ? GPT_SEARCH_LONG_AGAIN_NS
											   : GPT_SEARCH_AGAIN_NS);
	}
	here->stack_id = id;
}

/*
 * A thread may be interrupted before it has its pthread_self() or its name, as the loader runs first in a new process.
 * Both are set by the time of its first call.
 */
static __always_inline void here_refresh(struct gpt_thread_state *thread, __u32 tid)
{
	struct task_struct *task = current_task();
	__u64 pthread = READ(task, thread.fsbase), comm[2] = {};
	const __u64 *known = (const __u64 *)thread->comm;

	bpf_get_current_comm(comm, sizeof(comm));
	if (likely(pthread == thread->pthread && comm[0] == known[0] && comm[1] == known[1]))
		return;
	if (pthread != thread->pthread) {
		thread->pthread = pthread;
		thread->tstate = thread->searched = thread->search_after_ns = 0;
	}
	thread_announce(thread, tid);
}

/* False: no slot was free. */
static __always_inline bool here_read(struct gpt_process_state *process, struct gpt_thread_state *thread,
				      struct here *here)
{
	struct pt_regs *registers = here_registers();
	__u64 sp = READ(registers, sp), id;
	struct walk_slot *slot = slot_acquire(thread->pid);

	here_refresh(thread, (__u32)bpf_get_current_pid_tgid());
	here->stack_id = here->native_id = 0;
	here->stack_state = process->python_state;
	if (unlikely(!slot))
		return false;
	if (process->python_state == GPT_STACK_OK)
		here_python(process, thread, slot, sp, here);
	here->native_id = here_native(process, slot, READ(registers, ip));
	slot_release(slot);
	if (here->stack_id)
		return true;
	id = backward_stack(thread, sp, here->stack_state);
	if (id) {
		here->stack_id = id;
		here->stack_state = GPT_STACK_BACKWARD;
	}
	return true;
}

/* Adds what a run that began at start_ns took of the thread's time. */
static __always_inline void here_charge(struct gpt_thread_state *thread, __u64 start_ns, __u32 part, __u32 unseen_ns)
{
	__u64 now = bpf_ktime_get_ns(), cost = now - start_ns;

	cost_add(part, thread, start_ns);
	if (cost > GPT_COST_MOST_NS)
		cost = GPT_COST_MOST_NS;
	if (thread->cost_since_ns < activity.cost_from_ns || now - thread->cost_since_ns >= GPT_COST_WINDOW_NS) {
		thread->cost_since_ns = now;
		thread->cost_ns = 0;
	}
	thread->cost_ns += cost + unseen_ns;
	if (thread->cost_ns > activity.most_cost_ns) {
		activity.most_cost_ns = thread->cost_ns;
		activity.most_cost_pid = thread->pid;
	}
}
