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
#pragma once

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

/* clang-format off */
/*
 * A record is one table, from which everything that concerns each member is made: its struct, how a log packs it
 * (log/packing/schema_text.c), what it refers to (log/references.c).  Rows are in the order of the struct, without gaps:
 *
 *	F(type, name, "packing")		a member; packing: a code of log/packing/schema.h ("NAME=code": logs call it NAME)
 *	R(type, name, "packing", THING)		a member that refers to a THING (log/references.c)
 *	A(type, name, count, bytes, "packing")	an array, packed as fields of `bytes` bytes
 *
 * GPT_ROWS_NAME are the rows of struct gpt_NAME.  Records grow at the end: a log carries the rows by which it was
 * packed.
 */
#define GPT_MEMBER(type, name, ...) type name;
#define GPT_ARRAY(type, name, count, ...) type name[count];
#define GPT_MEMBERS(name) GPT_ROWS_##name(GPT_MEMBER, GPT_MEMBER, GPT_ARRAY)
#define GPT_HEAD(name) struct gpt_record hdr; GPT_MEMBERS(name)
#define GPT_RECORD(name) { GPT_HEAD(name) }

/*
 * The types of records, in the order of a log's schema:
 *	X(TYPE, number, name in logs, NAME of struct gpt_NAME, bytes, bytes in the oldest logs, tail, what the model takes)
 * tail: what follows the struct: BYTES, RECORDS, or an array.  What the model takes it as: an EVENT, which may be late;
 * something of a TABLE, to which events refer or which parts of a long log share; NOTHING.  The builder takes it as it is
 * (builder_add_NAME, model/builder.h), or input/gpt/ takes it apart (_PARTS: gpt_add_NAME)
 */
#define GPT_RECORDS(X) \
	X(GPT_CALL, 1, call, call, 48, 48, BYTES, EVENT) /* a thread entered a CUDA call */ \
	X(GPT_CALL_ARGS, 2, call_args, call_args, 104, 104, BYTES, EVENT) /* the same with arguments (no agent) */ \
	X(GPT_PYSTACK, 3, pystack, pystack, 24, 24, PYFRAMES, TABLE_PARTS) /* precedes the first call that refers to it */ \
	X(GPT_CODE, 4, code, code, 48, 48, BYTES, TABLE_PARTS) /* precedes the first stack that refers to it */ \
	X(GPT_CODE_LINES, 5, code_lines, code_lines, 32, 32, BYTES, TABLE_PARTS) /* follows its GPT_CODE */ \
	/* this address means another code object from here on */ \
	X(GPT_CODE_DEAD, 6, code_dead, code_dead, 32, 32, BYTES, TABLE) \
	/* precedes the first call that refers to it */ \
	X(GPT_NATIVE_STACK, 7, native_stack, native_stack, 24, 24, ADDRESSES, TABLE_PARTS) \
	X(GPT_THREAD, 8, thread, thread, 48, 40, BYTES, TABLE_PARTS) /* first call of a thread */ \
	X(GPT_FORK, 9, fork, process_event, 40, 40, BYTES, TABLE) /* pid is the child, other_pid the parent */ \
	X(GPT_EXEC, 10, exec, process_event, 40, 40, BYTES, TABLE) \
	X(GPT_EXIT, 11, exit, process_event, 40, 40, BYTES, TABLE) /* the whole process */ \
	X(GPT_MAPPED, 12, mapped, mapped, 88, 88, BYTES, NOTHING) /* a file with code is being mapped */ \
	/* records of the agent, see agent.h */ \
	X(GPT_AGENT_BATCH, 13, agent_batch, agent_batch, 32, 32, RECORDS, EVENT_PARTS) \
	X(GPT_PYEVENT, 14, pyevent, pyevent, 48, 48, BYTES, TABLE_PARTS) /* a collection or an import begins or ends */ \
	X(GPT_PYCALL, 15, pycall, pycall, 40, 40, BYTES, TABLE_PARTS) /* a Python function is entered or left */ \
	/* a program sets CUPTI's activity API up or down */ \
	X(GPT_CUPTI_USE, 16, cupti_use, cupti_use, 40, 40, BYTES, TABLE) \
	/* CUPTI gave torch.profiler a buffer of records */ \
	X(GPT_CUPTI_DONE, 17, cupti_done, cupti_done, 112, 112, BYTES, NOTHING) \
	/* the Python stack of something that the agent reports */ \
	X(GPT_STACK_AT, 18, stack_at, stack_at, 48, 48, BYTES, EVENT) \
	X(GPT_SAMPLE, 19, sample, sample, 48, 48, BYTES, EVENT) /* what a thread ran at that moment */ \
	X(GPT_WAIT, 20, wait, wait, 112, 112, BYTES, EVENT) /* a thread was off the CPU, and runs again */ \
	/* where tasks of asyncio await while their loop waits */ \
	X(GPT_AWAIT, 27, await, await, 48, 48, BYTES, EVENT) \
	/* what a torch.nn.Module is that stacks refer to; may come after them, and again */ \
	X(GPT_MODULE, 28, module, module, 56, 56, BYTES, TABLE_PARTS) \
	/* a line of generated code that launches a kernel */ \
	X(GPT_GENERATED, 22, generated, generated, 24, 24, BYTES, TABLE_PARTS) \
	X(GPT_PYTHON_SOURCE, 26, source, python_source, 16, 16, BYTES, TABLE_PARTS) /* the text of a notebook's cell */ \
	/* from the kernel: the NCCL call of the launch in the next GPT_CALL */ \
	X(GPT_NCCL, 25, nccl, nccl, 96, 72, BYTES, TABLE_PARTS) \
	X(GPT_SESSION, 32, session, session, 24, 24, BYTES, TABLE_PARTS) /* options, host */ \
	X(GPT_PROCESS, 33, process, process, 40, 40, BYTES, TABLE_PARTS) /* name, command line, what is known of it */ \
	X(GPT_PROBES, 34, probes, text, 16, 16, BYTES, TABLE_PARTS) /* one file's probe sites found and missed */ \
	/* an address of a native stack, symbolised while alive */ \
	X(GPT_NATIVE_SYM, 35, native_sym, native_sym, 24, 24, BYTES, TABLE_PARTS) \
	X(GPT_CLOCK, 36, clock, clock, 32, 32, BYTES, TABLE) /* wall clock offset through the run */ \
	X(GPT_NOTE, 37, note, text, 16, 16, BYTES, TABLE_PARTS) /* a degradation or remark that the report must show */ \
	X(GPT_END, 38, end, end, 48, 48, COUNTERS, TABLE_PARTS) /* counters; a log without it is truncated */ \
	/* a process's Python objects were searched for who holds tensors */ \
	X(GPT_HOLDERS, 39, holders, holders, 48, 48, BYTES, TABLE_PARTS) \
	X(GPT_HOLDER, 40, holder, holder, 40, 40, BYTES, TABLE_PARTS) /* one who does; follows its GPT_HOLDERS */ \
	X(GPT_START, 41, start, start, 80, 80, BYTES, TABLE) /* how the recording began */ \
	X(GPT_COST, 43, cost, cost, 64, 64, BYTES, TABLE) /* what the recording took of the traced programs, by part */ \
	/* of a GPU, ten times a second, by NVML */ \
	X(GPT_GPU_SAMPLE, 44, gpu_sample, gpu_sample, 104, 104, BYTES, EVENT) \
	X(GPT_GPU_PROCESS, 45, gpu_process, gpu_process, 64, 64, BYTES, EVENT) /* a process has memory of a GPU */ \
	X(GPT_GPU_ERROR, 46, gpu_error, gpu_error, 48, 48, BYTES, EVENT) /* NVML reports an error of a GPU */ \
	X(GPT_NVML, 47, nvml, nvml, 16, 16, BYTES, TABLE_PARTS) /* whether NVML answers; the last one counts */ \
	X(GPT_DETAIL_CHANGE, 48, detail, detail, 56, 56, BYTES, TABLE) /* less or more is recorded from here on */

#define GPT_NUMBER(type, number, ...) type = number,
enum gpt_record_type {
	GPT_RECORDS(GPT_NUMBER)
	/* inside GPT_AGENT_BATCH: 64 and up, see agent.h */
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
	   * another call, whose time this one has; without this flag the thread may have made one since */

#define GPT_ROWS_call(F, R, A) \
	F(__u64, time_ns, "time") \
	R(__u32, pid, "pid", PROCESS)                    /* thread group, initial pid namespace */ \
	R(__u32, tid, "id", THREAD)             /* thread, initial pid namespace */ \
	R(__u64, stack_id, "id", PYSTACK)       /* gpt_pystack.id of the same pid, 0: none, see stack_state */ \
	R(__u64, native_id, "id", NATIVE_STACK) /* gpt_native_stack.id, 0: none */ \
	F(__u32, corr, "delta")                 /* CUPTI correlation id, 0: none */ \
	F(__u16, api, "id")                     /* GPT_API() */ \
	F(__u8, origin, "raw")                  /* enum gpt_call_origin */ \
	F(__u8, stack_state, "raw")             /* enum gpt_stack_state */
struct gpt_call GPT_RECORD(call);

/* Arguments as the caller passed them; fields that the call does not have are 0. */
#define GPT_ROWS_call_args_only(F, R, A) \
	/* kernel: host stub address, cudaKernel_t or CUfunction; graph: the executable graph */ \
	F(__u64, function, "id") \
	F(__u64, stream, "id")       /* as passed: 0, 1, 2 are the default, legacy and per-thread streams */ \
	F(__u64, bytes, "id")        /* memcpy, memset, allocation */ \
	A(__u32, grid, 3, 4, "id")   /* blocks */ \
	A(__u32, block, 3, 4, "id")  /* threads */ \
	F(__u32, shared_bytes, "id") /* dynamic shared memory */ \
	/* enum cudaMemcpyKind: 0 HtoH 1 HtoD 2 DtoH 3 DtoD 4 by pointers; ~0: not known */ \
	F(__u32, memcpy_kind, "id")
#define GPT_ROWS_call_args(F, R, A) GPT_ROWS_call(F, R, A) GPT_ROWS_call_args_only(F, R, A)
struct gpt_call_args {
	union {
		struct gpt_call call;
		struct GPT_RECORD(call);
	};
	GPT_MEMBERS(call_args_only)
};

/* ---- Python --------------------------------------------------------------------------------- */

#define GPT_PYSTACK_OUTER_FRAMES 32 /* of the kept frames, how many are outermost ones when the stack is deeper */
#define GPT_PYSTACK_TRUNCATED 1	    /* flags: frames are missing: where code is 0, else the outer ones */
#define GPT_PYSTACK_MODULES 2	    /* flags: after the frames, up to the record's end, come modules */
#define GPT_PYSTACK_MAX_MODULES GPT_PYSTACK_MAX_FRAMES

#define GPT_ROWS_pyframe(F, R, A) \
	/* address of the code object; its description is the latest GPT_CODE of (pid, code). 0: no frame; \
	 * stands for `lasti` frames left out here */ \
	F(__u64, code, "id") \
	F(__s32, lasti, "delta") /* byte offset of the executing instruction from the first; -1: not started */ \
	F(__u32, pad, "raw")
struct gpt_pyframe {
	GPT_MEMBERS(pyframe)
};

/* A call of a torch.nn.Module, packed as a frame is; innermost first.  Part of what the stack's id stands for. */
struct gpt_stack_module {
	__u64 module;	  /* address of the object, as in gpt_module */
	__s32 frame;	  /* index of the frame that it is the `self` of */
	__u32 generation; /* as in gpt_module */
};

#define GPT_ROWS_pystack(F, R, A) \
	F(__u64, id, "raw")      /* never 0; unique within the process */ \
	F(__u32, pid, "pid") \
	F(__u32, depth, "delta") /* entries that follow, innermost first */
struct gpt_pystack {
	GPT_HEAD(pystack)
	struct gpt_pyframe frames[];
};

#define GPT_CODE_NAME_MAX 512  /* bytes kept of each name */
#define GPT_CODE_FILE_MAX 4096 /* bytes kept of the file name: PATH_MAX */
#define GPT_CODE_TRUNCATED 1   /* flags: a string or the line table was cut */
#define GPT_CODE_UNREAD 2      /* flags: something but the line table could not be read; it may be described again */

/*
 * Strings are kept as CPython has them: `kind` bytes per character (1: Latin-1 or ASCII, 2: UCS-2, 4: UCS-4;
 * 0: absent or unreadable), `bytes` long, one after the other in data[], each padded to 8 bytes.
 * Order: name, qualname, filename.
 */
#define GPT_ROWS_code(F, R, A) \
	F(__u64, code, "delta") \
	F(__u32, pid, "pid") \
	F(__u32, first_line, "delta") \
	F(__u32, name_bytes, "delta") F(__u32, qualname_bytes, "delta") F(__u32, filename_bytes, "delta") \
	F(__u8, name_kind, "raw") F(__u8, qualname_kind, "raw") F(__u8, filename_kind, "raw") \
	F(__u8, linetable, "raw") /* enum gpt_linetable */ \
	/* in all; they follow as GPT_CODE_LINES, if they are not more than GPT_CODE_LINES_MAX */ \
	F(__u32, linetable_bytes, "delta") \
	/* bytes; a frame before this instruction has not started, and Python hides it */ \
	F(__u32, first_traceable, "delta")
struct gpt_code {
	GPT_HEAD(code)
	__u8 data[];
};

#define GPT_CODE_LINES_CHUNK 4096 /* bytes in one GPT_CODE_LINES, at most */
#define GPT_CODE_LINES_MAX (64 * GPT_CODE_LINES_CHUNK)

#define GPT_ROWS_code_lines(F, R, A) \
	F(__u64, code, "delta") \
	F(__u32, pid, "pid") \
	F(__u32, offset, "delta") /* of data[] in the line table */ \
	F(__u32, bytes, "delta") \
	F(__u32, pad, "raw")
struct gpt_code_lines {
	GPT_HEAD(code_lines)
	__u8 data[];
};

#define GPT_ROWS_code_dead(F, R, A) \
	F(__u64, code, "delta") \
	F(__u64, time_ns, "time") \
	F(__u32, pid, "pid") \
	F(__u32, pad, "raw")
struct gpt_code_dead GPT_RECORD(code_dead);

#define GPT_PYEVENT_NAME_MAX 256 /* bytes kept of a module's name */
#define GPT_PYEVENT_TRUNCATED 1	 /* flags: the name was cut */

#define GPT_ROWS_pyevent(F, R, A) \
	F(__u64, time_ns, "time") \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	/* address on the thread's stack: equal for start and end of one slice, lower for deeper ones */ \
	F(__u64, frame, "delta") \
	F(__s64, value, "delta")      /* collection: its generation at the start; -1: not known */ \
	F(__u8, kind, "raw")          /* enum gpt_pyevent_kind */ \
	F(__u8, ends, "raw")          /* 0: begins */ \
	F(__u8, name_kind, "raw")     /* import: bytes a character as in gpt_code, 0: name[] is UTF-8 */ \
	F(__u8, pad, "raw") \
	F(__u32, name_bytes, "delta") /* 0: none, as for ends */
struct gpt_pyevent {
	GPT_HEAD(pyevent)
	__u8 name[];
};

/* An entry into a frame (also when a generator resumes) or an exit from it (return, yield, exception). */
#define GPT_ROWS_pycall(F, R, A) \
	F(__u64, time_ns, "time") \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	R(__u64, code, "id", CODE) /* entry: the code object, described before; 0: the frame is left */ \
	F(__u64, frame, "delta")   /* as in gpt_pyevent */
struct gpt_pycall GPT_RECORD(pycall);

/*
 * A Python stack that the agent requested (gputrace_agent_stack); the event that it belongs to comes later, in a batch.
 */
#define GPT_ROWS_stack_at(F, R, A) \
	F(__u64, time_ns, "time") \
	R(__u64, stack_id, "id", PYSTACK) /* as gpt_call.stack_id */ \
	F(__u64, number, "delta")         /* the agent's number; unique for this `what` in the process epoch */ \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	F(__u32, what, "id")              /* enum gpt_stack_of */ \
	F(__u8, stack_state, "id")        /* enum gpt_stack_state */ \
	A(__u8, pad, 3, 1, "raw")
struct gpt_stack_at GPT_RECORD(stack_at);

/* ---- what threads did ----------------------------------------------------------------------- */

/* A thread was on a CPU when that CPU's clock ticked (--cpu). */
#define GPT_ROWS_sample(F, R, A) \
	F(__u64, time_ns, "time") \
	R(__u64, stack_id, "id", PYSTACK) /* as gpt_call.stack_id */ \
	/* gpt_native_stack.id: the innermost function, in user space; 0: none */ \
	R(__u64, native_id, "id", NATIVE_STACK) \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	F(__u32, period_ns, "id")         /* CPU time that it stands for: the distance of two ticks */ \
	F(__u8, stack_state, "id")        /* enum gpt_stack_state */ \
	F(__u8, place, "id")              /* enum gpt_sample_place */ \
	A(__u8, pad, 2, 1, "raw")
struct gpt_sample GPT_RECORD(sample);

#define GPT_WAIT_OPEN 1 /* flags: still waiting at the end of the recording, which end_ns is then */

/*
 * A thread was off the CPU (--off-cpu). Sent when it runs again; waits of one thread do not overlap. For a thread that
 * never slept (GPT_WAIT_PREEMPTED and the like) woken_ns is time_ns: it was runnable from then on.
 */
#define GPT_ROWS_wait(F, R, A) \
	F(__u64, time_ns, "time")               /* it left the CPU */ \
	F(__u64, woken_ns, "+time_ns")          /* it was made runnable; 0: not seen */ \
	F(__u64, end_ns, "+time_ns")            /* it runs again */ \
	R(__u64, stack_id, "id", PYSTACK)       /* as gpt_call.stack_id, when it left the CPU */ \
	R(__u64, native_id, "id", NATIVE_STACK) /* as in gpt_sample */ \
	F(__u64, waker_stack_id, "id")          /* stack of the waker when it woke this thread; id of waker_pid */ \
	F(__u64, arg, "id")                     /* futex: its address; else the awaited descriptor; 0: none */ \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	F(__u32, waker_pid, "id") F(__u32, waker_tid, "id") /* 0: waker is neither THREAD nor OTHER */ \
	/* GPT_WAIT_GIL: the thread that had the lock, in the initial pid namespace; 0: not known */ \
	R(__u32, holder_tid, "id", THREAD) \
	F(__s32, syscall, "id")                 /* its number, -1: it was in none */ \
	F(__u8, reason, "id")                   /* enum gpt_wait_reason */ \
	F(__u8, stack_state, "id")              /* enum gpt_stack_state */ \
	F(__u8, waker, "id")                    /* enum gpt_waker */ \
	F(__u8, waker_stack_state, "id") \
	F(__u32, pad, "raw") \
	A(char, waker_comm, GPT_COMM, 8, "id")  /* empty: as waker_pid */
struct gpt_wait GPT_RECORD(wait);

/*
 * Read from outside while the loop of some tasks of asyncio waited: its thread did not run from time_ns to end_ns. One
 * record for each stack of coroutines in which tasks await something that is not a task.
 */
#define GPT_ROWS_await(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, end_ns, "+time_ns") \
	R(__u64, stack_id, "id", PYSTACK) /* gpt_pystack.id of the same pid: the coroutines */ \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) /* the thread that runs the loop */ \
	F(__u32, tasks, "id") /* in this stack */ \
	F(__u32, all, "id")   /* in all stacks */
struct gpt_await GPT_RECORD(await);

/*
 * A thread launches a kernel inside an NCCL call, or inside the ncclGroupEnd after several. That launch is the GPT_CALL
 * or GPT_CALL_ARGS of the same thread and time, which follows.
 */
#define GPT_ROWS_nccl(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, comm, "id")    /* ncclComm_t, 0: one of several, which are not told apart */ \
	F(__u64, comm_id, "id") /* hash of the ncclUniqueId it was made with: the same on all ranks; 0: not known */ \
	/* as passed; the sum for several calls of one communicator and type; -1: no single number */ \
	F(__s64, count, "id") \
	/* collectives that the communicator had before, without sends and receives; -1: not known */ \
	F(__s64, sequence, "delta") \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	F(__u32, calls, "id")   /* NCCL calls that this stands for */ \
	F(__s32, rank, "id")    /* rank in the communicator, -1: not known */ \
	F(__s32, ranks, "id")   /* 0: not known */ \
	F(__u8, function, "id") /* enum gpt_nccl_function (nccl.h) */ \
	F(__s8, dtype, "id")    /* ncclDataType_t, -1: several */ \
	A(__u8, pad, 2, 1, "raw") \
	/* a bit for each rank of the communicator, below 64, that a send goes to, or a receive comes from */ \
	F(__u64, sends, "id") \
	F(__u64, receives, "id") \
	F(__u32, pairs, "id")      /* sends and receives among the calls */ \
	F(__u32, more_pairs, "id") /* those of them with a rank from 64 on, or not read */
struct gpt_nccl GPT_RECORD(nccl);

/* ---- CUPTI's other users ------------------------------------------------------------------------------------ */

enum gpt_cupti_function {
	GPT_CUPTI_REGISTER = 1,	 /* cuptiActivityRegisterCallbacks: CUPTI fills the caller's buffers from now on */
	GPT_CUPTI_ENABLE = 2,	 /* cuptiActivityEnable */
	GPT_CUPTI_DISABLE = 3,	 /* cuptiActivityDisable */
	GPT_CUPTI_FLUSH = 4,	 /* cuptiActivityFlushAll */
	GPT_CUPTI_ATTRIBUTE = 5, /* cuptiActivitySetAttribute */
};

/* A call of the activity API in the process, by any client; of the agent's own calls only GPT_CUPTI_REGISTER. */
#define GPT_ROWS_cupti_use(F, R, A) \
	F(__u64, time_ns, "time") /* at entry */ \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	F(__u32, value, "id")     /* the first argument: of ENABLE and DISABLE the kind */ \
	F(__u8, what, "raw")      /* enum gpt_cupti_function */ \
	F(__u8, own, "raw")       /* enum gpt_cupti_caller */ \
	F(__u16, pad, "raw") \
	F(__u64, caller, "id")    /* UNKNOWN: the return address; else 0 */
struct gpt_cupti_use GPT_RECORD(cupti_use);

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
#define GPT_ROWS_cupti_done(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, address, "delta") \
	F(__u64, bytes, "delta")  /* of records in it */ \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	/* first bytes of the buffer at that time; 0: could not be read */ \
	A(__u8, head, GPT_CUPTI_DONE_HEAD, 8, "raw") \
	F(__u32, copied, "delta") /* bytes of data[]: all of them or none */ \
	F(__u32, pad, "raw")
struct gpt_cupti_done {
	GPT_HEAD(cupti_done)
	__u8 data[];
};

/* ---- native --------------------------------------------------------------------------------- */

#define GPT_NATIVE_MAX_FRAMES 64

#define GPT_ROWS_native_stack(F, R, A) \
	F(__u64, id, "raw") \
	F(__u32, pid, "pid") \
	F(__u32, depth, "delta")
struct gpt_native_stack {
	GPT_HEAD(native_stack)
	__u64 ip[]; /* innermost first */
};

#define GPT_ROWS_native_sym(F, R, A) \
	F(__u64, ip, "delta") \
	F(__u32, pid, "pid") \
	F(__u32, bytes, "delta") /* of text */
struct gpt_native_sym {
	GPT_HEAD(native_sym)
	char text[]; /* "symbol\0module\0", symbol as in the ELF file (mangled), empty when unknown */
};

/* ---- generated code ------------------------------------------------------------------------- */

/*
 * What the comments of a file written by PyTorch's compiler say about a line that launches. Unchecked, as the target
 * has it.
 */
#define GPT_ROWS_generated(F, R, A) \
	F(__u32, pid, "pid")           /* the process on whose stack it was found */ \
	F(__u32, line, "delta")        /* of the file */ \
	F(__u32, kernel_line, "delta") /* line of the kernel's function in its own file, 0: not known */ \
	F(__u32, bytes, "delta")
struct gpt_generated {
	GPT_HEAD(generated)
	/* "file\0kernel\0source nodes\0original ops\0file of the kernel's function\0" */
	char text[];
};

/* Python source that is in no file, as the process has it in linecache. Unchecked. */
#define GPT_ROWS_python_source(F, R, A) \
	F(__u32, pid, "pid") /* the process on whose stack it was found */ \
	F(__u32, bytes, "delta")
struct gpt_python_source {
	GPT_HEAD(python_source)
	char text[]; /* "file\0source" */
};

/* ---- modules of PyTorch ---------------------------------------------------------------------- */

#define GPT_MODULE_UNNAMED 1 /* flags: it has no name; text says why */

/* A torch.nn.Module; the last record of (pid, module, generation) counts.  Unchecked, as the target has it. */
#define GPT_ROWS_module(F, R, A) \
	F(__u64, time_ns, "time")     /* when it was read */ \
	F(__u64, module, "delta")     /* address of the object */ \
	F(__u64, root, "id")          /* address of the module at the root of its tree; itself: it is the root */ \
	F(__u32, pid, "pid") \
	F(__u32, generation, "delta") /* the same address with another generation is another module */ \
	F(__u32, root_number, "id")   /* of the roots of the process, from 1 on, in the order met; 0: not known */ \
	F(__u32, names, "delta")      /* in the tree: more than 1 if it is shared */ \
	F(__u32, bytes, "delta")      /* of text */ \
	F(__u32, pad, "raw")
struct gpt_module {
	GPT_HEAD(module)
	/* "name\0class\0class of the root\0why it has no name\0", then its other names, as many as there was room for */
	char text[];
};

/* ---- who holds tensors ---------------------------------------------------------------------- */

/* With --memory, before the end: the Python objects of a process were searched, from outside, while it ran. */
#define GPT_ROWS_holders(F, R, A) \
	F(__u64, time_ns, "time")   /* the search began */ \
	F(__u64, objects, "delta")  /* that were read */ \
	F(__u64, tensors, "delta")  /* among them */ \
	F(__u32, pid, "pid") \
	F(__u32, state, "delta") /* enum gpt_holders_state */ \
	F(__u32, bytes, "delta") /* of text */ \
	F(__u32, pad, "raw")
struct gpt_holders {
	GPT_HEAD(holders)
	char text[]; /* "why nothing was found\0", empty where something was */
};

struct gpt_held_storage {
	__u64 address; /* as gpt_agent_torch_memory.address */
	__u64 bytes;
};

#define GPT_HOLDER_STORAGES                                                                                            \
	32768u /* in one record, at most; more follow in records with the same texts and no counts */

/* A variable or an attribute that holds tensors; all of the same name are one.  Unchecked, as the target has it. */
#define GPT_ROWS_holder(F, R, A) \
	F(__u64, items, "delta") /* in all its containers, ~0: they cannot be counted */ \
	F(__u32, pid, "pid") \
	F(__u32, containers, "delta") /* variables and attributes of that name */ \
	F(__u32, tensors, "delta")    /* with a storage that no other holder before this one has */ \
	F(__u32, graphs, "delta")     /* of these, with an autograd graph */ \
	F(__u32, storages, "delta")   /* struct gpt_held_storage at the start of data */ \
	F(__u32, bytes, "delta")      /* of the text after them */
struct gpt_holder {
	GPT_HEAD(holder)
	__u8 data[]; /* storages, then "place\0path\0type of the containers\0" */
};

/* ---- processes and threads ------------------------------------------------------------------ */

#define GPT_ROWS_thread(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u32, pid, "pid") F(__u32, tid, "delta") \
	A(char, comm, GPT_COMM, 8, "id") \
	/* as CUPTI's records name the thread; logs from before borrowed CUPTI lack them */ \
	F(__u32, own_tid, "delta") /* in its own pid namespace */ \
	F(__u32, pointer, "delta") /* lower half of pthread_self() */
struct gpt_thread GPT_RECORD(thread);

#define GPT_ROWS_process_event(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u32, pid, "pid") \
	/* GPT_FORK: the parent; GPT_EXIT: the signal that ended it, 0: none, or not known */ \
	F(__u32, other_pid, "id") \
	A(char, comm, GPT_COMM, 8, "id")
struct gpt_process_event GPT_RECORD(process_event);

#define GPT_MAPPED_STOPPED 1 /* flags: the thread must be stopped until its probes are in place */
#define GPT_MAPPED_OTHER 2   /* unrecognised file name; more of these within GPT_MAPPED_OTHER_NS are not reported */
#define GPT_MAPPED_OTHER_NS 5000000ULL
#define GPT_MAPPED_MORE 4   /* further files that the process maps in this GPT_MAPPED_WINDOW_NS are not reported */
#define GPT_MAPPED_PROBED 8 /* with STOPPED: its probes are in place, but no Python of the process is known (yet) */

#define GPT_ROWS_mapped(F, R, A) \
	F(__u64, time_ns, "time") \
	R(__u32, pid, "pid", PROCESS) R(__u32, tid, "id", THREAD) \
	A(char, name, 64, 8, "id") /* last component of the file's name, NUL-terminated */
struct gpt_mapped GPT_RECORD(mapped);

#define GPT_ROWS_process(F, R, A) \
	F(__u64, time_ns, "time")   /* when this was found out */ \
	F(__u64, start_ns, "delta") /* start of the process, CLOCK_MONOTONIC; 0: not known */ \
	F(__u32, pid, "pid") \
	F(__u32, parent, "id") \
	F(__u16, python, "id")      /* major << 8 | minor, 0: no interpreter found (yet) */ \
	F(__u8, mounts, "id")       /* enum gpt_mounts */ \
	F(__u8, pad, "raw") \
	F(__u32, bytes, "delta")    /* of text */
struct gpt_process {
	GPT_HEAD(process)
	/* "comm\0executable\0command line, blanks between arguments\0python library path\0"; older logs lack
	 * the rest: "RANK\0LOCAL_RANK\0" from the program's initial environment, digits, else empty;
	 * "real uid\0cgroup\0container id\0container name\0pod uid\0pod name\0", empty where not known;
	 * "MASTER_ADDR:MASTER_PORT\0TORCHELASTIC_RUN_ID\0" like RANK, empty where not set */
	char text[];
};

/* ---- the collector's own -------------------------------------------------------------------- */

#define GPT_ROWS_text(F, R, A) \
	R(__u32, pid, "pid", PROCESS) /* 0: the whole trace */ \
	F(__u32, bytes, "delta")
struct gpt_text {
	GPT_HEAD(text)
	char text[]; /* NUL-terminated UTF-8 */
};

#define GPT_SESSION_STEP "step:" /* prefix of the value given as --step */
#define GPT_SESSION_UNASKED                                                                                            \
	"unasked:cpu" /* what runs and what waits is recorded by default, not by the user's choice */
#define GPT_SESSION_NO_SUDO "no sudo" /* where it was recorded sudo gives no right to use BPF */

#define GPT_ROWS_session(F, R, A) \
	F(__u32, metric_launches, "delta") /* 1: folded lines count launches by choice of the user */ \
	F(__u32, min_complete, "delta")    /* percent, rounded down; text has it in full */ \
	F(__u32, cpus, "delta") \
	F(__u32, bytes, "delta")
struct gpt_session {
	GPT_HEAD(session)
	/* "gputrace version\0host\0kernel release\0target as the user named it\0"; older logs lack the rest:
	 * "least completeness in thousandths of a percent\0agent: auto, require or off\0boot id of the
	 * machine\0" "ns that the machine had slept: CLOCK_BOOTTIME - CLOCK_MONOTONIC\0", and any number of
	 * labels "key=value\0". The value of --step is among them, without a "=": "step:py:handle\0", and so are
	 * GPT_SESSION_UNASKED and GPT_SESSION_NO_SUDO. */
	char text[];
};

#define GPT_ROWS_clock(F, R, A) \
	F(__u64, mono_ns, "time") \
	F(__s64, wall_offset_ns, "delta") /* CLOCK_REALTIME - CLOCK_MONOTONIC at mono_ns */ \
	F(__u64, error_ns, "delta")       /* half the width of the sample */
struct gpt_clock GPT_RECORD(clock);

#define GPT_START_AT 1	     /* flags: the moment was asked for (--start-at) */
#define GPT_START_COMMAND 2  /* flags: with the program that gputrace started */
#define GPT_START_UNSYNCED 4 /* flags: the kernel says that nothing keeps the wall clock right */

/* The recording begins at time_ns, in all processes.  What has an earlier time is not part of it. */
#define GPT_ROWS_start(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, set_up_ns, "delta")     /* gputrace began to set up, CLOCK_MONOTONIC */ \
	F(__u64, ready_ns, "delta")      /* and was ready */ \
	F(__s64, asked_wall_ns, "delta") /* the moment asked for, CLOCK_REALTIME */ \
	F(__u64, late_ns, "delta")       /* after that moment */ \
	F(__u64, wall_error_ns, "delta") /* the kernel's bound of the wall clock's error, ~0: not known */ \
	F(__u64, left_out, "delta")      /* calls from before that are not in the log */ \
	F(__u32, processes, "delta")     /* followed at that time */ \
	F(__u32, unready, "delta")       /* of these, agents that had not begun yet */ \
	F(__u32, flags, "delta") \
	F(__u32, pad, "raw")
struct gpt_start GPT_RECORD(start);

/*
 * One for each part (gpt_cost_part), before the end; and one with GPT_COST_THREAD for the thread that paid most to BPF
 * programs. A part that the recording did not have has no record.
 */
#define GPT_COST_THREAD 1 /* flags: not a part, but what all BPF programs took of one thread */

#define GPT_ROWS_cost(F, R, A) \
	F(__u64, count, "delta") \
	F(__u64, ns, "delta")         /* in all; 0 where it was not measured */ \
	F(__u64, long_count, "delta") /* of these, such as took over GPT_COST_MOST_NS, */ \
	F(__u64, long_ns, "delta")    /* and their time: other work may have interrupted them */ \
	F(__u64, span_ns, "delta")    /* GPT_COST_THREAD: from the first to the thread's end, or the recording's */ \
	F(__u32, part, "delta")       /* enum gpt_cost_part, 0 for GPT_COST_THREAD */ \
	F(__u32, state, "delta")      /* enum gpt_cost_state */ \
	F(__u32, pid, "id") F(__u32, tid, "id") /* GPT_COST_THREAD, else 0 */
struct gpt_cost GPT_RECORD(cost);

#define GPT_DETAIL_LAST 1 /* flags: no change, but the last measurement before the end */

#define GPT_ROWS_detail(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, measured, "delta") \
	F(__u64, limit, "id")  /* what both are: enum gpt_detail_why */ \
	F(__u32, level, "id")  /* details.h */ \
	F(__u32, off, "id")    /* 1 << enum gpt_detail_kind: of what the trace was to record */ \
	F(__u32, why, "id")    /* enum gpt_detail_why, also where the level rises: what had lowered it */ \
	F(__u32, pid, "id") F(__u32, tid, "id") /* GPT_DETAIL_COST: the thread that paid */ \
	F(__u32, pad, "raw")
struct gpt_detail GPT_RECORD(detail);

#define GPT_ROWS_end(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, cpu_ns, "delta")         /* the collector's own CPU time while recording */ \
	F(__u64, ring_bytes, "delta")     /* size of the ring buffer */ \
	F(__u64, ring_bytes_max, "delta") /* highest fill seen */ \
	F(__u32, reason, "delta")         /* enum gpt_end_reason */ \
	F(__u32, counters_count, "delta")
struct gpt_end {
	GPT_HEAD(end)
	__u64 counters[]; /* enum gpt_counter */
};

/* ---- counters of GPUs ----------------------------------------------------------------------- */

#define GPT_UUID 16 /* bytes, as CUPTI has a device's uuid (gpt_agent_device.uuid) */

/* What NVML says of a GPU, which the log's other records know by its uuid.  All bits set: it does not say. */
#define GPT_ROWS_gpu_sample(F, R, A) \
	F(__u64, time_ns, "time")        /* when NVML was asked */ \
	A(__u8, uuid, GPT_UUID, 8, "id") /* of a MIG instance: the clocks are its GPU's */ \
	F(__u32, sm_mhz, "id") F(__u32, sm_max_mhz, "id") \
	F(__u32, memory_mhz, "id") F(__u32, memory_max_mhz, "id") \
	F(__u32, power_mw, "delta") F(__u32, power_limit_mw, "id") \
	F(__u32, temperature_c, "delta") \
	F(__u32, took_us, "delta")       /* until it had answered */ \
	F(__u64, reasons, "id")          /* why clocks are low: enum gpt_clock_reason */ \
	/* bytes since some time; may wrap around */ \
	F(__u64, pcie_tx, "delta") F(__u64, pcie_rx, "delta") \
	F(__u64, nvlink_tx, "delta") F(__u64, nvlink_rx, "delta")
struct gpt_gpu_sample GPT_RECORD(gpu_sample);

#define GPT_ROWS_gpu_process(F, R, A) \
	F(__u64, time_ns, "time") \
	A(__u8, uuid, GPT_UUID, 8, "id") \
	F(__u64, bytes, "delta")          /* all bits set: not known */ \
	F(__u32, pid, "id")               /* initial pid namespace; it need not be a traced process */ \
	F(__u32, pad, "raw") \
	A(char, comm, GPT_COMM, 8, "id")  /* empty: not known */
struct gpt_gpu_process GPT_RECORD(gpu_process);

#define GPT_ROWS_gpu_error(F, R, A) \
	F(__u64, time_ns, "time") \
	A(__u8, uuid, GPT_UUID, 8, "id") \
	F(__u64, data, "id") /* GPT_GPU_XID: its number */ \
	F(__u32, kind, "id") /* enum gpt_gpu_error_kind */ \
	F(__u32, pad, "raw")
struct gpt_gpu_error GPT_RECORD(gpu_error);

#define GPT_ROWS_nvml(F, R, A) \
	F(__u32, state, "id") /* enum gpt_nvml_state */ \
	F(__u32, bytes, "delta")
struct gpt_nvml {
	GPT_HEAD(nvml)
	char text[]; /* "READ: the driver's version; else why not\0" */
};

/* ---- batches from the agent ----------------------------------------------------------------- */

#define GPT_BATCH_FOREIGN 1   /* flags: not from an agent: the collector made it of a foreign buffer (GPT_CUPTI_DONE) */
#define GPT_BATCH_MONOTONIC 2 /* flags: fields named *_wall_ns are CLOCK_MONOTONIC, accurate to error_ns */

#define GPT_ROWS_agent_batch_only(F, R, A) \
	F(__u64, time_ns, "time") /* when the collector's program copied it */ \
	F(__u32, pid, "pid") F(__u32, tid, "id") \
	F(__u32, bytes, "delta")  /* of data[], hostile until checked */
#define GPT_ROWS_agent_batch(F, R, A) GPT_ROWS_agent_batch_only(F, R, A) F(__u32, error_ns, "delta")
struct gpt_agent_batch {
	GPT_HEAD(agent_batch_only)
	union {
		__u32 error_ns; /* of GPT_BATCH_MONOTONIC */
		__u32 uid;      /* of others from BPF: the user whose process sent it */
	};
	__u8 data[]; /* records of agent.h, each with a struct gpt_record */
};

/* The rows of elements of arrays that follow a struct; of the frames: GPT_ROWS_pyframe. */
#define GPT_ROWS_native_ip(F, R, A) F(__u64, ip, "id")
#define GPT_ROWS_end_counter(F, R, A) F(__u64, counter, "delta")

/* Sizes are what logs have, and rows leave no gap. */
#define GPT_BYTES(type, name, ...) + sizeof(type)
#define GPT_ARRAY_BYTES(type, name, count, ...) + (count) * sizeof(type)
#define GPT_CHECK(type, number, name, record, bytes, least, ...) \
	_Static_assert(sizeof(struct gpt_##record) == (bytes), "log layout of " #record); \
	_Static_assert(sizeof(struct gpt_record) GPT_ROWS_##record(GPT_BYTES, GPT_BYTES, GPT_ARRAY_BYTES) == (bytes), \
		       "log layout of " #record ": a gap");
GPT_RECORDS(GPT_CHECK)
/* clang-format on */

_Static_assert(sizeof(struct gpt_record) == 8, "log layout");
_Static_assert(sizeof(struct gpt_pyframe) == 16, "log layout");
_Static_assert(sizeof(struct gpt_stack_module) == sizeof(struct gpt_pyframe), "log layout");
_Static_assert(sizeof(struct gpt_held_storage) == 16, "log layout");
