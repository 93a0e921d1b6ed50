/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread enters a CUDA call. The probes are on the public symbols of libcudart and libcuda (call_symbol) or, where
 * the agent is loaded, on the function that its CUPTI callback calls (call_agent). This is the hot path:
 * docs/design/bpf.md says what each step costs.
 */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "native.bpf.h"
#include "nccl_launch.bpf.h"
#include "python.bpf.h"
#include "site.bpf.h"
#include "thread.bpf.h"
#include "torch.bpf.h"

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPT_MAX_FILES);
	__type(key, __u32);
	__type(value, struct gpt_file_state);
} files SEC(".maps");

/* The stack at a function's entry: return address, then the arguments that did not fit into registers. */
struct entry_stack {
	__u64 return_address;
	__u64 argument[3];
};

/* The stack fields of gpt_call. */
struct call_stacks {
	__u64 stack_id, native_id;
	__u8 state;
};

/*
 * The state of a thread that calls CUDA. By the record of a thread user space learns of the first call of a process
 * (notice_thread in attach/notice.c). A sample or a wait may have announced the thread before: it is announced again.
 */
static __always_inline struct gpt_thread_state *calling_thread(struct gpt_process_state *process, __u32 tid, __u32 pid)
{
	struct gpt_thread_state *thread;

	if (unlikely(!process->called)) {
		process->called = 1;
		thread = bpf_map_lookup_elem(&threads, &tid);
		if (thread && thread->program == process->program)
			thread_announce(thread, tid);
	}
	return thread_get(process, tid, pid);
}

/* Fills the stacks of a call; acquires and releases the slot. */
static __always_inline void call_stacks(void *ctx, struct gpt_process_state *process, struct gpt_thread_state *thread,
					__u64 sp, struct call_stacks *stacks)
{
	struct walk_slot *slot;
	__u64 id = 0;

	stacks->stack_id = 0;
	stacks->native_id = 0;
	stacks->state = process->python_state;
	if (process->python_state != GPT_STACK_OK && !config.native)
		return;
	if (unlikely(detail_is_off(GPT_DETAIL_STACKS))) {
		if (stacks->state == GPT_STACK_OK)
			stacks->state = GPT_STACK_LOWERED;
		return;
	}
	slot = slot_acquire(thread->pid);
	if (unlikely(!slot)) {
		stacks->state = GPT_STACK_LOST;
		count_one(GPT_COUNTER_STACKS_LOST);
		return;
	}
	stacks->state = python_stack(process, thread, slot, sp, &id);
	if (!id) {
		id = backward_stack(thread, sp, stacks->state);
		if (id)
			stacks->state = GPT_STACK_BACKWARD;
	}
	stacks->stack_id = id;
	if (config.native)
		stacks->native_id = native_stack(ctx, process, slot, sp);
	slot_release(slot);
}

/*
 * True if the thread is still inside the call that its last symbol probe saw, and this entry was called from that
 * library: a driver call that a runtime call makes on its own behalf.
 */
static __always_inline bool nested_in_open_call(const struct gpt_thread_state *thread, __u64 sp, __u64 return_address)
{
	struct gpt_file_state *file;
	__u32 index = thread->open_file;

	if (sp >= thread->open_sp)
		return false;
	file = bpf_map_lookup_elem(&files, &index);
	if (!file || return_address - thread->open_text >= file->text_bytes)
		return false;
	return call_lasts(sp, thread->open_sp, thread->open_return);
}

static __always_inline void read_launch_config(struct gpt_call_args *out, __u64 config_address)
{
	/* cudaLaunchConfig_t: grid@0 block@12 shared@24:8 stream@32; CUlaunchConfig: the same, shared@24:4 */
	struct {
		__u32 grid[3], block[3];
		__u32 shared, shared_high;
		__u64 stream;
	} c;

	if (bpf_probe_read_user(&c, sizeof(c), (void *)config_address))
		return;
	__builtin_memcpy(out->grid, c.grid, sizeof(out->grid));
	__builtin_memcpy(out->block, c.block, sizeof(out->block));
	out->shared_bytes = c.shared;
	out->stream = c.stream;
}

static __always_inline void read_arguments(struct pt_regs *ctx, __u32 layout, const struct entry_stack *stack,
					   struct gpt_call_args *out)
{
	__u64 a1 = PT_REGS_PARM1(ctx), a2 = PT_REGS_PARM2(ctx), a3 = PT_REGS_PARM3(ctx), a4 = PT_REGS_PARM4(ctx),
	      a5 = PT_REGS_PARM5(ctx), a6 = ctx->r9;

	out->function = out->stream = out->bytes = 0;
	out->grid[0] = out->grid[1] = out->grid[2] = 0;
	out->block[0] = out->block[1] = out->block[2] = 0;
	out->shared_bytes = 0;
	out->memcpy_kind = ~0u;
	switch (layout) {
	case GPT_ARGS_RT_LAUNCH:
		/* dim3 travels as x | y << 32 in one register and z in the next */
		out->function = a1;
		out->grid[0] = a2, out->grid[1] = a2 >> 32, out->grid[2] = a3;
		out->block[0] = a4, out->block[1] = a4 >> 32, out->block[2] = a5;
		out->shared_bytes = stack->argument[0];
		out->stream = stack->argument[1];
		break;
	case GPT_ARGS_DRV_LAUNCH:
		out->function = a1;
		out->grid[0] = a2, out->grid[1] = a3, out->grid[2] = a4;
		out->block[0] = a5, out->block[1] = a6, out->block[2] = stack->argument[0];
		out->shared_bytes = stack->argument[1];
		out->stream = stack->argument[2];
		break;
	case GPT_ARGS_RT_LAUNCH_EX:
	case GPT_ARGS_DRV_LAUNCH_EX:
		out->function = a2;
		read_launch_config(out, a1);
		break;
	case GPT_ARGS_RT_MEMCPY:
		out->bytes = a3;
		out->memcpy_kind = a4;
		out->stream = a5;
		break;
	case GPT_ARGS_RT_MEMCPY_2D:
		out->bytes = a5 * a6;
		out->memcpy_kind = stack->argument[0];
		out->stream = stack->argument[1];
		break;
	case GPT_ARGS_RT_MEMSET:
	case GPT_ARGS_SIZE_3RD:
		out->bytes = a3;
		out->stream = a4;
		break;
	case GPT_ARGS_SIZE_2ND:
		out->bytes = a2;
		break;
	case GPT_ARGS_STREAM_1ST:
		out->stream = a1;
		break;
	case GPT_ARGS_STREAM_2ND:
		out->function = a1;
		out->stream = a2;
		break;
	}
}

/* True if the agent's CUPTI callback reports this process's calls, so that symbol probes must not. */
static __always_inline bool agent_reports_calls(__u32 pid)
{
	__u8 *state = any_agent ? bpf_map_lookup_elem(&agents, &pid) : 0;

	return state && *state != GPT_AGENT_BORROWING;
}

/*
 * The thread makes a call that the agent reports too, while its last call seen by a symbol probe is open. Closes that
 * call, unless this one is made by its library on its behalf.
 */
static __always_inline void end_open_call(struct pt_regs *ctx, struct gpt_thread_state *thread)
{
	__u64 cookie, sp, return_address = 0;

	if (!thread || !thread->open_sp || !site_cookie(ctx, &cookie))
		return;
	sp = PT_REGS_SP(ctx) + GPT_COOKIE_SP(cookie);
	bpf_probe_read_user(&return_address, sizeof(return_address), (void *)sp);
	if (!nested_in_open_call(thread, sp, true_return_address(sp, return_address)))
		thread->open_sp = 0;
}

/* Whether a symbol probe would have seen a newer call of the thread than its open one. */
static __always_inline bool symbols_are_probed(const struct gpt_thread_state *thread)
{
	__u32 index = thread->open_file;
	struct gpt_file_state *file = bpf_map_lookup_elem(&files, &index);

	return file && !file->leaves;
}

COUNTED_PROGRAM("uprobe", call_symbol)
{
	__u64 now = run->start_ns, pid_tid = bpf_get_current_pid_tgid(), cookie;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_thread_state *thread;
	struct entry_stack stack = {};
	struct gpt_call_args *record;
	struct call_stacks stacks;

	if (!process)
		return GPT_PART_IDLE;
	if (agent_reports_calls(pid)) {
		run->thread = bpf_map_lookup_elem(&threads, &tid);
		end_open_call(ctx, run->thread);
		return GPT_PART_NESTED;
	}
	thread = calling_thread(process, tid, pid);
	run->thread = thread;
	if (unlikely(!thread || !site_cookie(ctx, &cookie))) {
		count_one(GPT_COUNTER_CALLS_LOST);
		keep_own_stack(ctx);
		return GPT_PART_CALLS;
	}
	__u64 sp = PT_REGS_SP(ctx) + GPT_COOKIE_SP(cookie);

	bpf_probe_read_user(&stack, sizeof(stack), (void *)sp);
	stack.return_address = true_return_address(sp, stack.return_address);
	if (nested_in_open_call(thread, sp, stack.return_address)) {
		count_one(GPT_COUNTER_NESTED);
		return GPT_PART_NESTED;
	}
	thread->open_sp = sp;
	thread->open_return = stack.return_address;
	thread->open_reported = 0;
	thread->open_ns = now;
	thread->open_file = GPT_COOKIE_FILE(cookie);
	thread->open_text = PT_REGS_IP(ctx) - GPT_COOKIE_DISTANCE(cookie); /* found by the probe's own address */

	call_stacks(ctx, process, thread, sp, &stacks);
	if (unlikely(thread->nccl_sp))
		nccl_launch(thread, sp, now, GPT_COOKIE_API(cookie),
			    nccl_stream_at_entry(ctx, GPT_COOKIE_ARGS(cookie), stack.argument));
	record = RING_RESERVE(sizeof(*record));
	if (unlikely(!record)) {
		count_one(GPT_COUNTER_CALLS_LOST);
		thread->lost++;
		return GPT_PART_CALLS;
	}
	read_arguments(ctx, GPT_COOKIE_ARGS(cookie), &stack, record);
	record_begin(&record->call.hdr, sizeof(*record), GPT_CALL_ARGS);
	if (unlikely(thread->lost)) {
		record->call.hdr.flags = GPT_CALL_AFTER_LOSS;
		thread->lost = 0;
	}
	record->call.time_ns = now;
	record->call.pid = pid;
	record->call.tid = tid;
	record->call.stack_id = stacks.stack_id;
	record->call.native_id = stacks.native_id;
	record->call.corr = 0;
	record->call.api = GPT_COOKIE_API(cookie);
	record->call.origin = GPT_ORIGIN_SYMBOL;
	record->call.stack_state = stacks.state;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return GPT_PART_CALLS;
}

/* gputrace_agent_call(corr, api, params), agent.h */
COUNTED_PROGRAM("uprobe.later", call_agent)
{
	__u64 now = run->start_ns, pid_tid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_thread_state *thread;
	struct call_stacks stacks;
	struct gpt_call *record;
	__u64 begin = now;
	__u16 flags = 0;

	if (!process)
		return GPT_PART_IDLE;
	thread = calling_thread(process, tid, pid);
	run->thread = thread;
	if (unlikely(!thread)) {
		count_one(GPT_COUNTER_CALLS_LOST);
		keep_own_stack(ctx);
		return GPT_PART_AGENT_CALLS;
	}
	if (unlikely(thread->open_sp)) {
		/*
		 * The agent came during this very call: its symbol probe has reported it already. The call stays open:
		 * until the agent announces that it reports the calls, symbol probes see the calls nested in it.
		 */
		if (!thread->open_reported && call_lasts(PT_REGS_SP(ctx), thread->open_sp, thread->open_return)) {
			flags = GPT_CALL_NESTED_IN_SYMBOL;
			thread->open_reported = 1;
			if (symbols_are_probed(thread)) {
				flags |= GPT_CALL_SURELY_NESTED;
				begin = thread->open_ns;
			}
		} else {
			thread->open_sp = 0;
		}
	}
	call_stacks(ctx, process, thread, PT_REGS_SP(ctx), &stacks);
	if (unlikely(thread->nccl_sp))
		nccl_launch(thread, PT_REGS_SP(ctx), now, PT_REGS_PARM2(ctx),
			    nccl_stream_of(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx)));
	record = RING_RESERVE(sizeof(*record));
	if (unlikely(!record)) {
		count_one(GPT_COUNTER_CALLS_LOST);
		return GPT_PART_AGENT_CALLS;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_CALL);
	record->hdr.flags = flags;
	record->time_ns = begin;
	record->pid = pid;
	record->tid = tid;
	record->stack_id = stacks.stack_id;
	record->native_id = stacks.native_id;
	record->corr = PT_REGS_PARM1(ctx);
	record->api = PT_REGS_PARM2(ctx);
	record->origin = GPT_ORIGIN_AGENT;
	record->stack_state = stacks.state;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return GPT_PART_AGENT_CALLS;
}

/* Measures the way into a program and out of it: what it takes less what its own clock sees (attach/cost.c). */
COUNTED_PROGRAM("uprobe", calibrate)
{
	if (unlikely(!run->start_ns))
		keep_own_stack(ctx);
	return GPT_PART_CALIBRATION;
}

/* The lower bound for benchmarks: a probe that does nothing. */
SEC("uprobe")
int empty(struct pt_regs *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
