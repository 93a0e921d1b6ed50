/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that bpf/ touches, and of each only the members it reads.  Offsets do not matter: CO-RE
 * relocates every access by name against the running kernel's BTF.  Names and types as in Linux 5.10 to 7.2.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

/* include/uapi/linux/bpf.h */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_USER_STACK = 256,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	/* arch/x86/include/asm/ptrace.h */
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct qstr {
	const unsigned char *name;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct dentry {
	struct qstr d_name;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct mm_struct {
	unsigned long start_stack;
};

struct thread_struct {
	unsigned long fsbase;
};

/* kernel/trace/trace_uprobe.c */
struct trace_uprobe {
	struct inode *inode;
	unsigned long offset;
};

struct uprobe_dispatch_data {
	struct trace_uprobe *tu;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	unsigned long vaddr;
	struct return_instance *return_instances;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

/* kernel/sched/sched.h; with CONFIG_CFS_BANDWIDTH */
struct rq {
	__u64 clock;
};

struct cfs_rq {
	int throttle_count;
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct sched_info {
	unsigned long long last_arrival; /* with CONFIG_SCHED_INFO */
};

struct task_struct {
	unsigned int __state; /* Linux 5.14 */
	void *stack;
	struct sched_entity se;
	struct sched_info sched_info;
	int pid;
	int tgid;
	char comm[16];
	int exit_code;
	struct mm_struct *mm;
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_struct *group_leader;
	__u64 start_boottime;
	struct pid *thread_pid;
	struct uprobe_task *utask;
	struct thread_struct thread;
};

/* Until Linux 5.13 */
struct task_struct___state {
	long state;
};

/* From Linux 6.18 on, with CONFIG_CFS_BANDWIDTH: a throttled task leaves the run queue on its way to user space. */
struct task_struct___throttled {
	bool throttled;
};

/* include/linux/trace_events.h: what a program on a syscalls:sys_enter_* tracepoint gets */
struct trace_event_raw_sys_enter {
	long id;
	unsigned long args[6];
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#pragma clang attribute pop

#endif
