/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The contract between the agent, which lives inside a CUDA process, and the collector.
 *
 * The agent talks to the collector by calling exported functions that do nothing: each begins with a 5-byte nop on
 * which the collector puts a uprobe. Two counters show the agent who listens. The kernel raises them when a probe is
 * attached and lowers them when the collector goes, also by SIGKILL. GPUTRACE_AGENT_SEMAPHORE, of the probes on _call
 * and _state, is the session's switch: at zero the agent leaves CUPTI and ends its thread.
 * GPUTRACE_AGENT_BATCH_SEMAPHORE belongs to the probe on _batch. The collector never writes to the process except
 * through these counters. It raises them in the processes that it traces, where the kernel can do that.
 *
 * The collector raises more of them as other CUPTI clients come and go. Another client that registers its buffers makes
 * CUPTI forget the agent's: the collector then raises GPUTRACE_AGENT_YIELD_SEMAPHORE, and the agent leaves the activity
 * API alone. GPUTRACE_AGENT_RESUME_SEMAPHORE, raised while YIELD still is, means that the other client has finished:
 * the agent registers again; then both are lowered. YIELD lowered alone means nothing: this happens when the collector
 * dies. GPUTRACE_AGENT_SHARE_SEMAPHORE, raised while YIELD is: the other client wants kinds of GPT_AGENT_SHARED_KINDS,
 * too. GPUTRACE_AGENT_RESTART_SEMAPHORE is raised by a collector that comes to an agent which reported to another one
 * before: the agent repeats what it reports only once (state, HELLO, names, devices).
 *
 * GPUTRACE_AGENT_CALLS_SEMAPHORE, raised after the state GPT_AGENT_GIVING_UP: the collector has its own probes on
 * calls, and the agent no longer needs to report them.
 *
 * PyTorch's ops are a session of their own, which needs no CUDA: it lasts as long as GPUTRACE_AGENT_OPS_SEMAPHORE is
 * raised (with GPUTRACE_AGENT_BATCH_SEMAPHORE), on a thread of its own.  Its last record is a GPT_AGENT_OPS (STOPPED,
 * REFUSED).
 *
 * Attach in the order _batch, then _state and _call; so the agent's first HELLO has a listener.  To end a
 * trace detach _call and _state and leave _batch: the agent sends what is left, then a HELLO whose state is
 * GPT_AGENT_STOPPED as the last record of its last batch; then detach _batch.
 *
 * The driver loads the library (CUDA_INJECTION64_PATH) and calls InitializeInjection; or the collector makes a thread
 * of the process call dlopen with a path below /proc, and the library starts by itself. A library that is in the
 * process already, or that was loaded by GPUTRACE_AGENT_ASLEEP, is started by a call of gputrace_agent_start when its
 * gputrace_agent_status says that it is idle. NVTX loads it too, where NVTX_INJECTION64_PATH names it, and calls
 * InitializeInjectionNvtx2: ranges are recorded then.
 *
 * All integers are little-endian; every record is a multiple of 8 bytes. The collector trusts nothing of it.
 */
#pragma once

#include <gputrace/record.h>

/*
 * Agent and collector must have the same number: an agent with another one is left alone and reported. Raised by each
 * change of the exported names or of their arguments; tests/unit/agent_library.sh checks that both agree.
 */
#define GPT_AGENT_ABI 13

/*
 * Exported symbols of the agent.
 *
 * gputrace_agent_call(u32 corr, u32 api, const void *params): on the application's thread, from CUPTI's API callback
 *     at the entry of each outermost call of cuda_api.h; api is GPT_API(domain, cbid), params its functionParams.
 * gputrace_agent_batch(const void *data, u64 bytes, u64 own_thread): on one thread at a time; bytes <=
 *     GPT_AGENT_BATCH_MAX; own_thread: 1 on a thread of the agent's own, whose waits are not recorded, else 0.
 * gputrace_agent_stack(u32 what, u64 number): on the application's thread: its Python stack belongs to the event that
 *     the agent is about to report under that number (enum gpt_stack_of; GPT_STACK_AT in the log). Its semaphore says
 *     only that a collector listens; other semaphores say for which events stacks are wanted.
 * gputrace_agent_state(u32 state, u32 abi): on any thread, at each change of state; from GPT_AGENT_READY on,
 *     until GPT_AGENT_STOPPED, every call of cuda_api.h in this process is reported by gputrace_agent_call.
 */
#ifdef __x86_64__
#define GPUTRACE_AGENT_TRAP 5u /* bytes from the start of each function to the instruction where a breakpoint goes */
#else
#define GPUTRACE_AGENT_TRAP 0u
#endif
#define GPUTRACE_AGENT_CALL "gputrace_agent_call"
#define GPUTRACE_AGENT_BATCH "gputrace_agent_batch"
#define GPUTRACE_AGENT_STATE "gputrace_agent_state"
#define GPUTRACE_AGENT_STACK "gputrace_agent_stack"
#define GPUTRACE_AGENT_ASLEEP "//proc/" /* a path with this prefix: loaded, not started */
/*
 * void (const char *asked): begins a session and returns at once. asked: the path of the libcupti to use; NULL or "":
 * the agent looks for one. With the prefix "@NAME:" the agent first connects to the collector whose socket has that
 * name (gputrace/share.h).
 */
#define GPUTRACE_AGENT_START "gputrace_agent_start"
#define GPUTRACE_AGENT_JOIN '@'
#define GPUTRACE_AGENT_ABI_SYMBOL "gputrace_agent_abi" /* u32, read from the file */
#define GPUTRACE_AGENT_STATUS "gputrace_agent_status"  /* struct gpt_agent_status, read from the process's memory */
#define GPUTRACE_AGENT_SEMAPHORE "gputrace_agent_semaphore"		/* unsigned short, in .probes */
#define GPUTRACE_AGENT_BATCH_SEMAPHORE "gputrace_agent_batch_semaphore" /* the same */
/* Functions that are never called: they carry the probes that raise the counters. */
#define GPUTRACE_AGENT_YIELD "gputrace_agent_yield"
#define GPUTRACE_AGENT_RESUME "gputrace_agent_resume"
#define GPUTRACE_AGENT_RESTART "gputrace_agent_restart"
#define GPUTRACE_AGENT_SHARE "gputrace_agent_share"
#define GPUTRACE_AGENT_CALLS "gputrace_agent_calls"
#define GPUTRACE_AGENT_OPS "gputrace_agent_ops"
#define GPUTRACE_AGENT_SHAPES "gputrace_agent_shapes" /* the inputs of ops, too */
/* While as many listeners raise these as want ops: no inputs; no ops but those that the program names (details.h). */
#define GPUTRACE_AGENT_SHAPES_OFF "gputrace_agent_shapes_off"
#define GPUTRACE_AGENT_OPS_OFF "gputrace_agent_ops_off"
#define GPUTRACE_AGENT_TORCH_MEMORY "gputrace_agent_torch_memory"   /* events of PyTorch's allocators */
#define GPUTRACE_AGENT_MEMORY_LINES "gputrace_agent_memory_lines"   /* the Python stack of each */
#define GPUTRACE_AGENT_FORWARD_LINES "gputrace_agent_forward_lines" /* Python stacks of ops with an autograd number */
/*
 * GPT_SCHEDULE_SEMAPHORES functions, GPUTRACE_AGENT_SCHEDULE_STEP bytes apart, with one counter each. The raised
 * counters are the set bits of a struct gpt_schedule, field by field, and GPT_SCHEDULE_BEGUN. The agent reads the
 * fields when the session of ops begins: raise them before that session's counter, and lower them after it.
 */
#define GPUTRACE_AGENT_SCHEDULE "gputrace_agent_schedule"
#define GPUTRACE_AGENT_SCHEDULE_SEMAPHORES "gputrace_agent_schedule_semaphores"
#define GPUTRACE_AGENT_SCHEDULE_STEP 8u
#define GPUTRACE_AGENT_YIELD_SEMAPHORE "gputrace_agent_yield_semaphore"			/* unsigned short, in .probes */
#define GPUTRACE_AGENT_RESUME_SEMAPHORE "gputrace_agent_resume_semaphore"		/* the same */
#define GPUTRACE_AGENT_RESTART_SEMAPHORE "gputrace_agent_restart_semaphore"		/* the same */
#define GPUTRACE_AGENT_SHARE_SEMAPHORE "gputrace_agent_share_semaphore"			/* the same */
#define GPUTRACE_AGENT_CALLS_SEMAPHORE "gputrace_agent_calls_semaphore"			/* the same */
#define GPUTRACE_AGENT_OPS_SEMAPHORE "gputrace_agent_ops_semaphore"			/* the same */
#define GPUTRACE_AGENT_SHAPES_SEMAPHORE "gputrace_agent_shapes_semaphore"		/* the same */
#define GPUTRACE_AGENT_SHAPES_OFF_SEMAPHORE "gputrace_agent_shapes_off_semaphore"	/* the same */
#define GPUTRACE_AGENT_OPS_OFF_SEMAPHORE "gputrace_agent_ops_off_semaphore"		/* the same */
#define GPUTRACE_AGENT_STACK_SEMAPHORE "gputrace_agent_stack_semaphore"			/* the same */
#define GPUTRACE_AGENT_FORWARD_LINES_SEMAPHORE "gputrace_agent_forward_lines_semaphore" /* the same */
#define GPUTRACE_AGENT_TORCH_MEMORY_SEMAPHORE "gputrace_agent_torch_memory_semaphore"	/* the same */
#define GPUTRACE_AGENT_MEMORY_LINES_SEMAPHORE "gputrace_agent_memory_lines_semaphore"	/* the same */

/* Whether the agent works, for a collector that comes to a process which has one. Fields are only appended. */
struct gpt_agent_status {
	__u32 bytes;	/* of this struct, as the agent has it */
	__u32 life;	/* enum gpt_agent_life */
	__u32 sessions; /* begun so far */
	/* The process's number in its own pid namespace, where its filters of system calls keep the agent from joining
	 * a collector by itself (share.h); else 0, or a parent's. */
	__u32 declined;
};

enum gpt_agent_life {
	GPT_AGENT_IDLE = 0, /* no gputrace thread: GPUTRACE_AGENT_START wakes it */
	GPT_AGENT_STARTING = 1,
	GPT_AGENT_RUNNING = 2, /* until it has left CUPTI */
	GPT_AGENT_DEAD = 3,    /* in the child of a fork: no thread, and CUDA does not survive it either */
};

/* Kinds that a torch.profiler session records only on request: CUpti_ActivityKind CUDA_EVENT, SYNCHRONIZATION. */
#define GPT_AGENT_SHARED_KINDS (1ULL << 36 | 1ULL << 38)

#define GPUTRACE_AGENT_FILE "libgputrace-agent.so"

/* Batches are copied in one of three sizes: keep a batch just below one of these. */
#define GPT_AGENT_BATCH_SMALL 1024u
#define GPT_AGENT_BATCH_MEDIUM 8192u
#define GPT_AGENT_BATCH_MAX 32768u

#define GPT_AGENT_STATS_FIRST 96 /* bytes, without `misdirected` and what follows it */

/* clang-format off */
/* As GPT_RECORDS (record.h); events may be late. */
#define GPT_AGENT_RECORDS(X) \
	/* first record of the first batch, and at changes */ \
	X(GPT_AGENT_HELLO, 64, agent_hello, agent_hello, 40, 40, BYTES, TABLE_PARTS) \
	/* precedes the first record that refers to it */ \
	X(GPT_AGENT_NAME, 65, agent_name, agent_name, 16, 16, BYTES, TABLE_PARTS) \
	X(GPT_AGENT_API, 66, agent_api, agent_api, 40, 40, BYTES, EVENT) /* a call returned */ \
	X(GPT_AGENT_KERNEL, 67, agent_kernel, agent_kernel, 120, 120, BYTES, EVENT) \
	X(GPT_AGENT_MEMCPY, 68, agent_memcpy, agent_memcpy, 80, 80, BYTES, EVENT) \
	X(GPT_AGENT_MEMSET, 69, agent_memset, agent_memset, 72, 72, BYTES, EVENT) \
	X(GPT_AGENT_OVERHEAD, 70, agent_overhead, agent_overhead, 40, 40, BYTES, EVENT) \
	X(GPT_AGENT_DEVICE, 71, agent_device, agent_device, 88, 88, BYTES, TABLE_PARTS) \
	X(GPT_AGENT_CONTEXT, 72, agent_context, agent_context, 24, 24, BYTES, TABLE) \
	X(GPT_AGENT_STREAM, 73, agent_stream, agent_stream, 24, 24, BYTES, TABLE) \
	X(GPT_AGENT_CLOCK, 74, agent_clock, agent_clock, 32, 32, BYTES, TABLE) /* at least twice a second */ \
	/* totals since READY, at least twice a second and last */ \
	X(GPT_AGENT_STATS, 75, agent_stats, agent_stats, 160, GPT_AGENT_STATS_FIRST, BYTES, TABLE_PARTS) \
	X(GPT_AGENT_SYNC, 76, agent_sync, agent_sync, 56, 56, BYTES, EVENT) \
	X(GPT_AGENT_EVENT, 77, agent_event, agent_event, 32, 32, BYTES, EVENT) \
	X(GPT_AGENT_MEMORY, 78, agent_memory, agent_memory, 88, 88, BYTES, EVENT) \
	X(GPT_AGENT_GRAPH_NODE, 79, agent_graph_node, agent_graph_node, 32, 32, BYTES, TABLE) \
	X(GPT_AGENT_API_ACTIVITY, 80, agent_api_activity, agent_api_activity, 40, 40, BYTES, TABLE) \
	/* after a HELLO that says READY or BORROWING */ \
	X(GPT_AGENT_SIZES, 81, agent_sizes, agent_sizes, 136, 136, BYTES, NOTHING) \
	X(GPT_AGENT_RANGE, 82, agent_range, agent_range, 40, 40, BYTES, TABLE_PARTS) \
	X(GPT_AGENT_JIT, 83, agent_jit, agent_jit, 64, 64, BYTES, EVENT) \
	X(GPT_AGENT_OP, 84, agent_op, agent_op, 96, 80, BYTES, EVENT) \
	/* at changes, twice a second while there are ops, and last */ \
	X(GPT_AGENT_OPS, 85, agent_ops, agent_ops, 56, 56, BYTES, TABLE_PARTS) \
	X(GPT_AGENT_TORCH_MEMORY, 86, agent_torch_memory, agent_torch_memory, 64, 64, BYTES, EVENT) \
	/* after each GPT_AGENT_OPS */ \
	X(GPT_AGENT_TORCH_MEMORY_STATE, 87, agent_torch_memory_state, agent_torch_memory_state, 40, 40, BYTES, TABLE_PARTS) \
	X(GPT_AGENT_STEP, 88, agent_step, agent_step, 40, 40, BYTES, TABLE) /* where there is a schedule */ \
	/* before the first step, and at changes */ \
	X(GPT_AGENT_SCHEDULE, 89, agent_schedule, agent_schedule, 56, 48, BYTES, TABLE)

enum gpt_agent_record_type {
	GPT_AGENT_RECORDS(GPT_NUMBER)
	GPT_AGENT_TYPES_END
};

#define GPT_ROWS_agent_hello(F, R, A) \
	F(__u32, abi, "delta")             /* GPT_AGENT_ABI */ \
	F(__u32, state, "delta")           /* enum gpt_agent_state */ \
	F(__u32, failure, "delta")         /* enum gpt_agent_failure */ \
	F(__u32, result, "delta")          /* CUptiResult that failed, 0: none */ \
	F(__u32, cupti_version, "delta")   /* cuptiGetVersion: 18 = 11.8 ... 28, then xxyyzz; 0: not known */ \
	F(__u32, driver_version, "delta")  /* cuDriverGetVersion, 13000 = 13.0; 0: not known */ \
	F(__u32, runtime_version, "delta") /* cudart of the process where one is mapped, same form; 0: not known */ \
	F(__u32, bytes, "delta")           /* of text */
struct gpt_agent_hello {
	GPT_HEAD(agent_hello)
	char text[]; /* "path of libcupti\0detail\0what is recorded: kernels,...\0" */
};

#define GPT_AGENT_KINDS 64 /* activity kinds below this number are handled, others are ignored */

/*
 * The size of one record of each activity kind in this version of CUPTI.  The collector needs it to read CUPTI's
 * buffers from outside the process (foreign buffers).
 */
#define GPT_ROWS_agent_sizes(F, R, A) \
	A(__u16, bytes, GPT_AGENT_KINDS, 2, "delta") /* 0: not known */
struct gpt_agent_sizes GPT_RECORD(agent_sizes);

#define GPT_ROWS_agent_name(F, R, A) \
	/* from 1, unique in the process; the collector's ids (GPT_BATCH_FOREIGN) have the highest bit */ \
	F(__u32, id, "delta") \
	F(__u32, bytes, "delta")
struct gpt_agent_name {
	GPT_HEAD(agent_name)
	/* Mangled, not terminated. For a kernel whose code has line information a 0 follows, then the place of
	 * its function in the source: "/path/kernels.py:12" */
	char text[];
};

#define GPT_AGENT_API_CAPTURED 1 /* flags: the call became a node of a graph under capture, nothing was executed */

#define GPT_ROWS_agent_api(F, R, A) \
	F(__u64, start_ns, "time")    /* CLOCK_MONOTONIC */ \
	F(__u64, end_ns, "+start_ns") /* CLOCK_MONOTONIC */ \
	F(__u32, corr, "delta") \
	F(__u16, api, "id")           /* GPT_API() */ \
	F(__u16, flags, "delta") \
	F(__s32, result, "delta")     /* cudaError_t or CUresult */ \
	F(__u32, tid, "id")           /* in the process's own pid namespace */
struct gpt_agent_api GPT_RECORD(agent_api);

/*
 * A call as CUPTI itself recorded it (kinds RUNTIME and DRIVER), where there is no API callback. It does not have the
 * calling line: the probe on the public symbol has that, and thread, time and order show that it was the same call. Of
 * a runtime call and the driver calls inside it, only the outermost that CUPTI knows is recorded.
 */
#define GPT_ROWS_agent_api_activity(F, R, A) \
	F(__u64, start_wall_ns, "wall") F(__u64, end_wall_ns, "+start_wall_ns") /* as the times of GPU work, below */ \
	F(__u32, corr, "delta") \
	F(__u16, api, "id")       /* GPT_API() of cuda_api.h, also of GPT_CUDA_CAPTURE_CALLS */ \
	F(__u16, pad, "raw") \
	F(__s32, result, "delta") /* cudaError_t or CUresult */ \
	/* its id in the process's own pid namespace, or the lower half of its pthread_self() */ \
	R(__u32, thread, "id", OWN_THREAD)
struct gpt_agent_api_activity GPT_RECORD(agent_api_activity);

/*
 * GPU times are CUPTI's, unconverted: CLOCK_REALTIME ns; the latest GPT_AGENT_CLOCK records say how to convert them.
 * start = end = 0: CUPTI could not time it. Ids are CUPTI's.
 */
#define GPT_ROWS_OF_GPU_WORK(F, R) \
	F(__u64, start_wall_ns, "wall") F(__u64, end_wall_ns, "+start_wall_ns") \
	F(__u32, corr, "delta") R(__u32, device, "id", DEVICE) R(__u32, context, "id", CONTEXT) \
	R(__u32, stream, "id", STREAM)

#define GPT_ROWS_agent_kernel(F, R, A) \
	GPT_ROWS_OF_GPU_WORK(F, R) \
	R(__u32, name, "id", NAME) /* gpt_agent_name.id, 0: none */ \
	F(__u32, graph, "id")      /* executable graph, 0: none */ \
	F(__u64, graph_node, "delta") \
	A(__u32, grid, 3, 4, "id") A(__u32, block, 3, 4, "id") A(__u32, cluster, 3, 4, "id") \
	F(__u32, static_shared_bytes, "id") F(__u32, dynamic_shared_bytes, "id") \
	F(__u32, local_bytes_per_thread, "id") \
	F(__u32, registers, "id")  /* per thread */ \
	F(__s32, priority, "id")   /* 0 where CUPTI does not say */ \
	F(__u32, channel, "id") F(__u32, channel_type, "id")
struct gpt_agent_kernel GPT_RECORD(agent_kernel);

#define GPT_ROWS_OF_TRANSFER(F, R) \
	GPT_ROWS_OF_GPU_WORK(F, R) \
	F(__u64, bytes, "id") \
	F(__u64, graph_node, "delta") \
	F(__u32, graph, "id")

#define GPT_ROWS_agent_memcpy(F, R, A) \
	GPT_ROWS_OF_TRANSFER(F, R) \
	F(__u8, kind, "raw") /* CUpti_ActivityMemcpyKind */ \
	F(__u8, from, "raw") F(__u8, to, "raw") /* CUpti_ActivityMemoryKind */ \
	F(__u8, is_async, "raw") \
	R(__u32, from_device, "id", DEVICE) R(__u32, to_device, "id", DEVICE) /* peer memcpys; else = device */ \
	F(__u32, channel, "id") F(__u32, channel_type, "id")
struct gpt_agent_memcpy GPT_RECORD(agent_memcpy);

#define GPT_ROWS_agent_memset(F, R, A) \
	GPT_ROWS_OF_TRANSFER(F, R) \
	F(__u16, memory, "id") /* CUpti_ActivityMemoryKind */ \
	F(__u16, flags, "id") \
	F(__u32, value, "id") \
	F(__u32, pad, "raw")
struct gpt_agent_memset GPT_RECORD(agent_memset);

#define GPT_ROWS_agent_overhead(F, R, A) \
	F(__u64, start_wall_ns, "wall") F(__u64, end_wall_ns, "+start_wall_ns") \
	F(__u32, kind, "id")         /* CUpti_ActivityOverheadKind */ \
	R(__u32, tid, "id", OWN_TID) /* in the process's own pid namespace, 0: not bound to a thread */ \
	F(__u32, corr, "delta")      /* 0: none or not known (before CUPTI 12.4) */ \
	F(__u32, pad, "raw")
struct gpt_agent_overhead GPT_RECORD(agent_overhead);

/* The CPU waited for the GPU, or made a stream wait: from the call's entry to its end, by CLOCK_REALTIME. */
#define GPT_ROWS_agent_sync(F, R, A) \
	F(__u64, start_wall_ns, "wall") F(__u64, end_wall_ns, "+start_wall_ns") \
	F(__u32, corr, "delta") F(__u32, kind, "id") \
	/* stream: UINT32_MAX where no stream is involved */ \
	R(__u32, context, "id", CONTEXT) R(__u32, stream, "id", STREAM) \
	F(__u32, event, "id")           /* the two event kinds: CUPTI's id of the event */ \
	F(__s32, result, "delta")       /* 0 before CUPTI 12.8: then only successful ones are reported */ \
	F(__u64, event_record, "delta") /* as gpt_agent_event, 0: not known (before CUPTI 12.8) */
struct gpt_agent_sync GPT_RECORD(agent_sync);

/* A CUDA event was recorded in a stream (cudaEventRecord). */
#define GPT_ROWS_agent_event(F, R, A) \
	F(__u32, corr, "delta") R(__u32, context, "id", CONTEXT) R(__u32, stream, "id", STREAM) \
	F(__u32, event, "id") \
	/* id of this one record call, unique in the process; 0: not known (before CUPTI 12.8) */ \
	F(__u64, event_record, "delta")
struct gpt_agent_event GPT_RECORD(agent_event);

/* Memory came from CUDA or went back to it. */
#define GPT_ROWS_agent_memory(F, R, A) \
	F(__u64, time_wall_ns, "wall") /* CLOCK_REALTIME */ \
	F(__u64, address, "id") F(__u64, bytes, "id") \
	F(__u32, corr, "delta") \
	F(__u32, operation, "id")      /* enum gpt_agent_memory_operation */ \
	F(__u32, kind, "id")           /* CUpti_ActivityMemoryKind */ \
	R(__u32, device, "id", DEVICE) R(__u32, context, "id", CONTEXT) R(__u32, stream, "id", STREAM) \
	F(__u32, is_async, "id") F(__u32, pad, "raw") /* in stream order, from a pool */ \
	F(__u64, pool, "id")           /* address of the pool, 0: none */ \
	/* GPU memory that the pool holds at that time; 0 where the pool is another process's */ \
	F(__u64, pool_bytes, "delta") \
	F(__u64, pool_used_bytes, "delta")
struct gpt_agent_memory GPT_RECORD(agent_memory);

enum gpt_agent_memory_operation { /* CUpti_ActivityMemoryOperationType */
				  GPT_AGENT_MEMORY_ALLOCATED = 1,
				  GPT_AGENT_MEMORY_RELEASED = 2,
};

/* A node came into a graph: by a call under capture, or as the clone of another. Kernels name the clone. */
#define GPT_ROWS_agent_graph_node(F, R, A) \
	F(__u64, node, "delta")   /* CUPTI's id, as gpt_agent_kernel.graph_node */ \
	F(__u64, source, "delta") /* the node that this one was cloned from, 0: not a clone */ \
	F(__u32, corr, "delta")   /* of the call that made it, 0: none that is reported */ \
	F(__u32, pad, "raw")
struct gpt_agent_graph_node GPT_RECORD(agent_graph_node);

/* The driver compiled code for the GPU, or found it in its cache; by CLOCK_REALTIME. */
#define GPT_ROWS_agent_jit(F, R, A) \
	F(__u64, start_wall_ns, "wall") F(__u64, end_wall_ns, "+start_wall_ns") \
	F(__u64, unit, "id")         /* id of the compiled unit; loads and stores of the cache use the same id */ \
	F(__u64, bytes, "delta")     /* of the cache */ \
	F(__u32, corr, "delta") \
	F(__u32, operation, "id")    /* enum gpt_agent_jit_operation */ \
	F(__u32, entry, "id")        /* enum gpt_agent_jit_entry */ \
	R(__u32, device, "id", DEVICE) \
	R(__u32, tid, "id", OWN_TID) /* in the process's own pid namespace; 0: not known (before CUPTI 12.4) */ \
	F(__u32, pad, "raw")
struct gpt_agent_jit GPT_RECORD(agent_jit);

enum gpt_agent_range_what {
	GPT_AGENT_RANGE_MARK = 1, /* a moment */
	GPT_AGENT_RANGE_PUSHED = 2,
	GPT_AGENT_RANGE_POPPED = 3,  /* ends the latest pushed on this thread in this domain */
	GPT_AGENT_RANGE_STARTED = 4, /* may end on any thread */
	GPT_AGENT_RANGE_ENDED = 5,
	GPT_AGENT_RANGE_LOST = 6, /* id: how many records had no room, from time_ns on until the batch was sent */
};

/* A start or end of an NVTX range; records of one thread come in order. */
#define GPT_ROWS_agent_range(F, R, A) \
	F(__u64, time_ns, "time")    /* CLOCK_MONOTONIC */ \
	F(__u64, id, "delta")        /* started, ended: of the range, unique in the process; else 0 */ \
	R(__u32, tid, "id", OWN_TID) /* in the process's own pid namespace */ \
	F(__u16, what, "id")         /* enum gpt_agent_range_what */ \
	F(__u16, domain, "id")       /* 0: the default one */ \
	F(__u16, bytes, "id")        /* of the name, which stands first in text; 0: none given */ \
	F(__u16, domain_bytes, "id") \
	F(__u32, pad, "raw")
struct gpt_agent_range {
	GPT_HEAD(agent_range)
	char text[]; /* UTF-8, not terminated */
};

/*
 * An op of PyTorch, as at::RecordFunction reports it; ops of one thread come in order of their ends. An op that has
 * been open for a second, or is open when the session ends, is sent with GPT_AGENT_OP_OPEN: a later record of the same
 * thread, start and name replaces it. Names are GPT_AGENT_NAMEs whose ids have GPT_AGENT_NAME_OF_OP set.
 */
#define GPT_ROWS_agent_op(F, R, A) \
	F(__u64, start_ns, "time")     /* CLOCK_MONOTONIC */ \
	F(__u64, end_ns, "+start_ns")  /* GPT_AGENT_OP_OPEN: when it was seen to be open */ \
	F(__s64, sequence, "delta")    /* autograd's number, -1: none */ \
	F(__u64, handle, "delta")      /* PyTorch's own number of it; 0: none, the usual case */ \
	F(__u64, thread, "id")         /* PyTorch's own number of the thread that it began on */ \
	F(__u64, forward_thread, "id") /* the same, of the forward op of a backward one; 0: none */ \
	R(__u32, tid, "id", OWN_TID)   /* of the thread that it began on, in the process's own pid namespace */ \
	F(__u32, end_tid, "id")        /* of the thread that it ended on */ \
	R(__u32, name, "id", NAME)     /* gpt_agent_name.id, 0: none */ \
	F(__u32, inputs, "id")         /* gpt_agent_name.id of their text, 0: none, or not requested */ \
	F(__u8, scope, "id")           /* enum gpt_agent_op_scope */ \
	F(__u8, flags, "id")           /* enum gpt_agent_op_flag */ \
	F(__u16, pad, "id") \
	F(__u32, collective, "id") /* gpt_agent_name.id of a text (enum gpt_collective_field), 0: no collective */ \
	F(__u64, stack, "delta")       /* gpt_stack_at.number, 0: none was taken; older logs lack it */ \
	/* of the collective in its process group, -1: not known; older logs lack it */ \
	F(__s64, collective_sequence, "id")
struct gpt_agent_op GPT_RECORD(agent_op);

#define GPT_AGENT_NAME_OF_OP (1u << 30)

/*
 * The text of an op's inputs: four JSON arrays, separated by a blank, with one element per input: dimensions, types,
 * strides, and the values of inputs that are no tensors, written as Kineto does.
 */
#define GPT_AGENT_NAME_OF_INPUTS (1u << 29)

enum gpt_agent_op_flag {
	GPT_AGENT_OP_ASYNC = 1, /* may overlap ops of its thread and end on another thread: not nested */
	GPT_AGENT_OP_OPEN = 2,
};

/* Whether PyTorch's ops are observed. */
#define GPT_ROWS_agent_ops(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, reported, "delta")    /* ops, since OBSERVING */ \
	F(__u64, lost, "delta")        /* ops that had no room, since OBSERVING */ \
	F(__u64, lost_ns, "delta")     /* time of the first one lost since the previous record was sent, 0: none */ \
	F(__u32, state, "id")          /* enum gpt_agent_ops_state */ \
	F(__u32, version, "id")        /* of PyTorch: major << 16 | minor << 8 | patch; 0: not known */ \
	F(__u32, bytes, "id")          /* of text */ \
	F(__u32, inputs_lost, "delta") /* ops, since OBSERVING, whose inputs had no room or were too many */
struct gpt_agent_ops {
	GPT_HEAD(agent_ops)
	char text[]; /* "path of libtorch_cpu\0why it is REFUSED\0" */
};

/* Smaller CPU blocks have no Python stack of their own, unless GPUTRACE_AGENT_MEMORY_LINES asks for it. */
#define GPT_AGENT_TORCH_MEMORY_LARGE 65536u

/*
 * One of PyTorch's allocators (CUDA caching, CPU, shared memory) handed memory out or took it back: torch.profiler's
 * [memory]. Events of one thread come in order.
 */
#define GPT_ROWS_agent_torch_memory(F, R, A) \
	F(__u64, time_ns, "time")    /* CLOCK_MONOTONIC */ \
	F(__u64, address, "delta") \
	/* ALLOCATED: of the block; FREED: the same, negated; 0: not reported; OUT: requested bytes */ \
	F(__s64, bytes, "delta") \
	F(__u64, allocated, "delta") /* total after this event, as the allocator says; valid where has_totals */ \
	F(__u64, reserved, "delta")  /* total that the allocator has from the system, likewise */ \
	F(__u64, stack, "delta")     /* gpt_stack_at.number, 0: none was taken */ \
	R(__u32, tid, "id", OWN_TID) /* in the process's own pid namespace */ \
	F(__u8, kind, "id")          /* enum gpt_agent_torch_memory_kind */ \
	F(__s8, device_type, "id")   /* enum gpt_torch_device, or another c10::DeviceType */ \
	F(__s8, device, "id")        /* its index, -1: the CPU */ \
	F(__u8, has_totals, "id")
struct gpt_agent_torch_memory GPT_RECORD(agent_torch_memory);

/* Whether these events are reported, and for which memory. */
#define GPT_ROWS_agent_torch_memory_state(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u64, reported, "delta") /* events, since the first */ \
	F(__u64, lost, "delta")     /* events that had no room, since the first */ \
	F(__u32, seen, "id")        /* 1 << enum gpt_agent_torch_memory_of; 0: none, or no more */ \
	F(__u32, bytes, "id")       /* of text */
struct gpt_agent_torch_memory_state {
	GPT_HEAD(agent_torch_memory_state)
	char text[]; /* why some events are not seen; not terminated */
};

/* A step of training begins, and the one before it ends. */
#define GPT_ROWS_agent_step(F, R, A) \
	F(__u64, time_ns, "time")    /* CLOCK_MONOTONIC */ \
	F(__u64, number, "delta")    /* torch.profiler's own, else counted from 0 */ \
	R(__u32, tid, "id", OWN_TID) /* in the process's own pid namespace */ \
	F(__u32, cycle, "id")        /* of the schedule, from 0, where it is WARMUP or ACTIVE; or the window */ \
	F(__u8, phase, "id")         /* enum gpt_step_phase */ \
	F(__u8, by, "id")            /* enum gpt_step_by, not FIRST */ \
	F(__u16, late, "id") /* 1: ACTIVE, and began before CUPTI recorded: its first launches are not seen */ \
	F(__u32, lost, "id")         /* steps before this one that had no room */
struct gpt_agent_step GPT_RECORD(agent_step);

/* Which steps are recorded: struct gpt_schedule as the agent has understood it. */
#define GPT_ROWS_agent_schedule(F, R, A) \
	F(__u64, time_ns, "time") \
	F(__u32, skip_first, "id") F(__u32, wait, "id") F(__u32, warmup, "id") F(__u32, active, "id") \
	F(__u32, repeat, "id") F(__u32, skip_first_wait, "id") \
	F(__u32, by, "id")     /* enum gpt_step_by */ \
	F(__u32, shared, "id") /* 1: everything is recorded: another gputrace without a schedule listens, too */ \
	F(__u32, windows_ms, "id") F(__u32, pad, "raw")
struct gpt_agent_schedule GPT_RECORD(agent_schedule);

#define GPT_ROWS_agent_device(F, R, A) \
	F(__u64, memory_bytes, "delta") \
	F(__u32, id, "delta") F(__u32, multiprocessors, "delta") \
	F(__u32, compute_major, "delta") F(__u32, compute_minor, "delta") \
	F(__u32, warp_size, "delta") F(__u32, max_threads_per_multiprocessor, "delta") \
	F(__u32, max_threads_per_block, "delta") F(__u32, max_blocks_per_multiprocessor, "delta") \
	F(__u32, max_registers_per_multiprocessor, "delta") F(__u32, max_registers_per_block, "delta") \
	F(__u32, max_shared_per_multiprocessor, "delta") F(__u32, max_shared_per_block, "delta") \
	A(__u8, uuid, 16, 8, "raw") \
	F(__u32, mig, "delta") /* 1: a MIG instance */ \
	F(__u32, bytes, "delta")
struct gpt_agent_device {
	GPT_HEAD(agent_device)
	char name[]; /* not terminated, padded to 8 */
};

#define GPT_ROWS_agent_context(F, R, A) \
	F(__u32, context, "delta") F(__u32, device, "delta") F(__u32, null_stream, "delta") \
	F(__u32, compute_api, "delta") /* CUpti_ActivityComputeApiKind; 0: not known */
struct gpt_agent_context GPT_RECORD(agent_context);

#define GPT_AGENT_COMPUTE_API_MPS 2 /* CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS */

#define GPT_ROWS_agent_stream(F, R, A) \
	F(__u32, context, "delta") F(__u32, stream, "delta") \
	F(__u32, priority, "delta") /* a signed number: less is more urgent */ \
	F(__u32, flags, "delta")    /* enum gpt_agent_stream_flag */
struct gpt_agent_stream GPT_RECORD(agent_stream);

#define GPT_ROWS_agent_clock(F, R, A) GPT_ROWS_clock(F, R, A)
struct gpt_agent_clock GPT_RECORD(agent_clock);

#define GPT_AGENT_TIMED_IN 16u
#define GPT_AGENT_LONG_NS 50000u
#define GPT_ROWS_agent_stats(F, R, A) \
	F(__u64, calls, "delta")               /* gputrace_agent_call made */ \
	/* CUPTI records seen */ \
	F(__u64, kernels, "delta") F(__u64, memcpys, "delta") F(__u64, memsets, "delta") F(__u64, others, "delta") \
	F(__u64, cupti_dropped, "delta")       /* by cuptiActivityGetNumDroppedRecords */ \
	F(__u64, buffers_refused, "delta")     /* CUPTI asked for a buffer and the pool was empty */ \
	F(__u64, api_dropped, "delta")         /* returns not reported: table full */ \
	F(__u64, names_dropped, "delta")       /* names not kept: table full */ \
	F(__u64, untimed, "delta")             /* records with start = end = 0 */ \
	F(__u64, malformed, "delta")           /* records shorter than their kind, or of a kind not requested */ \
	F(__u64, misdirected, "strayed=delta") /* in the agent's buffers, but requested by another CUPTI client */ \
	F(__u64, dropped_unknown, "delta")     /* times that CUPTI did not say how many it dropped */ \
	F(__u64, places_lost, "delta")         /* kernels, nodes, launches whose file and line had no room */ \
	/* kernels launched by driver calls whose loading from code was not seen */ \
	F(__u64, functions_before, "delta") \
	/* one call in GPT_AGENT_TIMED_IN of those reported: how many, and the time of all their callbacks */ \
	F(__u64, callbacks_timed, "delta") F(__u64, callbacks_timed_ns, "delta") \
	/* of these calls: callbacks over GPT_AGENT_LONG_NS, which other work may have interrupted, not in that time */ \
	F(__u64, callbacks_long, "delta") F(__u64, callbacks_long_ns, "delta")
struct gpt_agent_stats GPT_RECORD(agent_stats);

GPT_AGENT_RECORDS(GPT_CHECK)
/* clang-format on */

_Static_assert(sizeof(struct gpt_agent_status) == 16, "agent layout");
