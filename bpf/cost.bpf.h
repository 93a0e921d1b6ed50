/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs take of the threads that run them, by the kernel's clock. The way into a program and out of it is
 * not in that: attach/cost.c measures it with a program that does nothing.
 */
#pragma once

#include "common.bpf.h"

#include <gputrace/costs.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GPT_PART_COUNT + 1);
	__type(key, __u32); /* enum gpt_cost_part */
	__type(value, struct gpt_cost_sum);
} costs SEC(".maps") __attribute__((weak));

/* A run of a program. */
struct run {
	__u64 start_ns;
	struct gpt_thread_state *thread; /* who pays; 0: a thread that is not followed */
};

/*
 * A function of its own, so that its variables are not on the programs' stacks. Adds to a CPU's sums are atomic: one
 * uprobe program can preempt another (Linux 6.0 and later), and a sample interrupts any. Those to a thread's are not: a
 * sample that comes in the middle of one is left out, or a probe.
 */
static __noinline void cost_add(__u32 part, struct gpt_thread_state *thread, __u64 start_ns)
{
	struct gpt_cost_sum *sum = bpf_map_lookup_elem(&costs, &part);
	__u64 ns = bpf_ktime_get_ns() - start_ns;

	if (sum) {
		__sync_fetch_and_add(&sum->runs, 1);
		__sync_fetch_and_add(&sum->ns, ns);
		if (unlikely(ns > GPT_COST_MOST_NS)) {
			__sync_fetch_and_add(&sum->long_runs, 1);
			__sync_fetch_and_add(&sum->long_ns, ns);
		}
	}
	if (!thread)
		return;
	if (unlikely(!thread->paid_from_ns))
		thread->paid_from_ns = start_ns;
	thread->paid_runs++;
	thread->paid_ns += ns;
	if (unlikely(ns > GPT_COST_MOST_NS))
		thread->paid_long_ns += ns;
}

/*
 * A program of which the body follows, with `ctx` and `run`. It returns the part of the cost that this run counts for
 * (enum gpt_cost_part), and says in run->thread who paid.
 */
#define COUNTED_PROGRAM(section, name)                                                                                 \
	static __always_inline __u32 name##_body(struct pt_regs *ctx, struct run *run);                                \
	SEC(section)                                                                                                   \
	int name(struct pt_regs *ctx)                                                                                  \
	{                                                                                                              \
		struct run run = {.start_ns = bpf_ktime_get_ns()};                                                     \
		__u32 part;                                                                                            \
                                                                                                                       \
		part = name##_body(ctx, &run);                                                                         \
		cost_add(part, run.thread, run.start_ns);                                                              \
		return 0;                                                                                              \
	}                                                                                                              \
	static __always_inline __u32 name##_body(struct pt_regs *ctx, struct run *run)
