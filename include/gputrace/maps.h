/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What bpf/ and user/attach share besides the records: configuration, the values of the maps, probe cookies.
 * Not part of the log format.
 */
#pragma once

#include <gputrace/details.h>
#include <gputrace/python.h>
#include <gputrace/record.h>

#define GPT_MAX_PROCESSES 16384
#define GPT_MAX_THREADS 65536
#define GPT_MAX_STACKS 131072	  /* distinct stacks remembered as sent; older ones are sent again */
#define GPT_MAX_CODES 65536	  /* distinct code objects remembered as described; older ones are described again */
#define GPT_CODE_MARKS (1u << 20) /* hash table of descriptions, also of code objects no longer remembered */
#define GPT_CODE_MARKS_AGE (1u << 17) /* descriptions after which all marks are void */
#define GPT_MAX_FILES 1024	      /* files with symbol probes */
#define GPT_MAX_SITES 65536	      /* symbol probes, where the kernel keeps no cookies with them */
#define GPT_SLOTS_PER_CPU 4	      /* uprobe programs that may be preempted midway at once on one CPU */

struct gpt_config {
	__u32 trace_all;	     /* every process of the machine */
	__u32 finds_newcomers;	     /* report when a process that is not followed loads CUDA; many users' processes */
	__u32 native;		     /* take native stacks */
	__u32 stop_at_new_files;     /* stop threads of started processes that map an unprobed file of interest */
	__u32 samples;		     /* take samples of running threads */
	__s64 preempt_count_from_rq; /* offset of a CPU's preempt count from its struct rq; 0: not known */
	__u64 off_cpu_min_ns;	     /* the shortest wait that was asked for; 0: no waits */
};

/* What is recorded of threads now, and what that costs; attach/activity.c changes it while a trace runs. */
struct gpt_activity {
	__u64 off_cpu_min_ns; /* the shortest wait that is recorded; above that of gpt_config it was raised */
	__u64 resumed_ns;     /* waits that began before are not recorded: what the thread did meanwhile was not seen */
	__u64 cost_from_ns;   /* costs from then on count */
	__u64 most_cost_ns;   /* the most that any thread has paid since then in one GPT_COST_WINDOW_NS */
	__u32 most_cost_pid;  /* the process of that thread */
	__u32 period_ns;      /* CPU time between two samples */
};

/* How much detail is recorded now; attach/detail.c changes it while a trace runs. */
struct gpt_detail_state {
	__u32 level; /* details.h */
	__u32 pad;
	__u64 refused_ns; /* since when details found the ring buffer short of room; attach/ clears it */
};

#define GPT_COST_WINDOW_NS 1000000000ULL
/*
 * What a clock within a program does not see: the way into it and out of it, with the interrupt for a sample
 * (docs/costs.md has how that was measured). No run counts more than GPT_COST_MOST_NS: a guest's CPU may be taken away
 * in the middle of one.
 */
#define GPT_COST_SWITCH_NS 200U
#define GPT_COST_WAKING_NS 100U
#define GPT_COST_SAMPLE_NS 1000U
#define GPT_COST_MOST_NS 50000U

/* Per process. */
struct gpt_process_state {
	__u32 ours;	    /* started by gputrace: may be held */
	__u32 several;	    /* it made more than one interpreter: a thread's current one is looked up at each call */
	__u32 python_state; /* GPT_STACK_OK: python is valid; else the state its calls get */
	__u32 unsure;	    /* the death of code objects is not seen (yet): none of them are remembered */
	__u64 start_ticks;  /* field 22 of proc(5)'s stat: identifies the process together with the pid; 0: not known */
	__u64 program;	    /* the process epoch: ns at which following it began, unique per pid */
	__u64 generation;   /* starts as `program`, grows when a described code object dies: stack ids start over */
	__u64 shim_code;    /* _Py_InitCleanup, whose frames are ignored; 0: not met yet */
	__u64 module_code;  /* of torch.nn.Module's __call__, whose first local is the module; 0: not known */
	__u32 called;	    /* 1: it has called CUDA since it was forked or executed something */
	__u32 module_generation; /* grows when a module's address has become another module's */
	__u64 mapped_ns;	 /* when the mapping of a file with an unrecognised name was last reported */
	struct gpt_python python;
};

/* Counts the libraries that a process maps in one window; at most GPT_MAPPED_MOST of them are reported. */
#define GPT_MAPPED_WINDOW_NS 500000000ULL
#define GPT_MAPPED_MOST 64

struct gpt_mapped_rate {
	__u64 since_ns;
	__u64 count;
};

/* What a user has sent in one pass of the collector over the ring buffer (common.bpf.h, ring_admits). */
#define GPT_RING_USERS 1024

struct gpt_ring_user {
	__u32 pass, pad;
	__u64 bytes;
	__u64 refused; /* records in all that had no room in the user's part */
};

/* What attach/ found out about a process's Python (python.bpf.c, python_record). */
struct gpt_python_found {
	__u32 pid, python_state;
	__u64 program; /* the process epoch that was examined */
	__u32 known;   /* 1: python is valid */
	__u32 unsure;  /* as gpt_process_state */
	__u32 several; /* as gpt_process_state; only a 1 is taken over */
	__u32 pad;
	struct gpt_python python;
};

/* What it found out about its modules (python.bpf.c, modules_record). */
struct gpt_modules_found {
	__u32 pid, generation;
	__u64 program;
	__u64 code;
};

/* Per thread that made a call. */
struct gpt_thread_state {
	__u64 tstate;	       /* its PyThreadState, 0: not known */
	__u64 searched;	       /* interpreter's counter of thread states + 1 at the last search; 0: never */
	__u64 search_after_ns; /* no search with interrupts off until then: the last one gave refused_state */
	__u64 pthread;	       /* pthread_self() (glibc: the thread pointer) */
	__u32 pid;
	__u32 open_file; /* index into files; placed after pid so that the structure has no holes */
	__u64 program;	 /* gpt_process_state.program when this was made; void in another process epoch */
	/* the latest call seen by a symbol probe, to recognise calls nested in it */
	__u64 open_sp, open_return, open_text; /* open_text: start of the library's text */
	__u64 open_ns;			       /* when that probe fired */
	__u32 lost;			       /* calls since the last recorded one that found no room */
	__u16 refused_state;
	__u8 open_reported; /* whether the agent reported the open call, too */
	__u8 of_agent;	    /* 1: a thread of the agent's own (agent.h), whose waits are not recorded */
	/* the backward pass this thread works for (torch.bpf.c), 0: none */
	__u64 backward_stack, backward_sp, backward_return;
	char comm[GPT_COMM]; /* as last sent in a GPT_THREAD */
	/* the NCCL call that the thread is in (nccl.bpf.h): address of its return address, and that one; 0: in none */
	__u64 nccl_sp, nccl_return;
	/* what samples and waits took of the thread's time since then, for GPT_COST_WINDOW_NS at most */
	__u64 cost_since_ns, cost_ns;
	/* what all programs took of its time, since the first one did (cost.bpf.h) */
	__u64 paid_from_ns, paid_runs, paid_ns, paid_long_ns;
};

/* What runs of BPF programs took, of one part of the cost (costs.h) and one CPU. */
struct gpt_cost_sum {
	__u64 runs, ns;
	__u64 long_runs, long_ns; /* of these, over GPT_COST_MOST_NS: other work may have interrupted them */
};

/* The thread that paid most, of those that have ended on one CPU. */
struct gpt_paid_most {
	__u32 pid, tid;
	__u64 from_ns, until_ns;
	__u64 runs, ns, long_ns;
};

/* ---- what threads did (sample.bpf.c, wait.bpf.c) ----------------------------------------------------------------- */

/*
 * These programs run with interrupts off, where work that a target causes delays the whole machine. So they look at
 * this many thread states, and take this many steps along frames (python_frames.bpf.h: of 16 or 32 frames), at most.
 */
#define GPT_ATOMIC_THREADS 4096
#define GPT_ATOMIC_STEPS 64
/*
 * How long until the next search for a thread state that was not found: where there were more states than the limit;
 * where the thread had none, as a starting thread does not have its id in one yet.
 */
#define GPT_SEARCH_LONG_AGAIN_NS 50000000ULL
#define GPT_SEARCH_AGAIN_NS 10000000ULL

/*
 * A thread that is off the CPU, or was. A place is a hash of where the thread left user space: its instruction and its
 * stack pointer. Only while the shortest recorded wait is raised: at places where the latest wait was shorter the next
 * one is expected to be, too, and gets no stack, which is most of a wait's cost.
 */
#define GPT_BRIEF_PLACES 8

struct gpt_off_cpu {
	struct gpt_wait wait; /* the record to be sent; time_ns 0: the thread is on the CPU */
	__u64 place;	      /* of this wait, 0: not needed */
	__u64 brief[GPT_BRIEF_PLACES];
};

/* ---- threads that are stopped (lifecycle.bpf.c, user/attach/stopper.c) --------------------------- */

/* A thread that maps a new library must be stopped at the return of that call. */
struct gpt_stop_request {
	__u64 time_ns; /* of its GPT_MAPPED */
	__u32 pid, tid;
	__u64 offset; /* in the file, as given to mmap(2) */
	__u32 fd;
	__u32 pad;
};

/* ---- NCCL (nccl.bpf.h) ------------------------------------------------------------------------------------------- */

#define GPT_MAX_NCCL_THREADS 4096 /* threads that call NCCL; the least recent are evicted */
#define GPT_MAX_NCCL_COMMS 8192	  /* communicators */
#define GPT_MAX_NCCL_FILES 64	  /* copies of libnccl */

/* The NCCL calls of a thread: one, or all between ncclGroupStart and ncclGroupEnd; fields as in gpt_nccl. */
struct gpt_nccl_group {
	__u64 comm, comm_id;
	__s64 count, sequence;
	__u32 calls;
	__s32 rank, ranks;
	__s32 function, dtype;
	__u32 pad;
};

/* The sends and receives of a group; apart from it, as a program's stack has no room for both. */
struct gpt_nccl_pairs {
	__u64 sends, receives; /* 1 << other rank, below 64 */
	__u32 pairs;	       /* how many */
	__u32 more_pairs;      /* of these with rank 64 or above */
};

/*
 * The calls of a group on one communicator.  NCCL launches a kernel for each, on the stream that its calls have, and in
 * an order of its own (src/include/group.h of NCCL 2.30.7), so they are told apart by their streams.
 */
#define GPT_NCCL_PARTS 4

struct gpt_nccl_part {
	struct gpt_nccl_group group;
	struct gpt_nccl_pairs pairs;
	__u64 stream;
};

struct gpt_nccl_thread {
	__u64 program; /* gpt_process_state.program */
	__u64 init_sp; /* stack pointer of the call that makes a communicator, 0: none */
	__u64 init_to; /* address that receives the communicator, or as many of them */
	__u64 init_id;
	__u64 init_count;
	__u32 depth;	  /* of open groups */
	__u32 part_count; /* communicators of the group; above GPT_NCCL_PARTS: they cannot be told apart */
	struct gpt_nccl_group group;
	struct gpt_nccl_pairs pairs; /* of the group */
	struct gpt_nccl_part parts[GPT_NCCL_PARTS];
};

struct gpt_nccl_comm_key {
	__u64 comm, program;
	__u32 pid, pad;
};

/* A communicator whose creation was seen. */
struct gpt_nccl_comm {
	__u64 id;
	__u64 collectives; /* so far */
};

/* Offsets in a communicator of this libnccl; 0: not known. */
struct gpt_nccl_file {
	__u32 rank, ranks; /* bytes from the address in an ncclComm_t */
};

/*
 * A site cookie, in the one word that bpf_get_attach_cookie returns: api:16, args:4 (enum gpt_api_args), sp_adjust:6,
 * file:10 (index into files), distance:28 (bytes from the start of the file's executable segment to the site).
 */
#define GPT_COOKIE(api, args, sp_adjust, file, distance)                                                               \
	((__u64)(api) | (__u64)(args) << 16 | (__u64)(sp_adjust) << 20 | (__u64)(file) << 26 | (__u64)(distance) << 36)
#define GPT_COOKIE_API(cookie) ((__u16)(cookie))
#define GPT_COOKIE_ARGS(cookie) ((__u32)((cookie) >> 16 & 0xf))
#define GPT_COOKIE_SP(cookie) ((__u32)((cookie) >> 20 & 0x3f))
#define GPT_COOKIE_FILE(cookie) ((__u32)((cookie) >> 26 & 0x3ff))
#define GPT_COOKIE_DISTANCE(cookie) ((cookie) >> 36)
#define GPT_COOKIE_DISTANCE_MAX ((1ULL << 28) - 1)

/* Per file with symbol probes: size of its executable segment, to show whether an address lies in it. */
struct gpt_file_state {
	__u64 text_bytes;
	__u64 leaves; /* its call probes are detached, or being detached */
};

/* The executable segment of a library in a process. */
struct gpt_text_segment {
	__u64 start, bytes;
};

/* Cookie of a probe whose program needs that segment: the site's distance from its start, and the segment's size. */
#define GPT_TEXT_COOKIE(distance, bytes) ((__u64)(distance) << 32 | (__u64)(bytes))
#define GPT_TEXT_COOKIE_DISTANCE(cookie) ((cookie) >> 32)
#define GPT_TEXT_COOKIE_BYTES(cookie) ((cookie)&0xffffffff)

struct gpt_file_key {
	__u64 inode;
	__u32 device; /* as in the kernel: major << 20 | minor */
	__u32 pad;
};

/* The site of a symbol probe, as the kernel knows it. */
struct gpt_site_key {
	__u64 inode;
	__u64 offset; /* in the file */
	__u32 device; /* as above */
	__u32 pad;
};

/* ---- probe sites in an interpreter (python_events.bpf.c, python_calls.bpf.c) ----------------------------------- */

#define GPT_MAX_PY_SITES 4096

enum gpt_py_site_kind {
	GPT_PY_GC_BEGIN = 1,	 /* args: generation */
	GPT_PY_GC_END = 2,	 /* no args */
	GPT_PY_GC_CALLBACK = 3,	 /* entry of invoke_gc_callback(..., phase, generation, ...): begin or end */
	GPT_PY_IMPORT_BEGIN = 4, /* args: name, a UTF-8 C string */
	GPT_PY_IMPORT_END = 5,
	GPT_PY_IMPORT_CALL = 6,	    /* entry of the function by which C calls importlib's methods */
	GPT_PY_IMPORT_RETURNED = 7, /* after a call of it */
	GPT_PY_CALL_ENTER = 8,
	GPT_PY_CALL_EXIT = 9,
};

enum gpt_py_arg_kind {
	GPT_PY_ARG_NONE,
	GPT_PY_ARG_REGISTER,
	GPT_PY_ARG_MEMORY, /* at register + displacement */
	GPT_PY_ARG_CONSTANT,
};

struct gpt_py_arg {
	__u8 kind;    /* enum gpt_py_arg_kind */
	__u8 regs_at; /* byte offset of the register in struct pt_regs */
	__s8 bytes;   /* 1, 2, 4, 8; negative: signed */
	__u8 pad;
	__s32 displacement; /* or the constant */
};

/*
 * A probe's program identifies its site by the distance from _PyRuntime, which lies in the same file. It is the same in
 * every process, wherever the file is mapped, and works on every kernel.
 */
struct gpt_py_site_key {
	__u64 from_runtime;
	__u32 version; /* as gpt_pylayout.version */
	__u32 pad;
};

struct gpt_py_site {
	__u32 kind;	 /* enum gpt_py_site_kind */
	__s32 sp_adjust; /* added to the stack pointer there gives the slice's frame */
	struct gpt_py_arg arg;
};
