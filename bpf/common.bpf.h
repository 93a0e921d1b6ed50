/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Shared by all programs: maps, configuration, counters, the test whether a process is traced. Maps are weak so that
 * each object file may define them; the BPF linker makes one of each.
 */
#pragma once

#ifdef GPT_USER_SPACE
#include "user_space.h"
#else
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#endif

#include <gputrace/record.h>
#include <gputrace/python.h>
#include <gputrace/maps.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static __always_inline void record_begin(struct gpt_record *record, __u32 size, __u16 type)
{
	record->size = size;
	record->type = type;
	record->flags = 0;
}

/* Identifies a code object that was described. */
struct code_key {
	__u64 code;
	__u64 program;
	__u32 pid;
	__u32 age;
};

#ifndef GPT_USER_SPACE

/* Set by attach/ before loading. */
extern const volatile struct gpt_config config;

/* Set once any agent has reported its state; until then no process needs a look-up in `agents`. */
extern __u32 any_agent;

/* The current age of the marks of code objects, and how many objects were described at this age (python_code.bpf.h). */
extern __u32 code_age, code_descriptions;

/* Number of the collector's pass over the ring buffer. */
extern __u32 ring_pass;

/* What is recorded of threads now. */
extern struct gpt_activity activity;

/* How much detail is recorded now. */
extern struct gpt_detail_state detail;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* sized by attach/ */
} ring SEC(".maps") __attribute__((weak));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_PROCESSES);
	__type(key, __u32); /* thread group id */
	__type(value, struct gpt_process_state);
} processes SEC(".maps") __attribute__((weak));

/* Processes with an agent at work, and the agent's state; in all states but GPT_AGENT_BORROWING symbol probes report
 * nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_PROCESSES);
	__type(key, __u32); /* thread group id */
	__type(value, __u8);
} agents SEC(".maps") __attribute__((weak));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_THREADS);
	__type(key, __u32); /* thread id */
	__type(value, struct gpt_thread_state);
} threads SEC(".maps") __attribute__((weak));

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GPT_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps") __attribute__((weak));

/*
 * The text segment of the agent that reported its state in a process; a call that returns into it is the agent's own.
 * It is reported by the file that the process has loaded, which may be anyone's, so it holds for that process alone.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_PROCESSES);
	__type(key, __u32); /* thread group id */
	__type(value, struct gpt_text_segment);
} agent_texts SEC(".maps") __attribute__((weak));

/* Threads that are off the CPU (wait.bpf.c). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_THREADS); /* attach/ makes it small if no waits are recorded */
	__type(key, __u32);		      /* thread id */
	__type(value, struct gpt_off_cpu);
} off_cpu SEC(".maps") __attribute__((weak));

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1); /* always empty */
	__type(key, __u32);
	__type(value, __u32);
} no_program SEC(".maps") __attribute__((weak));

/*
 * Every uprobe program calls this somewhere off its hot path; the tail call always fails. From Linux 6.13 on the stack
 * of a program that uses 64 bytes or more lies in per-CPU memory (bpf_enable_priv_stack, kernel/bpf/verifier.c). A
 * uprobe program can be preempted by another run of itself, which then works on the same memory: wrong stacks, and a
 * kernel panic, seen on a 7.2 that preempts. A program that contains a tail call keeps the thread's own stack
 * (check_max_stack_depth).
 */
static __always_inline void keep_own_stack(void *ctx)
{
#ifndef GPT_OLD_KERNEL
	bpf_tail_call(ctx, &no_program, 0);
#endif
}

/* Written in asm, as the compiler may otherwise undo a bound that the verifier must see in the register used. */
#define BOUND(value, mask) asm volatile("%0 &= %1" : "+r"(value) : "i"(mask))

/* The verifier forgets the bounds of what the compiler keeps on the stack: has the next comparison made again. */
#define SPILLED(value) asm volatile("" : "+r"(value))

static __always_inline void count_one(__u32 which)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);

	/* Atomic although per CPU: one uprobe program can preempt another (Linux 6.0 and later). */
	if (counter)
		__sync_fetch_and_add(counter, 1);
}

#define RING_AVAIL_DATA 0 /* BPF_RB_AVAIL_DATA, BPF_RB_RING_SIZE: include/uapi/linux/bpf.h */
#define RING_SIZE 1

/*
 * What users send in a trace of several users' processes, while the ring buffer is more than a quarter full. Only a few
 * send so much at a time.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_RING_USERS);
	__type(key, __u32); /* uid, in the initial user namespace */
	__type(value, struct gpt_ring_user);
} ring_users SEC(".maps") __attribute__((weak));

/*
 * Whether there is room in the ring buffer for a record of the calling process: no user of the machine gets more of it
 * than is left for the others, so that what one sends costs the others nothing. What was sent in earlier passes of the
 * collector over the ring is gone or about to go, and does not count. Starts, ends and mappings of processes do not ask
 * (lifecycle.bpf.c). A global function, which the verifier checks once.
 */
__weak __noinline int ring_admits(__u64 bytes)
{
	struct gpt_ring_user fresh = {}, *user;
	__u64 size, fill;
	__u32 uid;

	if (!config.finds_newcomers)
		return 1;
	size = bpf_ringbuf_query(&ring, RING_SIZE);
	fill = bpf_ringbuf_query(&ring, RING_AVAIL_DATA);
	if (likely(fill <= size / 4))
		return 1;
	uid = bpf_get_current_uid_gid();
	user = bpf_map_lookup_elem(&ring_users, &uid);
	if (!user) {
		bpf_map_update_elem(&ring_users, &uid, &fresh, BPF_ANY);
		user = bpf_map_lookup_elem(&ring_users, &uid);
		if (!user)
			return 1;
	}
	if (user->pass != ring_pass) {
		user->pass = ring_pass;
		user->bytes = 0;
	}
	if (fill < size && user->bytes + bytes < size - fill) {
		__sync_fetch_and_add(&user->bytes, bytes);
		return 1;
	}
	__sync_fetch_and_add(&user->refused, 1);
	return 0;
}

#define RING_RESERVE(bytes) (ring_admits(bytes) ? bpf_ringbuf_reserve(&ring, bytes, 0) : 0)
#define RING_OUTPUT(record, bytes, flags) (ring_admits(bytes) ? bpf_ringbuf_output(&ring, record, bytes, flags) : -1)

static __always_inline bool detail_is_off(__u32 which)
{
	return *(const volatile __u32 *)&detail.level > which;
}

/*
 * Whether only that is free of the ring buffer which is left to launches and the records of GPUs: asked before a detail
 * is sent. Not in a trace of several users' processes: each has a part (ring_admits), and one's flood
 * takes no detail from others. A global function, which the verifier checks once.
 */
__weak __noinline int ring_is_short(void)
{
	__u64 size = bpf_ringbuf_query(&ring, RING_SIZE);

	if (config.finds_newcomers ||
	    likely(bpf_ringbuf_query(&ring, RING_AVAIL_DATA) <= size - gpt_detail_ring_rest(size)))
		return 0;
	if (!detail.refused_ns)
		detail.refused_ns = bpf_ktime_get_ns();
	return 1;
}

/* Start time of the task's process as in /proc/PID/stat: in ticks of USER_HZ, 100 a second on every x86. */
static __always_inline __u64 task_start_ticks(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime) / 10000000;
}

/* Adds a process whose start was not seen; attach/ will examine its Python. */
static __noinline struct gpt_process_state *process_take_up(__u32 pid)
{
	struct gpt_process_state fresh = {};

	fresh.python_state = GPT_STACK_UNKNOWN_LAYOUT;
	fresh.start_ticks = task_start_ticks((struct task_struct *)bpf_get_current_task());
	fresh.program = fresh.generation = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&processes, &pid, &fresh, BPF_NOEXIST))
		count_one(GPT_COUNTER_PROCESSES_FULL);
	return bpf_map_lookup_elem(&processes, &pid);
}

/* Returns the state of the calling process, NULL if it is not traced. With trace_all every process is. */
static __always_inline struct gpt_process_state *traced_process(__u32 pid)
{
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);

	if (likely(process))
		return process;
	if (!config.trace_all) {
		count_one(GPT_COUNTER_UNTRACED);
		return 0;
	}
	return process_take_up(pid);
}

#endif /* GPT_USER_SPACE */
