/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PyTorch's autograd engine runs the backward pass on threads of its own, which have no Python frames.  What ties
 * such work to the program is the graph task: the thread that called backward() hands it to the engine, and every
 * node is evaluated for one.  A node's thread borrows the Python stack of the call it works for.
 */
#include "common.bpf.h"
#include "python.bpf.h"
#include "thread.bpf.h"

struct graph_task_key {
	__u64 task; /* address of the torch::autograd::GraphTask */
	__u32 pid;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct graph_task_key);
	__type(value, __u64); /* gpt_pystack.id of the caller */
} graph_tasks SEC(".maps");

/* A std::shared_ptr by reference: its first word is the object. */
static __always_inline bool read_key(struct graph_task_key *key, __u32 pid, __u64 shared_pointer)
{
	key->pid = pid;
	key->pad = 0;
	return !bpf_probe_read_user(&key->task, 8, (void *)shared_pointer) && key->task;
}

/*
 * Engine::execute_with_graph_task(const std::shared_ptr<GraphTask>&, ...) on the thread that called backward():
 * the result is returned in memory, so this is the second argument and the task the third.
 */
SEC("uprobe")
int backward_begin(struct pt_regs *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), id = 0;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_thread_state *thread;
	struct graph_task_key key;
	struct walk_slot *slot;

	if (!process || process->python_state != GPT_STACK_OK || !read_key(&key, pid, PT_REGS_PARM3(ctx)))
		return 0;
	thread = thread_get(tid, pid);
	slot = slot_acquire(pid);
	if (!slot) {
		keep_own_stack(ctx);
		return 0;
	}
	/* backward() called in a backward pass: both work for the line that called the first. */
	if (thread && python_stack(process, thread, slot, PT_REGS_SP(ctx), &id) != GPT_STACK_OK &&
	    PT_REGS_SP(ctx) < thread->backward_sp)
		id = thread->backward_stack;
	slot_release(slot);
	if (id)
		bpf_map_update_elem(&graph_tasks, &key, &id, BPF_ANY);
	else
		bpf_map_delete_elem(&graph_tasks, &key); /* the address may have meant another task */
	return 0;
}

/* Engine::evaluate_function(std::shared_ptr<GraphTask>&, Node*, ...) on the thread that runs the node. */
SEC("uprobe")
int backward_node(struct pt_regs *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), *id;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_thread_state *thread;
	struct graph_task_key key;

	if (!traced_process(pid) || !read_key(&key, pid, PT_REGS_PARM2(ctx)))
		return 0;
	thread = thread_get(tid, pid);
	if (!thread) {
		keep_own_stack(ctx);
		return 0;
	}
	id = bpf_map_lookup_elem(&graph_tasks, &key);
	thread->backward_stack = id ? *id : 0;
	thread->backward_sp = PT_REGS_SP(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
