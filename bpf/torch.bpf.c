/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PyTorch's autograd engine runs the backward pass on threads of its own, which have no Python frames. The graph task
 * ties their work to the program: the thread that called backward() passes it to the engine, and every node is
 * evaluated for one graph task. A node's thread inherits the Python stack of the call for which it works.
 */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "python.bpf.h"
#include "site.bpf.h"
#include "thread.bpf.h"
#include "torch.bpf.h"

struct graph_task_key {
	__u64 task; /* address of the torch::autograd::GraphTask */
	__u64 program;
	__u32 pid;
	__u32 pad;
};

struct graph_task {
	__u64 stack_id; /* gpt_pystack.id of the caller */
	__u32 tid;	/* the caller's thread */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct graph_task_key);
	__type(value, struct graph_task);
} graph_tasks SEC(".maps");

/* Reads the key from a std::shared_ptr passed by reference: its first word is the object. */
static __always_inline bool read_key(struct graph_task_key *key, const struct gpt_process_state *process, __u32 pid,
				     __u64 shared_pointer)
{
	key->program = process->program;
	key->pid = pid;
	key->pad = 0;
	return !bpf_probe_read_user(&key->task, 8, (void *)shared_pointer) && key->task;
}

/*
 * Engine::execute_with_graph_task(const std::shared_ptr<GraphTask>&, ...) on the thread that called backward():
 * the result is returned in memory, so this is the second argument and the task the third.
 */
COUNTED_PROGRAM("uprobe.later", backward_begin)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct graph_task caller = {.tid = tid};
	struct gpt_thread_state *thread = 0;
	struct walk_slot *slot = 0;
	struct graph_task_key key;
	long state;

	if (!process || !read_key(&key, process, pid, PT_REGS_PARM3(ctx)))
		return GPT_PART_IDLE;
	if (process->python_state == GPT_STACK_OK) {
		thread = thread_get(process, tid, pid);
		slot = thread ? slot_acquire(pid) : 0;
	}
	if (slot) {
		state = python_stack(process, thread, slot, PT_REGS_SP(ctx), &caller.stack_id);
		slot_release(slot);
		/* backward() called in a backward pass: both work for the line that called the first. */
		if (!caller.stack_id)
			caller.stack_id = backward_stack(thread, PT_REGS_SP(ctx), state);
	} else {
		keep_own_stack(ctx);
	}
	if (caller.stack_id)
		bpf_map_update_elem(&graph_tasks, &key, &caller, BPF_ANY);
	else
		bpf_map_delete_elem(&graph_tasks, &key); /* another task may have had this address */
	return GPT_PART_BACKWARD;
}

/*
 * A node begins on a thread that works for another: it inherits that thread's stack until it returns. On the thread
 * that called backward() nothing is inherited: its own frames are below, or the enclosing node, which passes its stack
 * on. A node inside another one, as the engine runs them while a node's backward() waits, belongs to the outer one; if
 * the two work for different stacks, neither has one until the outer one ends.
 */
static __always_inline void node_begins(struct gpt_thread_state *thread, const struct graph_task *task, __u32 tid,
					__u64 sp)
{
	__u64 id = task ? task->stack_id : 0, return_address = 0;

	if (task && task->tid == tid)
		return;
	if (backward_lasts(thread, sp)) {
		if (thread->backward_stack != id)
			thread->backward_stack = 0;
		return;
	}
	if (bpf_probe_read_user(&return_address, 8, (void *)sp))
		id = 0;
	thread->backward_stack = id;
	thread->backward_sp = sp;
	thread->backward_return = true_return_address(sp, return_address);
}

/* Engine::evaluate_function(std::shared_ptr<GraphTask>&, Node*, ...) on the thread that runs the node. */
COUNTED_PROGRAM("uprobe", backward_node)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), cookie = 0;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_thread_state *thread;
	struct graph_task_key key;

	if (!process || !site_cookie(ctx, &cookie))
		return GPT_PART_IDLE;
	thread = thread_get(process, tid, pid);
	if (!thread || !read_key(&key, process, pid, PT_REGS_PARM2(ctx))) {
		keep_own_stack(ctx);
		return GPT_PART_BACKWARD;
	}
	node_begins(thread, bpf_map_lookup_elem(&graph_tasks, &key), tid, PT_REGS_SP(ctx) + GPT_COOKIE_SP(cookie));
	return GPT_PART_BACKWARD;
}

char LICENSE[] SEC("license") = "GPL";
