/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calling thread's entry in the thread table. At the thread's first call the entry is made and the thread is
 * announced.
 */
#pragma once

#include "common.bpf.h"

/* Maximum number of return instances of a thread: MAX_URETPROBE_DEPTH, include/linux/uprobes.h */
#define URETPROBES_MAX 64

/*
 * The true return address of the call whose return address slot is at sp and now holds `word`. The list has the
 * innermost call first; with several uretprobes on one call each entry has the true address (prepare_uretprobe,
 * kernel/events/uprobes.c).
 */
__weak __noinline __u64 replaced_return_address(__u64 sp, __u64 word)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct return_instance *instance = BPF_CORE_READ(task, utask, return_instances);

	_Pragma("clang loop unroll(disable)") for (int i = 0; i < URETPROBES_MAX && instance; i++)
	{
		if (BPF_CORE_READ(instance, stack) == sp)
			return BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
	return word;
}

/*
 * The true return address of a call, given the `word` that is now in its place. When another tool has a uretprobe on
 * the function, the kernel puts the address of its trampoline there once the probes on that instruction have run. The
 * trampoline begins a page: an address within a page is the true one.
 */
static __always_inline __u64 true_return_address(__u64 sp, __u64 word)
{
	return likely(word & 4095) ? word : replaced_return_address(sp, word);
}

/*
 * Whether a function with this stack pointer is called by the call whose (true) return address was at entry_sp (0:
 * none). That address stays there until the call has returned and another call overwrites it.
 */
static __always_inline bool call_lasts(__u64 sp, __u64 entry_sp, __u64 return_address)
{
	__u64 word = 0;

	return sp < entry_sp && !bpf_probe_read_user(&word, 8, (void *)entry_sp) &&
	       true_return_address(entry_sp, word) == return_address;
}

/* The thread's id in the innermost pid namespace, as the thread itself sees it. */
static __always_inline __u32 thread_own_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level), nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr),
			      (char *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid) + bpf_core_field_offset(struct upid, nr));
	return nr;
}

/* Whether the entry is this task's and not that of an earlier one with the same pid; attach/ may be off by a tick. */
static __always_inline bool is_same_process(const struct gpt_process_state *process, struct task_struct *task)
{
	return !process->start_ticks || task_start_ticks(task) - process->start_ticks + 1 <= 2;
}

/* Reports the name of the calling thread, which may change. */
static __noinline void thread_announce(struct gpt_thread_state *thread, __u32 tid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct gpt_thread *record = RING_RESERVE(sizeof(*record));

	bpf_get_current_comm(thread->comm, sizeof(thread->comm));
	if (!record) {
		count_one(GPT_COUNTER_OTHER_LOST);
		return;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_THREAD);
	record->time_ns = bpf_ktime_get_ns();
	record->pid = thread->pid;
	record->tid = tid;
	record->own_tid = thread_own_tid(task);
	record->pointer = thread->pthread;
	__builtin_memcpy(record->comm, thread->comm, sizeof(record->comm));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* A function of its own, so that its variables are not on the stack (512 bytes in all) while Python is walked. */
static __noinline struct gpt_thread_state *thread_create(struct gpt_process_state *process, __u32 tid, __u32 pid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct gpt_thread_state fresh = {.pid = pid, .program = process->program}, *thread;

	if (!is_same_process(process, task)) {
		bpf_map_delete_elem(&processes, &pid);
		return 0;
	}

	/* Python identifies the thread by pthread_self(), which in glibc is the thread pointer. */
	fresh.pthread = BPF_CORE_READ(task, thread.fsbase);
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_ANY)) {
		count_one(GPT_COUNTER_THREADS_FULL);
		return 0;
	}
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (thread)
		thread_announce(thread, tid);
	return thread;
}

/* An entry of another program is stale: the end of its thread was not seen, and the id was reused. */
static __always_inline struct gpt_thread_state *thread_get(struct gpt_process_state *process, __u32 tid, __u32 pid)
{
	struct gpt_thread_state *thread = bpf_map_lookup_elem(&threads, &tid);

	if (likely(thread && thread->program == process->program))
		return thread;
	return thread_create(process, tid, pid);
}
