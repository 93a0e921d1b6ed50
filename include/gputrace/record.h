/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Every record that crosses the ring buffer and the log. This is the contract between bpf/, agent/, capture/ and
 * input/. It includes only values.h of gputrace and compiles for BPF, for the agent and for user space.
 *
 * capture/ passes records from the ring buffer to the log without interpreting them. The file has them packed (log.h);
 * reading a log restores them byte for byte. All integers are little-endian, all records are multiples of eight bytes,
 * all times are CLOCK_MONOTONIC nanoseconds unless a field says otherwise. A reader skips unknown types. Fields are
 * only ever appended; `size` shows which exist.
 */
#ifndef GPUTRACE_RECORD_H
#define GPUTRACE_RECORD_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include <gputrace/values.h>

#define GPT_COMM 16		  /* TASK_COMM_LEN, linux/sched.h */
#define GPT_RECORD_MAX (1u << 20) /* bytes; a larger record is corruption */

struct gpt_record {
	__u32 size; /* bytes, header included, multiple of 8 */
	__u16 type; /* enum gpt_record_type */
	__u16 flags;
};

/* Rounds up to a multiple of 8: for records, their contents and parts of a log. */
static inline __u64 gpt_padded(__u64 bytes)
{
	return (bytes + 7) & ~7ull;
}

enum gpt_record_type {
	/* from the kernel */
	GPT_CALL = 1,	      /* struct gpt_call: a thread entered a CUDA call */
	GPT_CALL_ARGS = 2,    /* struct gpt_call_args: the same with arguments (no agent) */
	GPT_PYSTACK = 3,      /* struct gpt_pystack: precedes the first call that refers to it */
	GPT_CODE = 4,	      /* struct gpt_code: precedes the first stack that refers to it */
	GPT_CODE_LINES = 5,   /* struct gpt_code_lines: follows its GPT_CODE */
	GPT_CODE_DEAD = 6,    /* struct gpt_code_dead: this address means another code object from here on */
	GPT_NATIVE_STACK = 7, /* struct gpt_native_stack: precedes the first call that refers to it */
	GPT_THREAD = 8,	      /* struct gpt_thread: first call of a thread */
	GPT_FORK = 9,	      /* struct gpt_process_event: pid is the child, other_pid the parent */
	GPT_EXEC = 10,	      /* struct gpt_process_event */
	GPT_EXIT = 11,	      /* struct gpt_process_event: the whole process */
	GPT_MAPPED = 12,      /* struct gpt_mapped: a file with code is being mapped */
	GPT_AGENT_BATCH = 13, /* struct gpt_agent_batch: records of the agent, see agent.h */
	GPT_PYEVENT = 14,     /* struct gpt_pyevent: a collection or an import begins or ends */
	GPT_PYCALL = 15,      /* struct gpt_pycall: a Python function is entered or left */
	GPT_CUPTI_USE = 16,   /* struct gpt_cupti_use: a program sets CUPTI's activity API up or down */
	GPT_CUPTI_DONE = 17,  /* struct gpt_cupti_done: CUPTI gave torch.profiler a buffer of records */
	GPT_STACK_AT = 18,    /* struct gpt_stack_at: the Python stack of something that the agent reports */
	GPT_SAMPLE = 19,      /* struct gpt_sample: what a thread ran at that moment */
	GPT_WAIT = 20,	      /* struct gpt_wait: a thread was off the CPU, and runs again */

	/* from the collector */
	GPT_NCCL = 25,		/* struct gpt_nccl, from the kernel: the NCCL call of the launch in the next GPT_CALL */
	GPT_GENERATED = 22,	/* struct gpt_generated: a line of generated code that launches a kernel */
	GPT_PYTHON_SOURCE = 26, /* struct gpt_python_source: the text of a notebook's cell */
	GPT_SESSION = 32,	/* struct gpt_session: options, host */
	GPT_PROCESS = 33,	/* struct gpt_process: name, command line, what is known of it */
	GPT_PROBES = 34,	/* struct gpt_text: one file's probe sites found and missed */
	GPT_NATIVE_SYM = 35,	/* struct gpt_native_sym: an address of a native stack, symbolised while alive */
	GPT_CLOCK = 36,		/* struct gpt_clock: wall clock offset through the run */
	GPT_NOTE = 37,		/* struct gpt_text: a degradation or remark that the report must show */
	GPT_END = 38,		/* struct gpt_end: counters; a log without it is truncated */

	/* from the agent, only inside GPT_AGENT_BATCH: 64 and up, see agent.h */
};

/* ---- calls ---------------------------------------------------------------------------------- */

enum gpt_call_origin {
	GPT_ORIGIN_AGENT = 1,  /* CUPTI callback: corr is CUPTI's correlation id */
	GPT_ORIGIN_SYMBOL = 2, /* uprobe on the public symbol: corr is 0 */
};

#define GPT_CALL_NESTED_IN_SYMBOL                                                                                      \
	1 /* flags: the same call as the previous GPT_CALL_ARGS of this thread,                                        \
	   * which a symbol probe sent; now reported by the agent, with its corr */
#define GPT_CALL_AFTER_LOSS                                                                                            \
	2 /* flags: one or more calls of this thread just before it, seen by symbol probes, found no room */
#define GPT_CALL_SURELY_NESTED                                                                                         \
	4 /* flags, with GPT_CALL_NESTED_IN_SYMBOL: symbol probes were attached until now, and would have seen         \
	   * another call; without this flag the thread may have made one since */

struct gpt_call {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 pid;	  /* thread group, initial pid namespace */
	__u32 tid;	  /* thread, initial pid namespace */
	__u64 stack_id;	  /* gpt_pystack.id of the same pid, 0: none, see stack_state */
	__u64 native_id;  /* gpt_native_stack.id, 0: none */
	__u32 corr;	  /* CUPTI correlation id, 0: none */
	__u16 api;	  /* GPT_API() */
	__u8 origin;	  /* enum gpt_call_origin */
	__u8 stack_state; /* enum gpt_stack_state */
};

/* Arguments as the caller passed them; fields that the call does not have are 0. */
struct gpt_call_args {
	struct gpt_call call;
	__u64 function;	    /* kernel: host stub address, cudaKernel_t or CUfunction; graph: the executable graph */
	__u64 stream;	    /* as passed: 0, 1, 2 are the default, legacy and per-thread streams */
	__u64 bytes;	    /* memcpy, memset, allocation */
	__u32 grid[3];	    /* blocks */
	__u32 block[3];	    /* threads */
	__u32 shared_bytes; /* dynamic shared memory */
	__u32 memcpy_kind;  /* enum cudaMemcpyKind: 0 HtoH 1 HtoD 2 DtoH 3 DtoD 4 by pointers; ~0: not known */
};

/* ---- Python --------------------------------------------------------------------------------- */

#define GPT_PYSTACK_OUTER_FRAMES 32 /* of the kept frames, how many are outermost ones when the stack is deeper */
#define GPT_PYSTACK_TRUNCATED 1	    /* flags: frames are missing: where code is 0, else the outer ones */

struct gpt_pyframe {
	__u64 code;  /* address of the code object; its description is the latest GPT_CODE of (pid, code).
		      * 0: no frame; stands for `lasti` frames left out here */
	__s32 lasti; /* byte offset of the executing instruction from the first; -1: not started */
	__u32 pad;
};

struct gpt_pystack {
	struct gpt_record hdr;
	__u64 id; /* never 0; unique within the process */
	__u32 pid;
	__u32 depth; /* entries that follow, innermost first */
	struct gpt_pyframe frames[];
};

#define GPT_CODE_NAME_MAX 512  /* bytes kept of each name */
#define GPT_CODE_FILE_MAX 4096 /* bytes kept of the file name: PATH_MAX */
#define GPT_CODE_TRUNCATED 1   /* flags: a string or the line table was cut */

/*
 * Strings are kept as CPython has them: `kind` bytes per character (1: Latin-1 or ASCII, 2: UCS-2, 4: UCS-4;
 * 0: absent or unreadable), `bytes` long, one after the other in data[], each padded to 8 bytes.
 * Order: name, qualname, filename.
 */
struct gpt_code {
	struct gpt_record hdr;
	__u64 code;
	__u32 pid;
	__u32 first_line;
	__u32 name_bytes, qualname_bytes, filename_bytes;
	__u8 name_kind, qualname_kind, filename_kind;
	__u8 linetable;	       /* enum gpt_linetable */
	__u32 linetable_bytes; /* in all; they follow as GPT_CODE_LINES, if they are not more than GPT_CODE_LINES_MAX */
	__u32 first_traceable; /* bytes; a frame before this instruction has not started, and Python hides it */
	__u8 data[];
};

#define GPT_CODE_LINES_CHUNK 4096 /* bytes in one GPT_CODE_LINES, at most */
#define GPT_CODE_LINES_MAX (64 * GPT_CODE_LINES_CHUNK)

struct gpt_code_lines {
	struct gpt_record hdr;
	__u64 code;
	__u32 pid;
	__u32 offset; /* of data[] in the line table */
	__u32 bytes;
	__u32 pad;
	__u8 data[];
};

struct gpt_code_dead {
	struct gpt_record hdr;
	__u64 code;
	__u64 time_ns;
	__u32 pid;
	__u32 pad;
};

#define GPT_PYEVENT_NAME_MAX 256 /* bytes kept of a module's name */
#define GPT_PYEVENT_TRUNCATED 1	 /* flags: the name was cut */

struct gpt_pyevent {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 pid, tid;
	__u64 frame;	/* address on the thread's stack: equal for start and end of one slice, lower for deeper ones */
	__s64 value;	/* collection: its generation at the start; -1: not known */
	__u8 kind;	/* enum gpt_pyevent_kind */
	__u8 ends;	/* 0: begins */
	__u8 name_kind; /* import: bytes a character as in gpt_code, 0: name[] is UTF-8 */
	__u8 pad;
	__u32 name_bytes; /* 0: none, as for ends */
	__u8 name[];
};

/* An entry into a frame (also when a generator resumes) or an exit from it (return, yield, exception). */
struct gpt_pycall {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 pid, tid;
	__u64 code;  /* entry: the code object, described before; 0: the frame is left */
	__u64 frame; /* as in gpt_pyevent */
};

/*
 * A Python stack that the agent requested (gputrace_agent_stack); the event that it belongs to comes later, in a batch.
 */
struct gpt_stack_at {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 stack_id; /* as gpt_call.stack_id */
	__u64 number;	/* the agent's number; unique for this `what` in the process epoch */
	__u32 pid, tid;
	__u32 what;	  /* enum gpt_stack_of */
	__u8 stack_state; /* enum gpt_stack_state */
	__u8 pad[3];
};

/* ---- what threads did ----------------------------------------------------------------------- */

/* A thread was on a CPU when that CPU's clock ticked (--cpu). */
struct gpt_sample {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 stack_id;	 /* as gpt_call.stack_id */
	__u64 native_id; /* gpt_native_stack.id: the innermost function, in user space; 0: none */
	__u32 pid, tid;
	__u32 period_ns;  /* CPU time that it stands for: the distance of two ticks */
	__u8 stack_state; /* enum gpt_stack_state */
	__u8 place;	  /* enum gpt_sample_place */
	__u8 pad[2];
};

#define GPT_WAIT_OPEN 1 /* flags: still waiting at the end of the recording, which end_ns is then */

/*
 * A thread was off the CPU (--off-cpu). Sent when it runs again; waits of one thread do not overlap. For a thread that
 * never slept (GPT_WAIT_PREEMPTED and the like) woken_ns is time_ns: it was runnable from then on.
 */
struct gpt_wait {
	struct gpt_record hdr;
	__u64 time_ns;	      /* it left the CPU */
	__u64 woken_ns;	      /* it was made runnable; 0: not seen */
	__u64 end_ns;	      /* it runs again */
	__u64 stack_id;	      /* as gpt_call.stack_id, when it left the CPU */
	__u64 native_id;      /* as in gpt_sample */
	__u64 waker_stack_id; /* stack of the waker when it woke this thread; id of waker_pid */
	__u64 arg;	      /* futex: its address; else the awaited descriptor; 0: none */
	__u32 pid, tid;
	__u32 waker_pid, waker_tid; /* 0: waker is neither THREAD nor OTHER */
	__u32 holder_tid; /* GPT_WAIT_GIL: the thread that had the lock, in the initial pid namespace; 0: not known */
	__s32 syscall;	  /* its number, -1: it was in none */
	__u8 reason;	  /* enum gpt_wait_reason */
	__u8 stack_state; /* enum gpt_stack_state */
	__u8 waker;	  /* enum gpt_waker */
	__u8 waker_stack_state;
	__u32 pad;
	char waker_comm[GPT_COMM]; /* empty: as waker_pid */
};

/*
 * A thread launches a kernel inside an NCCL call, or inside the ncclGroupEnd after several. That launch is the GPT_CALL
 * or GPT_CALL_ARGS of the same thread and time, which follows.
 */
struct gpt_nccl {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 comm;	/* ncclComm_t, 0: several */
	__u64 comm_id;	/* hash of the ncclUniqueId it was made with: the same on all ranks; 0: not known */
	__s64 count;	/* as passed; the sum for several calls of one communicator and type; -1: no single number */
	__s64 sequence; /* collectives that the communicator had before, without sends and receives; -1: not known */
	__u32 pid, tid;
	__u32 calls;   /* NCCL calls that this stands for */
	__s32 rank;    /* rank in the communicator, -1: not known */
	__s32 ranks;   /* 0: not known */
	__u8 function; /* enum gpt_nccl_function (nccl.h) */
	__s8 dtype;    /* ncclDataType_t, -1: several */
	__u8 pad[2];
};

/* ---- CUPTI's other users ------------------------------------------------------------------------------------ */

enum gpt_cupti_function {
	GPT_CUPTI_REGISTER = 1,	 /* cuptiActivityRegisterCallbacks: CUPTI fills the caller's buffers from now on */
	GPT_CUPTI_ENABLE = 2,	 /* cuptiActivityEnable */
	GPT_CUPTI_DISABLE = 3,	 /* cuptiActivityDisable */
	GPT_CUPTI_FLUSH = 4,	 /* cuptiActivityFlushAll */
	GPT_CUPTI_ATTRIBUTE = 5, /* cuptiActivitySetAttribute */
};

/* A call of the activity API in the process, by any client; of the agent's own calls only GPT_CUPTI_REGISTER. */
struct gpt_cupti_use {
	struct gpt_record hdr;
	__u64 time_ns; /* at entry */
	__u32 pid, tid;
	__u32 value; /* the first argument: of ENABLE and DISABLE the kind */
	__u8 what;   /* enum gpt_cupti_function */
	__u8 own;    /* enum gpt_cupti_caller */
	__u16 pad;
	__u64 caller; /* UNKNOWN: the return address; else 0 */
};

enum gpt_cupti_caller {
	GPT_CUPTI_CALLER_OTHER = 0,
	GPT_CUPTI_CALLER_AGENT = 1,
	/*
	 * From the kernel, never in a log: an agent may be in the process that has not reported its state to this
	 * trace. The collector finds out, and writes the record.
	 */
	GPT_CUPTI_CALLER_UNKNOWN = 2,
};

#define GPT_CUPTI_DONE_HEAD 64
/* Buffers are copied at once, in one of two sizes: a session that begins throws away the buffers under way. */
#define GPT_CUPTI_DONE_SMALL 32768u
#define GPT_CUPTI_DONE_LARGE 524288u

/*
 * CUPTI gave a buffer of records to torch.profiler, which reads it at the end of its session and frees it. Only the
 * fixed part goes into a log.
 */
struct gpt_cupti_done {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 address;
	__u64 bytes; /* of records in it */
	__u32 pid, tid;
	__u8 head[GPT_CUPTI_DONE_HEAD]; /* first bytes of the buffer at that time; 0: could not be read */
	__u32 copied;			/* bytes of data[]: all of them or none */
	__u32 pad;
	__u8 data[];
};

/* ---- native --------------------------------------------------------------------------------- */

#define GPT_NATIVE_MAX_FRAMES 64

struct gpt_native_stack {
	struct gpt_record hdr;
	__u64 id;
	__u32 pid;
	__u32 depth;
	__u64 ip[]; /* innermost first */
};

struct gpt_native_sym {
	struct gpt_record hdr;
	__u64 ip;
	__u32 pid;
	__u32 bytes; /* of text */
	char text[]; /* "symbol\0module\0", symbol as in the ELF file (mangled), empty when unknown */
};

/* ---- generated code ------------------------------------------------------------------------- */

/*
 * What the comments of a file written by PyTorch's compiler say about a line that launches. Unchecked, as the target
 * has it.
 */
struct gpt_generated {
	struct gpt_record hdr;
	__u32 pid;	   /* the process on whose stack it was found */
	__u32 line;	   /* of the file */
	__u32 kernel_line; /* line of the kernel's function in its own file, 0: not known */
	__u32 bytes;
	/* "file\0kernel\0source nodes\0original ops\0file of the kernel's function\0" */
	char text[];
};

/* Python source that is in no file, as the process has it in linecache. Unchecked. */
struct gpt_python_source {
	struct gpt_record hdr;
	__u32 pid; /* the process on whose stack it was found */
	__u32 bytes;
	char text[]; /* "file\0source" */
};

/* ---- processes and threads ------------------------------------------------------------------ */

struct gpt_thread {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 pid, tid;
	char comm[GPT_COMM];
	/* as CUPTI's records name the thread; logs from before borrowed CUPTI lack them */
	__u32 own_tid; /* in its own pid namespace */
	__u32 pointer; /* lower half of pthread_self() */
};

struct gpt_process_event {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 pid;
	__u32 other_pid; /* GPT_FORK: the parent; GPT_EXIT: the signal that ended it, 0: none, or not known */
	char comm[GPT_COMM];
};

#define GPT_MAPPED_STOPPED 1 /* flags: the thread must be stopped until its probes are in place */
#define GPT_MAPPED_OTHER 2   /* unrecognised file name; more of these within GPT_MAPPED_OTHER_NS are not reported */
#define GPT_MAPPED_OTHER_NS 5000000ULL
#define GPT_MAPPED_MORE 4   /* further files that the process maps in this GPT_MAPPED_WINDOW_NS are not reported */
#define GPT_MAPPED_PROBED 8 /* with STOPPED: its probes are in place, but no Python of the process is known (yet) */

struct gpt_mapped {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 pid, tid;
	char name[64]; /* last component of the file's name, NUL-terminated */
};

struct gpt_process {
	struct gpt_record hdr;
	__u64 time_ns;	/* when this was found out */
	__u64 start_ns; /* start of the process, CLOCK_MONOTONIC; 0: not known */
	__u32 pid;
	__u32 parent;
	__u16 python; /* major << 8 | minor, 0: no interpreter found (yet) */
	__u8 mounts;  /* enum gpt_mounts */
	__u8 pad;
	__u32 bytes; /* of text */
	/*
	 * "comm\0executable\0command line, blanks between arguments\0python library path\0"; older logs lack the rest:
	 * "RANK\0LOCAL_RANK\0" from the program's initial environment, digits, else empty
	 */
	char text[];
};

/* ---- the collector's own -------------------------------------------------------------------- */

struct gpt_text {
	struct gpt_record hdr;
	__u32 pid; /* 0: the whole trace */
	__u32 bytes;
	char text[]; /* NUL-terminated UTF-8 */
};

#define GPT_SESSION_STEP "step:" /* prefix of the value given as --step */

struct gpt_session {
	struct gpt_record hdr;
	__u32 metric_launches; /* 1: folded lines count launches by choice of the user */
	__u32 min_complete;    /* percent, rounded down; text has it in full */
	__u32 cpus;
	__u32 bytes;
	/*
	 * "gputrace version\0host\0kernel release\0target as the user named it\0"; older logs lack the rest: "least
	 * completeness in thousandths of a percent\0agent: auto, require or off\0boot id of the machine\0" "ns that the
	 * machine had slept: CLOCK_BOOTTIME - CLOCK_MONOTONIC\0", and any number of labels "key=value\0". The value of
	 * --step is among them, without a "=": "step:py:handle\0"
	 */
	char text[];
};

struct gpt_clock {
	struct gpt_record hdr;
	__u64 mono_ns;
	__s64 wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at mono_ns */
	__u64 error_ns;	      /* half the width of the sample */
};

struct gpt_end {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 cpu_ns;	      /* the collector's own CPU time while recording */
	__u64 ring_bytes;     /* size of the ring buffer */
	__u64 ring_bytes_max; /* highest fill seen */
	__u32 reason;	      /* enum gpt_end_reason */
	__u32 counters_count;
	__u64 counters[]; /* enum gpt_counter */
};

/* ---- batches from the agent ----------------------------------------------------------------- */

#define GPT_BATCH_FOREIGN 1   /* flags: not from an agent: the collector made it of a foreign buffer (GPT_CUPTI_DONE) */
#define GPT_BATCH_MONOTONIC 2 /* flags: fields named *_wall_ns are CLOCK_MONOTONIC, accurate to error_ns */

struct gpt_agent_batch {
	struct gpt_record hdr;
	__u64 time_ns; /* when the collector's program copied it */
	__u32 pid, tid;
	__u32 bytes; /* of data[], hostile until checked */
	union {
		__u32 error_ns; /* of GPT_BATCH_MONOTONIC */
		__u32 uid;	/* of others from BPF: the user whose process sent it */
	};
	__u8 data[]; /* records of agent.h, each with a struct gpt_record */
};

_Static_assert(sizeof(struct gpt_record) == 8, "log layout");
_Static_assert(sizeof(struct gpt_call) == 48, "log layout");
_Static_assert(sizeof(struct gpt_call_args) == 104, "log layout");
_Static_assert(sizeof(struct gpt_pyframe) == 16, "log layout");
_Static_assert(sizeof(struct gpt_pystack) == 24, "log layout");
_Static_assert(sizeof(struct gpt_code) == 48, "log layout");
_Static_assert(sizeof(struct gpt_code_lines) == 32, "log layout");
_Static_assert(sizeof(struct gpt_code_dead) == 32, "log layout");
_Static_assert(sizeof(struct gpt_pyevent) == 48, "log layout");
_Static_assert(sizeof(struct gpt_pycall) == 40, "log layout");
_Static_assert(sizeof(struct gpt_stack_at) == 48, "log layout");
_Static_assert(sizeof(struct gpt_sample) == 48, "log layout");
_Static_assert(sizeof(struct gpt_wait) == 112, "log layout");
_Static_assert(sizeof(struct gpt_nccl) == 72, "log layout");
_Static_assert(sizeof(struct gpt_cupti_use) == 40, "log layout");
_Static_assert(sizeof(struct gpt_cupti_done) == 112, "log layout");
_Static_assert(sizeof(struct gpt_native_stack) == 24, "log layout");
_Static_assert(sizeof(struct gpt_native_sym) == 24, "log layout");
_Static_assert(sizeof(struct gpt_generated) == 24, "log layout");
_Static_assert(sizeof(struct gpt_python_source) == 16, "log layout");
_Static_assert(sizeof(struct gpt_thread) == 48, "log layout");
_Static_assert(sizeof(struct gpt_process_event) == 40, "log layout");
_Static_assert(sizeof(struct gpt_mapped) == 88, "log layout");
_Static_assert(sizeof(struct gpt_process) == 40, "log layout");
_Static_assert(sizeof(struct gpt_text) == 16, "log layout");
_Static_assert(sizeof(struct gpt_session) == 24, "log layout");
_Static_assert(sizeof(struct gpt_clock) == 32, "log layout");
_Static_assert(sizeof(struct gpt_end) == 48, "log layout");
_Static_assert(sizeof(struct gpt_agent_batch) == 32, "log layout");

#endif
