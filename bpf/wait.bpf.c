/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits of threads: which thread leaves a CPU, the reason, which thread wakes it, and when it runs again. Both programs
 * run for every switch and every wake-up of the machine; for a thread that is not followed they make one or two
 * look-ups. They are of the type that reads tasks without a helper (tp_btf). A kernel may leave out reports of
 * switches: a thread that leaves its CPU without having entered it has its wait ended then.
 */
#include "common.bpf.h"
#include "here.bpf.h"

#define TASK_UNINTERRUPTIBLE 2 /* include/linux/sched.h */
#define TASK_STOPPED_OR_TRACED (4 | 8)

#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFSOCK 0140000
#define ANON_INODE_FS_MAGIC 0x09041934 /* include/uapi/linux/magic.h: eventfd, timerfd and their like */

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static __always_inline struct file *file_of(__u64 descriptor)
{
	struct task_struct *task = current_task();
	struct files_struct *open_files = READ(task, files);
	struct fdtable *table = READ(open_files, fdt);
	struct file **files = READ(table, fd), *file = 0;

	if (descriptor >= READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), files + descriptor);
	return file;
}

/* The reason by the type of the descriptor's file. */
static __noinline __u32 reason_of_descriptor(__u64 descriptor)
{
	struct inode *inode = BPF_CORE_READ(file_of(descriptor), f_inode);
	__u32 kind = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	if (kind == S_IFIFO)
		return GPT_WAIT_PIPE;
	if (kind == S_IFSOCK)
		return GPT_WAIT_SOCKET;
	return BPF_CORE_READ(inode, i_sb, s_magic) == ANON_INODE_FS_MAGIC ? GPT_WAIT_EVENT : GPT_WAIT_FILE;
}

/*
 * Numbers from arch/x86/entry/syscalls/syscall_64.tbl. Sets *arg to the first argument if it is a descriptor or an
 * address. *arg 0 may be standard input; it is never a futex.
 */
static __always_inline __u32 reason_of_call(struct pt_regs *registers, int call, __u64 *arg)
{
	__u64 first = READ(registers, di);

	switch (call) {
	case 202: /* futex */
	case 449: /* futex_waitv */
	case 455: /* futex_wait */
		*arg = first;
		return GPT_WAIT_FUTEX;
	case 0:	  /* read */
	case 1:	  /* write */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 40:  /* sendfile, which writes */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 275: /* splice */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
		*arg = first;
		return reason_of_descriptor(first);
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 288: /* accept4 */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
		*arg = first;
		return GPT_WAIT_SOCKET;
	case 232: /* epoll_wait */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		*arg = first;
		return GPT_WAIT_POLL;
	case 7:	  /* poll */
	case 271: /* ppoll */
		return READ(registers, si) ? GPT_WAIT_POLL : GPT_WAIT_SLEEP;
	case 23:  /* select: without descriptors it is CPython's time.sleep() before 3.11 */
	case 270: /* pselect6 */
		return first ? GPT_WAIT_POLL : GPT_WAIT_SLEEP;
	case 35:  /* nanosleep */
	case 230: /* clock_nanosleep */
		return GPT_WAIT_SLEEP;
	case 61:  /* wait4 */
	case 247: /* waitid */
		return GPT_WAIT_CHILD;
	case 16: /* ioctl */
		*arg = first;
		return GPT_WAIT_IOCTL;
	default:
		return GPT_WAIT_OTHER;
	}
}

static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___throttled *newer = (void *)task;
	struct cfs_rq *queue = 0;

	if (bpf_core_field_exists(newer->throttled))
		return newer->throttled;
	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->throttle_count))
		return false;
	return task->se.cfs_rq->throttle_count > 0;
}

static __always_inline __u64 state_of(struct task_struct *task)
{
	struct task_struct___state *older = (void *)task;

	if (bpf_core_field_exists(older->state))
		return older->state;
	return task->__state;
}

/*
 * Whether the address is the mutex or the condition in the main interpreter's struct _gil_runtime_state. If that did
 * not exist yet when the Python was examined, any address in _PyRuntime counts: of what CPython up to 3.14 keeps there,
 * it waits only for the GIL by a futex; its other locks are on the heap or on stacks.
 */
static __always_inline bool is_gil(const struct gpt_process_state *process, __u64 address)
{
	const struct gpt_python *python = &process->python;

	if (process->python_state != GPT_STACK_OK)
		return false;
	return python->gil ? address - python->gil < python->layout.gil_end
			   : address - python->runtime < python->runtime_bytes;
}

/*
 * The thread that holds the GIL now, from locked, last_holder and the thread id that the holder itself stored there
 * (3.11 and later). 0: unknown, for instance if ids are of another pid namespace.
 */
static __always_inline __u32 gil_holder(const struct gpt_process_state *process, struct task_struct *task)
{
	const struct gpt_pylayout *layout = &process->python.layout;
	__u64 gil = process->python.gil, state = 0;
	__u32 locked = 0, tid = 0;

	if (!gil || layout->ts_native_thread_id == GPT_PY_ABSENT || task->thread_pid->level)
		return 0;
	if (bpf_probe_read_user(&locked, 4, (void *)(gil + layout->gil_locked)) || locked != 1 ||
	    bpf_probe_read_user(&state, 8, (void *)(gil + layout->gil_holder)) || !state ||
	    bpf_probe_read_user(&tid, 4, (void *)(state + layout->ts_native_thread_id)))
		return 0;
	return tid;
}

/* Fills in the reason. Sets time_ns last: from then on a waker reads the entry. */
static __always_inline void explain_wait(struct gpt_wait *wait, const struct gpt_process_state *process,
					 struct task_struct *task, bool preempted, __u64 now)
{
	struct pt_regs *registers = here_registers();
	__u64 state = preempted ? 0 : state_of(task), arg = 0;
	int call = (int)READ(registers, orig_ax); /* -1: entered by an interrupt or a fault */
	__u32 reason;

	if (call < -1)
		call = -1;
	if (!state) {
		reason = is_throttled(task) ? GPT_WAIT_THROTTLED : GPT_WAIT_PREEMPTED;
		if (call == 24 && !preempted && reason == GPT_WAIT_PREEMPTED)
			reason = GPT_WAIT_YIELDED;
	} else if (state & TASK_STOPPED_OR_TRACED) {
		reason = GPT_WAIT_STOPPED;
	} else if (call < 0) {
		reason = GPT_WAIT_PAGE_FAULT;
	} else {
		reason = reason_of_call(registers, call, &arg);
		if (reason == GPT_WAIT_FUTEX && is_gil(process, arg)) {
			reason = GPT_WAIT_GIL;
			wait->holder_tid = gil_holder(process, task);
		}
	}
	wait->woken_ns = state ? 0 : now;
	wait->reason = reason;
	wait->syscall = call;
	wait->arg = arg;
	asm volatile("" ::: "memory");
	wait->time_ns = now;
}

/* ---- leaving and entering a CPU ---------------------------------------------------------------------------------- */

/* The thread's entry, created at its first switch from zeroed memory of a slot. */
static __always_inline struct gpt_off_cpu *off_cpu_of(__u32 tid, struct gpt_thread_state *thread)
{
	struct gpt_off_cpu *off = bpf_map_lookup_elem(&off_cpu, &tid);
	struct walk_slot *slot;

	if (likely(off))
		return off;
	slot = slot_acquire(thread->pid);
	if (!slot)
		return 0;
	__builtin_memset(slot->code, 0, sizeof(struct gpt_off_cpu));
	bpf_map_update_elem(&off_cpu, &tid, slot->code, BPF_ANY);
	slot_release(slot);
	return bpf_map_lookup_elem(&off_cpu, &tid);
}

/* Where the thread left user space; never 0. */
static __always_inline __u64 place_of_wait(void)
{
	struct pt_regs *registers = here_registers();

	return ((READ(registers, ip) * 0x9e3779b97f4a7c15ULL) ^ READ(registers, sp)) * 0xff51afd7ed558ccdULL | 1;
}

static __always_inline __u64 *brief_at(struct gpt_off_cpu *off, __u64 place)
{
	__u64 index = place >> 32;

	BOUND(index, GPT_BRIEF_PLACES - 1);
	return &off->brief[index];
}

/* Notes what the next wait at this place is expected to be. */
static __always_inline void note_brief(struct gpt_off_cpu *off, bool is_brief)
{
	__u64 place = off->place, *known;

	if (!place)
		return;
	known = brief_at(off, place);
	if (is_brief)
		*known = place;
	else if (*known == place)
		*known = 0;
}

/* The stack of a wait that is about to begin; false: lost. */
static __always_inline bool read_waiting(struct gpt_process_state *process, struct gpt_thread_state *thread,
					 struct gpt_off_cpu *off, struct here *here)
{
	off->place = activity.off_cpu_min_ns > config.off_cpu_min_ns ? place_of_wait() : 0;
	if (off->place && *brief_at(off, off->place) == off->place) {
		here->stack_id = here->native_id = 0;
		here->stack_state = GPT_STACK_NOT_RECORDED;
		return true;
	}
	return here_read(process, thread, here);
}

static __always_inline void clear_waker(struct gpt_wait *wait)
{
	wait->waker_stack_id = 0;
	wait->waker_pid = wait->waker_tid = 0;
	wait->waker = GPT_WAKER_NONE;
	wait->waker_stack_state = GPT_STACK_OK;
	__builtin_memset(wait->waker_comm, 0, sizeof(wait->waker_comm));
}

/*
 * Where the end of a wait was not reported, a waker may find it open when the thread has run and is about to wait
 * again. A waker writes at any time: this is for a copy.
 */
static __always_inline void drop_stray_waking(struct gpt_wait *copy)
{
	if (copy->woken_ns >= copy->time_ns && copy->woken_ns <= copy->end_ns)
		return;
	copy->woken_ns = 0;
	clear_waker(copy);
}

/* Whether a wait that ends then is one to record. */
static __always_inline bool is_recorded(const struct gpt_wait *wait, const struct task_struct *task, __u64 end_ns)
{
	return end_ns - wait->time_ns >= activity.off_cpu_min_ns && wait->time_ns >= activity.resumed_ns &&
	       wait->pid == (__u32)task->tgid;
}

static __always_inline void end_wait(struct gpt_off_cpu *off, struct task_struct *task, __u64 end_ns)
{
	struct gpt_wait *wait = &off->wait, *record;

	note_brief(off, end_ns - wait->time_ns < activity.off_cpu_min_ns);
	if (is_recorded(wait, task, end_ns) && !ring_is_short()) {
		wait->end_ns = end_ns;
		record = RING_RESERVE(sizeof(*record));
		if (record) {
			__builtin_memcpy(record, wait, sizeof(*record));
			drop_stray_waking(record);
			bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
		} else {
			count_one(GPT_COUNTER_WAITS_LOST);
		}
	}
	wait->time_ns = 0;
}

/*
 * Since when a thread that leaves its CPU has had it; 0: unknown. The scheduler keeps that by the clock of the CPU's
 * run queue, which it has read some microseconds before it reports the switch: the result is as much too late.
 */
static __always_inline __u64 on_cpu_since(struct task_struct *task, __u64 now)
{
	if (!bpf_core_field_exists(task->sched_info.last_arrival) || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	return now - (task->se.cfs_rq->rq->clock - task->sched_info.last_arrival);
}

/* Ends the wait of a thread that has run since then: the kernel has not reported the switch to it. */
static __always_inline void end_unreported(struct gpt_off_cpu *off, struct task_struct *task, __u64 now)
{
	struct gpt_wait *wait = &off->wait;
	__u64 end_ns = on_cpu_since(task, now);

	if (end_ns < wait->time_ns || end_ns > now) {
		if (is_recorded(wait, task, now))
			count_one(GPT_COUNTER_WAITS_LOST);
		wait->time_ns = 0;
		return;
	}
	end_wait(off, task, end_ns);
}

static __always_inline void leave_cpu(struct task_struct *task, bool preempted, __u64 now)
{
	__u32 pid, tid;
	struct gpt_process_state *process;
	struct gpt_thread_state *thread;
	struct gpt_off_cpu *off;
	struct gpt_wait *wait;
	struct here here;

	if (!task->mm) /* a kernel thread, or one that is exiting */
		return;
	pid = task->tgid;
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process)
		return;
	tid = task->pid;
	thread = thread_get(process, tid, pid);
	if (thread && thread->of_agent)
		return;
	off = thread ? off_cpu_of(tid, thread) : 0;
	if (off && off->wait.time_ns)
		end_unreported(off, task, now);
	if (!off || !read_waiting(process, thread, off, &here)) {
		count_one(GPT_COUNTER_WAITS_LOST);
		return;
	}
	wait = &off->wait;
	record_begin(&wait->hdr, sizeof(*wait), GPT_WAIT);
	wait->stack_id = here.stack_id;
	wait->native_id = here.native_id;
	wait->stack_state = here.stack_state;
	wait->pid = pid;
	wait->tid = tid;
	wait->holder_tid = 0;
	wait->pad = 0;
	clear_waker(wait);
	explain_wait(wait, process, task, preempted, now);
	here_charge(thread, now, GPT_PART_SWITCHES, GPT_COST_SWITCH_NS);
}

static __always_inline void enter_cpu(struct task_struct *task, __u64 now)
{
	struct gpt_off_cpu *off;
	__u32 tid;

	if (!task->mm)
		return;
	tid = task->pid;
	off = bpf_map_lookup_elem(&off_cpu, &tid);
	if (off && off->wait.time_ns)
		end_wait(off, task, now);
}

/* (preempt, previous, next): the current task is still the previous one, with its memory. */
SEC("tp_btf/sched_switch")
int thread_switch(__u64 *ctx)
{
	__u64 now = bpf_ktime_get_ns();

	if (unlikely(detail_is_off(GPT_DETAIL_WAITS)))
		return 0;
	enter_cpu((struct task_struct *)ctx[2], now);
	leave_cpu((struct task_struct *)ctx[1], ctx[0], now);
	return 0;
}

/* ---- wakers ------------------------------------------------------------------------------------------------------ */

/* include/linux/preempt.h: serving a soft interrupt, a hard interrupt, an NMI */
#define INTERRUPTS (0x100 | 0xf0000 | 0xf00000)

/*
 * The interrupts in progress on this CPU, 0: none, -1: unknown. The preempt count is in per-CPU memory, like the run
 * queue, which is reachable from the current task. attach/ gets the distance between both from the kernel's BTF
 * (attach/load/preempt_count.h).
 */
static __always_inline int count_interrupts(void)
{
	struct task_struct *task = current_task();
	struct cfs_rq *group;
	struct rq *queue;
	int count = 0;

	if (!config.preempt_count_from_rq || !bpf_core_field_exists(task->se.cfs_rq))
		return -1;
	group = READ(task, se.cfs_rq);
	queue = READ(group, rq);
	if (!queue || bpf_probe_read_kernel(&count, sizeof(count), (char *)queue + config.preempt_count_from_rq))
		return -1;
	return count & INTERRUPTS;
}

/* Notes the waking thread, with its stack if it is followed and the wait is long enough to be recorded. */
static __always_inline void note_waker(struct gpt_wait *wait, bool is_long, __u64 now)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);
	struct gpt_thread_state *thread;
	struct here here = {.stack_state = GPT_STACK_NOT_RECORDED};

	wait->waker_pid = pid;
	wait->waker_tid = tid;
	bpf_get_current_comm(wait->waker_comm, sizeof(wait->waker_comm));
	wait->waker = GPT_WAKER_OTHER;
	if (!process)
		return;
	thread = thread_get(process, tid, pid);
	if (!thread)
		return;
	wait->waker = GPT_WAKER_THREAD;
	if (is_long && !here_read(process, thread, &here))
		here.stack_state = GPT_STACK_LOST;
	wait->waker_stack_id = here.stack_id;
	wait->waker_stack_state = here.stack_state;
	here_charge(thread, now, GPT_PART_WAKINGS, GPT_COST_WAKING_NS);
}

/* (thread): the current task wakes it, or an interrupt that came while that ran. */
SEC("tp_btf/sched_waking")
int thread_waking(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u32 tid = task->pid;
	struct gpt_off_cpu *off = bpf_map_lookup_elem(&off_cpu, &tid);
	__u64 now, since;
	int in;

	if (!off || !off->wait.time_ns || off->wait.woken_ns || detail_is_off(GPT_DETAIL_WAITS))
		return 0;
	now = bpf_ktime_get_ns();
	since = off->wait.time_ns;
	if (now < since)
		return 0;
	off->wait.woken_ns = now;
	in = count_interrupts();
	if (in > 0)
		off->wait.waker = GPT_WAKER_INTERRUPT;
	else if (!in)
		note_waker(&off->wait, now - since >= activity.off_cpu_min_ns, now);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
