/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starts, execs and ends of processes, and mappings of libraries. Uses raw tracepoints and one syscall tracepoint, as
 * kprobes and fentry are not always available.
 */
#include "common.bpf.h"

#define PROT_EXEC 4
#define BPF_F_CURRENT_CPU 0xffffffffULL

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_FILES * 8);
	__type(key, struct gpt_file_key);
	__type(value, __u8);
} known_files SEC(".maps"); /* their probes are in place, or they need none */

/* Read by a thread of gputrace on each CPU (attach/stopper.c). */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} stop_requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, struct gpt_mapped_rate);
} mapped_rates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpt_paid_most);
} paid_most SEC(".maps");

static __always_inline void send_event(__u16 type, __u32 pid, __u32 other, struct task_struct *task)
{
	struct gpt_process_event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event) {
		count_one(GPT_COUNTER_OTHER_LOST);
		return;
	}
	record_begin(&event->hdr, sizeof(*event), type);
	event->time_ns = bpf_ktime_get_ns();
	event->pid = pid;
	event->other_pid = other;
	bpf_core_read(event->comm, sizeof(event->comm), &task->comm);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}

/*
 * Removes leftovers of an earlier process with this pid, whose end was not seen: a kernel may skip a program while it
 * runs on the same CPU (bpf_prog_info.recursion_misses).
 */
static __always_inline void process_forget(__u32 pid)
{
	bpf_map_delete_elem(&agents, &pid);
	bpf_map_delete_elem(&agent_texts, &pid);
	bpf_map_delete_elem(&processes, &pid);
}

/* A thread ends, or its program does: keeps what it paid if that is the most. */
static __always_inline void thread_forget(__u32 tid)
{
	struct gpt_thread_state *thread = bpf_map_lookup_elem(&threads, &tid);
	struct gpt_paid_most *most;
	__u32 only = 0;

	if (!thread)
		return;
	most = bpf_map_lookup_elem(&paid_most, &only);
	if (most && thread->paid_ns > most->ns) {
		most->pid = thread->pid;
		most->tid = tid;
		most->from_ns = thread->paid_from_ns;
		most->until_ns = bpf_ktime_get_ns();
		most->runs = thread->paid_runs;
		most->ns = thread->paid_ns;
		most->long_ns = thread->paid_long_ns;
	}
	bpf_map_delete_elem(&threads, &tid);
}

/* (parent, child): the child of a traced process is traced from its first instruction on. */
SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0], *child = (struct task_struct *)ctx->args[1];
	__u32 parent_pid = BPF_CORE_READ(parent, tgid), child_pid = BPF_CORE_READ(child, tgid);
	struct gpt_process_state *state;

	if (parent_pid == child_pid)
		return 0;
	state = bpf_map_lookup_elem(&processes, &parent_pid);
	if (!state) {
		process_forget(child_pid);
		return 0;
	}
	bpf_map_delete_elem(&agents, &child_pid);
	bpf_map_delete_elem(&agent_texts, &child_pid);
	if (bpf_map_update_elem(&processes, &child_pid, state, BPF_ANY))
		count_one(GPT_COUNTER_PROCESSES_FULL);
	state = bpf_map_lookup_elem(&processes, &child_pid);
	if (!state)
		return 0;
	state->start_ticks = task_start_ticks(child);
	state->called = 0;
	state->module_generation = 0; /* the code is the parent's, the modules are counted from 0 again */
	state->program = state->generation = bpf_ktime_get_ns();
	send_event(GPT_FORK, child_pid, parent_pid, child);
	return 0;
}

/* (task, old pid, bprm): the process executes another program. */
SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid), old_tid = ctx->args[1];
	struct gpt_process_state *state = bpf_map_lookup_elem(&processes, &pid);

	if (!state) {
		if (!config.trace_all)
			return 0;
	} else {
		bpf_map_delete_elem(&agents, &pid);
		bpf_map_delete_elem(&agent_texts, &pid);
		state->python_state = GPT_STACK_UNKNOWN_LAYOUT;
		state->several = 0;
		state->called = 0;
		state->shim_code = state->module_code = 0;
		state->module_generation = 0;
		state->program = state->generation = bpf_ktime_get_ns();
		thread_forget(pid);
		thread_forget(old_tid);
	}
	send_event(GPT_EXEC, pid, 0, task);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);

	thread_forget(tid);
	if (config.off_cpu_min_ns)
		bpf_map_delete_elem(&off_cpu, &tid);
	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	if (!bpf_map_lookup_elem(&processes, &pid))
		return 0;
	process_forget(pid);
	send_event(GPT_EXIT, pid, BPF_CORE_READ(task, exit_code) & 0x7f, task); /* as wait(2) has it */
	return 0;
}

/* Files with these names need their probes before they are used; all others are examined soon after. */
static __always_inline bool name_of_interest(const char *name)
{
	if (name[0] != 'l' || name[1] != 'i' || name[2] != 'b')
		return false;
	return (name[3] == 'c' && name[4] == 'u') ||		       /* libcuda, libcudart, libcupti, ... */
	       (name[3] == 'n' && name[4] == 'c' && name[5] == 'c') || /* libnccl */
	       (name[3] == 'p' && name[4] == 'y' && name[5] == 't') || /* libpython */
	       (name[3] == 'g' && name[4] == 'p' && name[5] == 'u') || /* libgputrace-agent */
	       (name[3] == 't' && name[4] == 'o' && name[5] == 'r' && name[6] == 'c'); /* libtorch */
}

/* Files with CUDA calls, and some of their neighbours: calls made from now on need stacks. */
static __always_inline bool name_of_calls(const char *name)
{
	return name[3] == 'c' && name[4] == 'u' && name[5] == 'd';
}

static __always_inline struct file *file_of_descriptor(int fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = 0;

	if (fd < 0 || (__u32)fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/*
 * Counts the mappings of a process in the current window, including this one. A process may map as often as it likes,
 * and would fill the ring.
 */
static __always_inline __u64 count_mapped(__u32 pid)
{
	struct gpt_mapped_rate *rate = bpf_map_lookup_elem(&mapped_rates, &pid), fresh = {};
	__u64 now_ns = bpf_ktime_get_ns();

	if (rate && now_ns - rate->since_ns < GPT_MAPPED_WINDOW_NS)
		return ++rate->count; /* two threads at once may get the same number: one more record is sent */
	fresh.since_ns = now_ns;
	fresh.count = 1;
	bpf_map_update_elem(&mapped_rates, &pid, &fresh, BPF_ANY);
	return 1;
}

/* Linux/x86: mmap(addr, length, prot, flags, fd, offset) */
SEC("tracepoint/syscalls/sys_enter_mmap")
int library_mapped(struct trace_event_raw_sys_enter *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tid >> 32;
	struct gpt_process_state *process;
	struct gpt_file_key key = {};
	struct gpt_mapped *event;
	struct gpt_stop_request request = {};
	struct dentry *dentry;
	struct file *file;
	__u64 count;
	char name[64];
	bool stops, probed, other = false;

	if (!(BPF_CORE_READ(ctx, args[2]) & PROT_EXEC))
		return 0;
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process && !config.finds_newcomers)
		return 0;
	file = file_of_descriptor(BPF_CORE_READ(ctx, args[4]));
	dentry = BPF_CORE_READ(file, f_path.dentry);
	if (!dentry || bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(dentry, d_name.name)) <= 0)
		return 0;
	if (!process && !config.trace_all && !(name_of_interest(name) && name_of_calls(name)))
		return 0;
	if (!name_of_interest(name)) {
		other = true;
		if (!process || bpf_ktime_get_ns() - process->mapped_ns < GPT_MAPPED_OTHER_NS)
			return 0;
		process->mapped_ns = bpf_ktime_get_ns();
	}
	key.inode = BPF_CORE_READ(dentry, d_inode, i_ino);
	key.device = BPF_CORE_READ(dentry, d_inode, i_sb, s_dev);
	probed = bpf_map_lookup_elem(&known_files, &key);
	stops = !other && config.stop_at_new_files && process && process->ours &&
		(!probed || (name_of_calls(name) && process->python_state != GPT_STACK_OK));
	count = stops || other ? 0 : count_mapped(pid);
	if (count > GPT_MAPPED_MOST)
		return 0;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		count_one(GPT_COUNTER_OTHER_LOST);
		return 0;
	}
	record_begin(&event->hdr, sizeof(*event), GPT_MAPPED);
	if (count == GPT_MAPPED_MOST)
		event->hdr.flags = GPT_MAPPED_MORE;
	event->time_ns = bpf_ktime_get_ns();
	event->pid = pid;
	event->tid = pid_tid;
	__builtin_memcpy(event->name, name, sizeof(name));
	request.time_ns = event->time_ns;
	request.pid = pid;
	request.tid = pid_tid;
	request.fd = BPF_CORE_READ(ctx, args[4]);
	request.offset = BPF_CORE_READ(ctx, args[5]);
	if (other)
		event->hdr.flags = GPT_MAPPED_OTHER;
	if (stops)
		event->hdr.flags = probed ? GPT_MAPPED_STOPPED | GPT_MAPPED_PROBED : GPT_MAPPED_STOPPED;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	/*
	 * Wakes a thread of gputrace on this very CPU, which has priority over all others: it runs before this thread
	 * returns from the call, and stops it there. Not one instruction of the library has run by then.
	 */
	if (stops)
		bpf_perf_event_output(ctx, &stop_requests, BPF_F_CURRENT_CPU, &request, sizeof(request));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
