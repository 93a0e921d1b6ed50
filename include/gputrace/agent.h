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
#ifndef GPUTRACE_AGENT_H
#define GPUTRACE_AGENT_H

#include <gputrace/record.h>

/*
 * Agent and collector must have the same number: an agent with another one is left alone and reported. Raised by each
 * change of the exported names or of their arguments; tests/unit/agent_library.sh checks that both agree.
 */
#define GPT_AGENT_ABI 11

/*
 * Exported symbols of the agent.
 *
 * gputrace_agent_call(u32 corr, u32 api): on the application's thread, from CUPTI's API callback at the
 *     entry of each outermost call of cuda_api.h; api is GPT_API(domain, cbid).
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
#define GPUTRACE_AGENT_SHAPES "gputrace_agent_shapes"		    /* the inputs of ops, too */
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
#define GPUTRACE_AGENT_STACK_SEMAPHORE "gputrace_agent_stack_semaphore"			/* the same */
#define GPUTRACE_AGENT_FORWARD_LINES_SEMAPHORE "gputrace_agent_forward_lines_semaphore" /* the same */
#define GPUTRACE_AGENT_TORCH_MEMORY_SEMAPHORE "gputrace_agent_torch_memory_semaphore"	/* the same */
#define GPUTRACE_AGENT_MEMORY_LINES_SEMAPHORE "gputrace_agent_memory_lines_semaphore"	/* the same */

/* Whether the agent works, for a collector that comes to a process which has one. Fields are only appended. */
struct gpt_agent_status {
	__u32 bytes;	/* of this struct, as the agent has it */
	__u32 life;	/* enum gpt_agent_life */
	__u32 sessions; /* begun so far */
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

enum gpt_agent_record_type {
	GPT_AGENT_HELLO = 64,	     /* struct gpt_agent_hello: first record of the first batch, and at changes */
	GPT_AGENT_NAME = 65,	     /* struct gpt_agent_name: precedes the first record that refers to it */
	GPT_AGENT_API = 66,	     /* struct gpt_agent_api: a call returned */
	GPT_AGENT_KERNEL = 67,	     /* struct gpt_agent_kernel */
	GPT_AGENT_MEMCPY = 68,	     /* struct gpt_agent_memcpy */
	GPT_AGENT_MEMSET = 69,	     /* struct gpt_agent_memset */
	GPT_AGENT_OVERHEAD = 70,     /* struct gpt_agent_overhead */
	GPT_AGENT_DEVICE = 71,	     /* struct gpt_agent_device */
	GPT_AGENT_CONTEXT = 72,	     /* struct gpt_agent_context */
	GPT_AGENT_STREAM = 73,	     /* struct gpt_agent_stream */
	GPT_AGENT_CLOCK = 74,	     /* struct gpt_agent_clock: at least twice a second */
	GPT_AGENT_STATS = 75,	     /* struct gpt_agent_stats: totals since READY, at least twice a second and last */
	GPT_AGENT_SYNC = 76,	     /* struct gpt_agent_sync */
	GPT_AGENT_EVENT = 77,	     /* struct gpt_agent_event */
	GPT_AGENT_MEMORY = 78,	     /* struct gpt_agent_memory */
	GPT_AGENT_GRAPH_NODE = 79,   /* struct gpt_agent_graph_node */
	GPT_AGENT_API_ACTIVITY = 80, /* struct gpt_agent_api_activity */
	GPT_AGENT_SIZES = 81,	     /* struct gpt_agent_sizes: after a HELLO that says READY or BORROWING */
	GPT_AGENT_RANGE = 82,	     /* struct gpt_agent_range */
	GPT_AGENT_JIT = 83,	     /* struct gpt_agent_jit */
	GPT_AGENT_OP = 84,	     /* struct gpt_agent_op */
	GPT_AGENT_OPS = 85, /* struct gpt_agent_ops: at changes, twice a second while there are ops, and last */
	GPT_AGENT_TORCH_MEMORY = 86,	   /* struct gpt_agent_torch_memory */
	GPT_AGENT_TORCH_MEMORY_STATE = 87, /* struct gpt_agent_torch_memory_state: after each GPT_AGENT_OPS */
	GPT_AGENT_STEP = 88,		   /* struct gpt_agent_step: where there is a schedule */
	GPT_AGENT_SCHEDULE = 89,	   /* struct gpt_agent_schedule: before the first step, and at changes */
	GPT_AGENT_TYPES_END
};

struct gpt_agent_hello {
	struct gpt_record hdr;
	__u32 abi;	       /* GPT_AGENT_ABI */
	__u32 state;	       /* enum gpt_agent_state */
	__u32 failure;	       /* enum gpt_agent_failure */
	__u32 result;	       /* CUptiResult that failed, 0: none */
	__u32 cupti_version;   /* cuptiGetVersion: 18 = 11.8 ... 28, then xxyyzz; 0: not known */
	__u32 driver_version;  /* cuDriverGetVersion, 13000 = 13.0; 0: not known */
	__u32 runtime_version; /* cudart of the process where one is mapped, same form; 0: not known */
	__u32 bytes;	       /* of text */
	char text[];	       /* "path of libcupti\0detail\0what is recorded: kernels,...\0" */
};

#define GPT_AGENT_KINDS 64 /* activity kinds below this number are handled, others are ignored */

/*
 * The size of one record of each activity kind in this version of CUPTI.  The collector needs it to read CUPTI's
 * buffers from outside the process (foreign buffers).
 */
struct gpt_agent_sizes {
	struct gpt_record hdr;
	__u16 bytes[GPT_AGENT_KINDS]; /* 0: not known */
};

struct gpt_agent_name {
	struct gpt_record hdr;
	__u32 id; /* from 1, unique in the process; the collector's ids (GPT_BATCH_FOREIGN) have the highest bit */
	__u32 bytes;
	/*
	 * Mangled, not terminated. For a kernel whose code has line information a 0 follows, then the place of its
	 * function in the source: "/path/kernels.py:12"
	 */
	char text[];
};

#define GPT_AGENT_API_CAPTURED 1 /* flags: the call became a node of a graph under capture, nothing was executed */

struct gpt_agent_api {
	struct gpt_record hdr;
	__u64 start_ns; /* CLOCK_MONOTONIC */
	__u64 end_ns;	/* CLOCK_MONOTONIC */
	__u32 corr;
	__u16 api; /* GPT_API() */
	__u16 flags;
	__s32 result; /* cudaError_t or CUresult */
	__u32 tid;    /* in the process's own pid namespace */
};

/*
 * A call as CUPTI itself recorded it (kinds RUNTIME and DRIVER), where there is no API callback. It does not have the
 * calling line: the probe on the public symbol has that, and thread, time and order show that it was the same call. Of
 * a runtime call and the driver calls inside it, only the outermost that CUPTI knows is recorded.
 */
struct gpt_agent_api_activity {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns; /* as the times of GPU work, below */
	__u32 corr;
	__u16 api; /* GPT_API() of cuda_api.h, also of GPT_CUDA_CAPTURE_CALLS */
	__u16 pad;
	__s32 result; /* cudaError_t or CUresult */
	__u32 thread; /* its id in the process's own pid namespace, or the lower half of its pthread_self() */
};

/*
 * GPU times are CUPTI's, unconverted: CLOCK_REALTIME ns; the latest GPT_AGENT_CLOCK records say how to convert them.
 * start = end = 0: CUPTI could not time it. Ids are CUPTI's.
 */
struct gpt_agent_kernel {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns;
	__u32 corr, device, context, stream;
	__u32 name;  /* gpt_agent_name.id, 0: none */
	__u32 graph; /* executable graph, 0: none */
	__u64 graph_node;
	__u32 grid[3], block[3], cluster[3];
	__u32 static_shared_bytes, dynamic_shared_bytes;
	__u32 local_bytes_per_thread;
	__u32 registers; /* per thread */
	__s32 priority;	 /* 0 where CUPTI does not say */
	__u32 channel, channel_type;
};

struct gpt_agent_memcpy {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns;
	__u32 corr, device, context, stream;
	__u64 bytes;
	__u64 graph_node;
	__u32 graph;
	__u8 kind;     /* CUpti_ActivityMemcpyKind */
	__u8 from, to; /* CUpti_ActivityMemoryKind */
	__u8 is_async;
	__u32 from_device, to_device; /* peer memcpys; else = device */
	__u32 channel, channel_type;
};

struct gpt_agent_memset {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns;
	__u32 corr, device, context, stream;
	__u64 bytes;
	__u64 graph_node;
	__u32 graph;
	__u16 memory; /* CUpti_ActivityMemoryKind */
	__u16 flags;
	__u32 value;
	__u32 pad;
};

struct gpt_agent_overhead {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns;
	__u32 kind; /* CUpti_ActivityOverheadKind */
	__u32 tid;  /* in the process's own pid namespace, 0: not bound to a thread */
	__u32 corr; /* 0: none or not known (before CUPTI 12.4) */
	__u32 pad;
};

/* The CPU waited for the GPU, or made a stream wait: from the call's entry to its end, by CLOCK_REALTIME. */
struct gpt_agent_sync {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns;
	__u32 corr, kind;
	__u32 context, stream; /* stream: UINT32_MAX where no stream is involved */
	__u32 event;	       /* the two event kinds: CUPTI's id of the event */
	__s32 result;	       /* 0 before CUPTI 12.8: then only successful ones are reported */
	__u64 event_record;    /* as gpt_agent_event, 0: not known (before CUPTI 12.8) */
};

/* A CUDA event was recorded in a stream (cudaEventRecord). */
struct gpt_agent_event {
	struct gpt_record hdr;
	__u32 corr, context, stream, event;
	__u64 event_record; /* id of this one record call, unique in the process; 0: not known (before CUPTI 12.8) */
};

/* Memory came from CUDA or went back to it. */
struct gpt_agent_memory {
	struct gpt_record hdr;
	__u64 time_wall_ns; /* CLOCK_REALTIME */
	__u64 address, bytes;
	__u32 corr;
	__u32 operation; /* enum gpt_agent_memory_operation */
	__u32 kind;	 /* CUpti_ActivityMemoryKind */
	__u32 device, context, stream;
	__u32 is_async, pad; /* in stream order, from a pool */
	__u64 pool;	     /* address of the pool, 0: none */
	__u64 pool_bytes;    /* GPU memory that the pool holds at that time; 0 where the pool is another process's */
	__u64 pool_used_bytes;
};

enum gpt_agent_memory_operation { /* CUpti_ActivityMemoryOperationType */
				  GPT_AGENT_MEMORY_ALLOCATED = 1,
				  GPT_AGENT_MEMORY_RELEASED = 2,
};

/* A node came into a graph: by a call under capture, or as the clone of another. Kernels name the clone. */
struct gpt_agent_graph_node {
	struct gpt_record hdr;
	__u64 node;   /* CUPTI's id, as gpt_agent_kernel.graph_node */
	__u64 source; /* the node that this one was cloned from, 0: not a clone */
	__u32 corr;   /* of the call that made it, 0: none that is reported */
	__u32 pad;
};

/* The driver compiled code for the GPU, or found it in its cache; by CLOCK_REALTIME. */
struct gpt_agent_jit {
	struct gpt_record hdr;
	__u64 start_wall_ns, end_wall_ns;
	__u64 unit;  /* id of the compiled unit; loads and stores of the cache use the same id */
	__u64 bytes; /* of the cache */
	__u32 corr;
	__u32 operation; /* enum gpt_agent_jit_operation */
	__u32 entry;	 /* enum gpt_agent_jit_entry */
	__u32 device;
	__u32 tid; /* in the process's own pid namespace; 0: not known (before CUPTI 12.4) */
	__u32 pad;
};

enum gpt_agent_range_what {
	GPT_AGENT_RANGE_MARK = 1, /* a moment */
	GPT_AGENT_RANGE_PUSHED = 2,
	GPT_AGENT_RANGE_POPPED = 3,  /* ends the latest pushed on this thread in this domain */
	GPT_AGENT_RANGE_STARTED = 4, /* may end on any thread */
	GPT_AGENT_RANGE_ENDED = 5,
	GPT_AGENT_RANGE_LOST = 6, /* id: how many records had no room, from time_ns on until the batch was sent */
};

/* A start or end of an NVTX range; records of one thread come in order. */
struct gpt_agent_range {
	struct gpt_record hdr;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 id;      /* started, ended: of the range, unique in the process; else 0 */
	__u32 tid;     /* in the process's own pid namespace */
	__u16 what;    /* enum gpt_agent_range_what */
	__u16 domain;  /* 0: the default one */
	__u16 bytes;   /* of the name, which stands first in text; 0: none given */
	__u16 domain_bytes;
	__u32 pad;
	char text[]; /* UTF-8, not terminated */
};

/*
 * An op of PyTorch, as at::RecordFunction reports it; ops of one thread come in order of their ends. An op that has
 * been open for a second, or is open when the session ends, is sent with GPT_AGENT_OP_OPEN: a later record of the same
 * thread, start and name replaces it. Names are GPT_AGENT_NAMEs whose ids have GPT_AGENT_NAME_OF_OP set.
 */
struct gpt_agent_op {
	struct gpt_record hdr;
	__u64 start_ns;	      /* CLOCK_MONOTONIC */
	__u64 end_ns;	      /* GPT_AGENT_OP_OPEN: when it was seen to be open */
	__s64 sequence;	      /* autograd's number, -1: none */
	__u64 handle;	      /* PyTorch's own number of it; 0: none, the usual case */
	__u64 thread;	      /* PyTorch's own number of the thread that it began on */
	__u64 forward_thread; /* the same, of the forward op of a backward one; 0: none */
	__u32 tid;	      /* of the thread that it began on, in the process's own pid namespace */
	__u32 end_tid;	      /* of the thread that it ended on */
	__u32 name;	      /* gpt_agent_name.id, 0: none */
	__u32 inputs;	      /* gpt_agent_name.id of their text, 0: none, or not requested */
	__u8 scope;	      /* enum gpt_agent_op_scope */
	__u8 flags;	      /* enum gpt_agent_op_flag */
	__u16 pad;
	__u32 collective;	   /* gpt_agent_name.id of a text (enum gpt_collective_field), 0: no collective */
	__u64 stack;		   /* gpt_stack_at.number, 0: none was taken; older logs lack it */
	__s64 collective_sequence; /* of the collective in its process group, -1: not known; older logs lack it */
};

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
struct gpt_agent_ops {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 reported;	   /* ops, since OBSERVING */
	__u64 lost;	   /* ops that had no room, since OBSERVING */
	__u64 lost_ns;	   /* time of the first one lost since the previous record was sent, 0: none */
	__u32 state;	   /* enum gpt_agent_ops_state */
	__u32 version;	   /* of PyTorch: major << 16 | minor << 8 | patch; 0: not known */
	__u32 bytes;	   /* of text */
	__u32 inputs_lost; /* ops, since OBSERVING, whose inputs had no room or were too many */
	char text[];	   /* "path of libtorch_cpu\0why it is REFUSED\0" */
};

/* Smaller CPU blocks have no Python stack of their own, unless GPUTRACE_AGENT_MEMORY_LINES asks for it. */
#define GPT_AGENT_TORCH_MEMORY_LARGE 65536u

/*
 * One of PyTorch's allocators (CUDA caching, CPU, shared memory) handed memory out or took it back: torch.profiler's
 * [memory]. Events of one thread come in order.
 */
struct gpt_agent_torch_memory {
	struct gpt_record hdr;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 address;
	__s64 bytes;	  /* ALLOCATED: of the block; FREED: the same, negated; 0: not reported; OUT: requested bytes */
	__u64 allocated;  /* total after this event, as the allocator says; valid where has_totals */
	__u64 reserved;	  /* total that the allocator has from the system, likewise */
	__u64 stack;	  /* gpt_stack_at.number, 0: none was taken */
	__u32 tid;	  /* in the process's own pid namespace */
	__u8 kind;	  /* enum gpt_agent_torch_memory_kind */
	__s8 device_type; /* enum gpt_torch_device, or another c10::DeviceType */
	__s8 device;	  /* its index, -1: the CPU */
	__u8 has_totals;
};

/* Whether these events are reported, and for which memory. */
struct gpt_agent_torch_memory_state {
	struct gpt_record hdr;
	__u64 time_ns;
	__u64 reported; /* events, since the first */
	__u64 lost;	/* events that had no room, since the first */
	__u32 seen;	/* 1 << enum gpt_agent_torch_memory_of; 0: none, or no more */
	__u32 bytes;	/* of text */
	char text[];	/* why some events are not seen; not terminated */
};

/* A step of training begins, and the one before it ends. */
struct gpt_agent_step {
	struct gpt_record hdr;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 number;  /* torch.profiler's own, else counted from 0 */
	__u32 tid;     /* in the process's own pid namespace */
	__u32 cycle;   /* of the schedule, from 0, where it is WARMUP or ACTIVE */
	__u8 phase;    /* enum gpt_step_phase */
	__u8 by;       /* enum gpt_step_by, not FIRST */
	__u16 late;    /* 1: ACTIVE, and began before CUPTI recorded: its first launches are not seen */
	__u32 lost;    /* steps before this one that had no room */
};

/* Which steps are recorded: struct gpt_schedule as the agent has understood it. */
struct gpt_agent_schedule {
	struct gpt_record hdr;
	__u64 time_ns;
	__u32 skip_first, wait, warmup, active;
	__u32 repeat, skip_first_wait;
	__u32 by;     /* enum gpt_step_by */
	__u32 shared; /* 1: everything is recorded: another gputrace without a schedule listens, too */
};

struct gpt_agent_device {
	struct gpt_record hdr;
	__u64 memory_bytes;
	__u32 id, multiprocessors;
	__u32 compute_major, compute_minor;
	__u32 warp_size, max_threads_per_multiprocessor;
	__u32 max_threads_per_block, max_blocks_per_multiprocessor;
	__u32 max_registers_per_multiprocessor, max_registers_per_block;
	__u32 max_shared_per_multiprocessor, max_shared_per_block;
	__u8 uuid[16];
	__u32 mig; /* 1: a MIG instance */
	__u32 bytes;
	char name[]; /* not terminated, padded to 8 */
};

struct gpt_agent_context {
	struct gpt_record hdr;
	__u32 context, device, null_stream;
	__u32 compute_api; /* CUpti_ActivityComputeApiKind; 0: not known */
};

#define GPT_AGENT_COMPUTE_API_MPS 2 /* CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS */

struct gpt_agent_stream {
	struct gpt_record hdr;
	__u32 context, stream;
	__u32 priority; /* a signed number: less is more urgent */
	__u32 flags;	/* enum gpt_agent_stream_flag */
};

struct gpt_agent_clock {
	struct gpt_record hdr;
	__u64 mono_ns;
	__s64 wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at mono_ns */
	__u64 error_ns;	      /* half the width of the sample */
};

struct gpt_agent_stats {
	struct gpt_record hdr;
	__u64 calls;				 /* gputrace_agent_call made */
	__u64 kernels, memcpys, memsets, others; /* CUPTI records seen */
	__u64 cupti_dropped;			 /* by cuptiActivityGetNumDroppedRecords */
	__u64 buffers_refused;			 /* CUPTI asked for a buffer and the pool was empty */
	__u64 api_dropped;			 /* returns not reported: table full */
	__u64 names_dropped;			 /* names not kept: table full */
	__u64 untimed;				 /* records with start = end = 0 */
	__u64 malformed;			 /* records shorter than their kind, or of a kind not requested */
	__u64 misdirected;			 /* in the agent's buffers, but requested by another CUPTI client */
	__u64 dropped_unknown;			 /* times that CUPTI did not say how many it dropped */
	__u64 places_lost;			 /* kernels, nodes, launches whose file and line had no room */
	__u64 functions_before; /* kernels launched by driver calls whose loading from code was not seen */
};
#define GPT_AGENT_STATS_FIRST 96 /* bytes, without `misdirected` and what follows it */

_Static_assert(sizeof(struct gpt_agent_status) == 12, "agent layout");
_Static_assert(sizeof(struct gpt_agent_hello) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_sizes) == 136, "agent layout");
_Static_assert(sizeof(struct gpt_agent_name) == 16, "agent layout");
_Static_assert(sizeof(struct gpt_agent_api) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_api_activity) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_kernel) == 120, "agent layout");
_Static_assert(sizeof(struct gpt_agent_memcpy) == 80, "agent layout");
_Static_assert(sizeof(struct gpt_agent_memset) == 72, "agent layout");
_Static_assert(sizeof(struct gpt_agent_overhead) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_sync) == 56, "agent layout");
_Static_assert(sizeof(struct gpt_agent_event) == 32, "agent layout");
_Static_assert(sizeof(struct gpt_agent_memory) == 88, "agent layout");
_Static_assert(sizeof(struct gpt_agent_graph_node) == 32, "agent layout");
_Static_assert(sizeof(struct gpt_agent_range) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_jit) == 64, "agent layout");
_Static_assert(sizeof(struct gpt_agent_op) == 96, "agent layout");
_Static_assert(sizeof(struct gpt_agent_ops) == 56, "agent layout");
_Static_assert(sizeof(struct gpt_agent_torch_memory) == 64, "agent layout");
_Static_assert(sizeof(struct gpt_agent_torch_memory_state) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_step) == 40, "agent layout");
_Static_assert(sizeof(struct gpt_agent_schedule) == 48, "agent layout");
_Static_assert(sizeof(struct gpt_agent_device) == 88, "agent layout");
_Static_assert(sizeof(struct gpt_agent_context) == 24, "agent layout");
_Static_assert(sizeof(struct gpt_agent_stream) == 24, "agent layout");
_Static_assert(sizeof(struct gpt_agent_clock) == 32, "agent layout");
_Static_assert(sizeof(struct gpt_agent_stats) == 128, "agent layout");

#endif
