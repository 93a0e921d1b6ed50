/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Values shared by records and by what is made of them: why a stack is missing, the state of an agent, the counters.
 * record.h and agent.h use them for their fields, and so do the model and its readers, which then need no record
 * header. Values are part of the log's format: append new ones at the end.
 */
#pragma once

/* ---- calls ---------------------------------------------------------------------------------- */

/* Why a call has the Python stack it has. */
enum gpt_stack_state {
	GPT_STACK_OK = 0,
	GPT_STACK_NO_PYTHON = 1,      /* no interpreter in this process */
	GPT_STACK_NO_THREAD = 2,      /* the interpreter does not know this thread */
	GPT_STACK_EMPTY = 3,	      /* a Python thread with no frame */
	GPT_STACK_UNREADABLE = 4,     /* a read failed or a check did not hold */
	GPT_STACK_UNKNOWN_LAYOUT = 5, /* interpreter not supported, or not examined yet */
	GPT_STACK_LOST = 6,	      /* the stack's record did not fit the ring buffer */
	GPT_STACK_BACKWARD = 7,	 /* no frames of its own: it has the stack of the backward() call that the thread works
				    for (PyTorch's autograd engine) */
	GPT_STACK_AMBIGUOUS = 8, /* the thread runs several interpreters, and which is innermost is not known */
	GPT_STACK_NOT_RECORDED = 9, /* another tool recorded the call without a stack; in a log: a waker's stack, not
				       taken as the wait had been short */
	GPT_STACK_FILTERED = 10, /* not read: a filter of system calls, set during the trace, might kill the reader */
	GPT_STACK_LOWERED = 11,	 /* not recorded: detail was lowered (details.h) */
	GPT_STACK_STATES,
};

/* Whether a process shares gputrace's mount namespace. */
enum gpt_mounts {
	GPT_MOUNTS_UNKNOWN = 0,
	GPT_MOUNTS_SAME = 1,
	GPT_MOUNTS_OTHER = 2, /* it is in another mount namespace, as in a container */
};

/* Where a thread ran when it was sampled. */
enum gpt_sample_place {
	GPT_SAMPLE_USER = 1,
	GPT_SAMPLE_KERNEL = 2, /* in a system call, a page fault or an interrupt */
};

/* Why a thread was off the CPU, by its state and the system call that it was in. */
enum gpt_wait_reason {
	GPT_WAIT_OTHER = 0,
	GPT_WAIT_FUTEX = 1,	 /* futex(2): a lock, a condition, a join */
	GPT_WAIT_GIL = 2,	 /* a futex wait for the interpreter's lock */
	GPT_WAIT_FILE = 3,	 /* reads, writes or syncs a file or a device */
	GPT_WAIT_PIPE = 4,	 /* reads or writes a pipe */
	GPT_WAIT_SOCKET = 5,	 /* reads, writes, accepts or connects a socket */
	GPT_WAIT_POLL = 6,	 /* epoll, poll or select */
	GPT_WAIT_SLEEP = 7,	 /* nanosleep and its relatives */
	GPT_WAIT_PAGE_FAULT = 8, /* in no system call, and not runnable: memory was not there */
	GPT_WAIT_CHILD = 9,	 /* waits for the end of a child */
	GPT_WAIT_IOCTL = 10,	 /* in a driver, as CUDA calls are */
	GPT_WAIT_PREEMPTED = 11, /* was runnable all the time: others had the CPU */
	GPT_WAIT_THROTTLED = 12, /* was runnable, but its cgroup's quota was used up */
	GPT_WAIT_STOPPED = 13,	 /* stopped by a signal or a debugger */
	GPT_WAIT_EVENT = 14,	 /* reads an eventfd, a timerfd or a signalfd */
	GPT_WAIT_YIELDED = 15,	 /* sched_yield */
	GPT_WAIT_REASONS,
};

/* What woke a waiting thread. */
enum gpt_waker {
	GPT_WAKER_NONE = 0,	 /* not known, or it was never woken as it was runnable */
	GPT_WAKER_INTERRUPT = 1, /* a timer, a disk, a network card: no thread */
	GPT_WAKER_THREAD = 2,	 /* a thread of a process that is followed */
	GPT_WAKER_OTHER = 3,	 /* a thread of another process, or of the kernel */
};

/* Events for which the agent requests a Python stack. */
enum gpt_stack_of {
	GPT_STACK_OF_OP = 1,	 /* an op of PyTorch, as it begins */
	GPT_STACK_OF_MEMORY = 2, /* an event of PyTorch's allocators */
};

/* ---- Python --------------------------------------------------------------------------------- */

#define GPT_PYSTACK_MAX_FRAMES 128 /* kept of a stack */

/* How a line table is encoded (CPython Objects/lnotab_notes.txt, Objects/locations.md). */
enum gpt_linetable {
	GPT_LINES_LNOTAB = 1,	 /* up to 3.9: co_lnotab, signed line deltas since 3.6 */
	GPT_LINES_310 = 2,	 /* 3.10: co_linetable, pairs of deltas */
	GPT_LINES_LOCATIONS = 3, /* 3.11 and later: co_linetable, location table */
};

enum gpt_pyevent_kind {
	GPT_PYEVENT_GC = 1,	/* the cyclic collector */
	GPT_PYEVENT_IMPORT = 2, /* a new module is searched for and executed */
};

/* ---- the agent and CUPTI -------------------------------------------------------------------- */

/*
 * Activity sets: what a trace records besides kernels. X(ENUMERATOR, name). Each has an exported function that is never
 * called, gputrace_agent_activity_set_NAME. A probe on it raises the semaphore
 * gputrace_agent_activity_set_NAME_semaphore. The agent reads the semaphores when a session begins: attach these probes
 * before those on _state and _call.
 */
#define GPT_AGENT_ACTIVITY_SETS(X)                                                                                     \
	X(CUDA, cuda)	  /* memcpys and memsets, every call of cuda_api.h, CUPTI's overhead, JIT compilation */       \
	X(SYNC, sync)	  /* synchronisations and events */                                                            \
	X(MEMORY, memory) /* allocations and frees */                                                                  \
	X(NVTX, nvtx)	  /* ranges that the program names */

enum gpt_agent_activity_set {
#define GPT_AGENT_SET_ENUMERATOR(enumerator, name) GPT_AGENT_SET_##enumerator,
	GPT_AGENT_ACTIVITY_SETS(GPT_AGENT_SET_ENUMERATOR)
#undef GPT_AGENT_SET_ENUMERATOR
		GPT_AGENT_SET_COUNT
};

enum gpt_agent_state {
	GPT_AGENT_LOADED = 1,  /* in the process, not yet listening to CUPTI */
	GPT_AGENT_READY = 2,   /* subscribed: calls and GPU records follow */
	GPT_AGENT_STOPPED = 3, /* left CUPTI */
	GPT_AGENT_FAILED = 4,  /* see gpt_agent_hello.failure; nothing will follow */
	/*
	 * Another client holds the subscriber and does not record: GPU records follow, and a gpt_agent_api_activity for
	 * each call. At the time of the call only the probes on the public symbols report it.
	 */
	GPT_AGENT_BORROWING = 5,
	/* READY, and another client is about to take the subscriber: BORROWING follows. Never in a log. */
	GPT_AGENT_GIVING_UP = 6,
};

/* A session is open: GPU records follow. */
static inline _Bool gpt_agent_is_live(unsigned int state)
{
	return state == GPT_AGENT_READY || state == GPT_AGENT_BORROWING || state == GPT_AGENT_GIVING_UP;
}

enum gpt_agent_failure {
	GPT_AGENT_OK = 0,
	GPT_AGENT_NO_CUPTI = 1,	      /* no libcupti found; text: where it looked */
	GPT_AGENT_CUPTI_UNUSABLE = 2, /* found, but lacks a needed function; text: which */
	GPT_AGENT_OCCUPIED = 3,	      /* another tool holds the subscriber; text: its name if CUPTI gives it */
	GPT_AGENT_NO_CUDA = 4,	      /* CUPTI answers 15 or 999: no usable driver */
	GPT_AGENT_CUPTI_ERROR = 5,    /* text: function and result */
	GPT_AGENT_NO_RESOURCES = 6,   /* memory or thread */
};

/* CUpti_ActivityStreamFlag */
enum gpt_agent_stream_flag {
	GPT_AGENT_STREAM_NON_BLOCKING = 2,
	GPT_AGENT_STREAM_NULL = 3,
};

/* CUpti_ActivitySynchronizationType */
enum gpt_agent_sync_kind {
	GPT_AGENT_SYNC_EVENT = 1,
	GPT_AGENT_SYNC_STREAM_WAITS_EVENT = 2, /* a stream waits, not the caller */
	GPT_AGENT_SYNC_STREAM = 3,
	GPT_AGENT_SYNC_CONTEXT = 4,
};

/* CUpti_ActivityJitOperationType */
enum gpt_agent_jit_operation {
	GPT_AGENT_JIT_CACHE_LOAD = 1,
	GPT_AGENT_JIT_CACHE_STORE = 2,
	GPT_AGENT_JIT_COMPILE = 3,
};

/* CUpti_ActivityJitEntryType */
enum gpt_agent_jit_entry {
	GPT_AGENT_JIT_PTX_TO_CUBIN = 1,
	GPT_AGENT_JIT_NVVM_TO_PTX = 2,
};

/* ---- PyTorch --------------------------------------------------------------------------------- */

/* at::RecordScope (ATen/record_function.h), the same in every version that is known. */
enum gpt_agent_op_scope {
	GPT_AGENT_OP_FUNCTION = 0,
	GPT_AGENT_OP_BACKWARD_FUNCTION = 1,
	GPT_AGENT_OP_TORCHSCRIPT_FUNCTION = 2,
	GPT_AGENT_OP_KERNEL_FUNCTION_DTYPE = 3,
	GPT_AGENT_OP_CUSTOM_CLASS = 4,
	GPT_AGENT_OP_BUILD_FEATURE = 5,
	GPT_AGENT_OP_LITE_INTERPRETER = 6,
	GPT_AGENT_OP_USER_SCOPE = 7, /* named by the program: torch.profiler.record_function */
	GPT_AGENT_OP_STATIC_RUNTIME_OP = 8,
	GPT_AGENT_OP_STATIC_RUNTIME_MODEL = 9,
};

/*
 * The fields of the text of a collective: torch::ParamCommsDebugInfo (torch/csrc/distributed/c10d/ParamCommsUtils.hpp)
 * of PyTorch 2.11 and later.  Names are truncated at 256 bytes; lists are as torch.profiler writes them: "[0, 1, 2]",
 * long ones "[0, ..., 31]".
 */
#define GPT_COLLECTIVE_SEPARATOR "\xe2\x90\x9f" /* between two fields: U+241F, a character that can be shown */

enum gpt_collective_field {
	GPT_COLLECTIVE_NAME,
	GPT_COLLECTIVE_GROUP,
	GPT_COLLECTIVE_DESCRIPTION,
	GPT_COLLECTIVE_RANKS,	  /* list */
	GPT_COLLECTIVE_IN_SPLIT,  /* list */
	GPT_COLLECTIVE_OUT_SPLIT, /* list */
	GPT_COLLECTIVE_IN_ELEMENTS,
	GPT_COLLECTIVE_OUT_ELEMENTS,
	GPT_COLLECTIVE_DTYPE, /* c10::ScalarType */
	GPT_COLLECTIVE_RANK,  /* for send and recv the peer's */
	GPT_COLLECTIVE_GROUP_SIZE,
	GPT_COLLECTIVE_RANK_START,  /* the lowest global rank, -1: not known */
	GPT_COLLECTIVE_RANK_STRIDE, /* from one global rank to the next, -1: not known */
	GPT_COLLECTIVE_PEER, /* global rank that a send goes to or a receive comes from; -1: neither, or not known */
	GPT_COLLECTIVE_POINT_TO_POINT, /* 1, 0; -1: this PyTorch does not say */
	GPT_COLLECTIVE_ASYNC,	       /* 1, 0; -1: this PyTorch does not say */
	GPT_COLLECTIVE_FIELDS,
};

/* c10::DeviceType: the types that gputrace distinguishes. */
enum gpt_torch_device {
	GPT_TORCH_CPU = 0,
	GPT_TORCH_CUDA = 1,
};

/* An event of an allocator of PyTorch's. */
enum gpt_agent_torch_memory_kind {
	GPT_AGENT_TORCH_MEMORY_ALLOCATED = 1,
	GPT_AGENT_TORCH_MEMORY_FREED = 2,
	GPT_AGENT_TORCH_MEMORY_OUT = 3, /* there was not enough: torch.OutOfMemoryError */
};

enum gpt_agent_torch_memory_of {
	GPT_AGENT_TORCH_MEMORY_OF_CPU,
	GPT_AGENT_TORCH_MEMORY_OF_CUDA,
};

enum gpt_agent_ops_state {
	GPT_AGENT_OPS_WAITING = 1,   /* no PyTorch in the process yet */
	GPT_AGENT_OPS_OBSERVING = 2, /* ops that begin from now on are reported */
	GPT_AGENT_OPS_STOPPED = 3,
	GPT_AGENT_OPS_REFUSED = 4, /* an unknown PyTorch, or one that refuses the observer */
};

/* ---- a recording as a whole ----------------------------------------------------------------- */

/* Counters of the BPF side (bpf/common.bpf.h) by cause; index is part of the log format: append only. */
enum gpt_counter {
	GPT_COUNTER_RESERVED,	      /* 0 */
	GPT_COUNTER_CALLS_LOST,	      /* no room in the ring buffer for the call */
	GPT_COUNTER_STACKS_LOST,      /* ... for its stack */
	GPT_COUNTER_CODE_LOST,	      /* ... for a code object */
	GPT_COUNTER_BATCHES,	      /* agent batches seen */
	GPT_COUNTER_BATCHES_LOST,     /* ... for an agent batch */
	GPT_COUNTER_OTHER_LOST,	      /* ... for any other record */
	GPT_COUNTER_NESTED,	      /* driver calls inside a runtime call: omitted on purpose */
	GPT_COUNTER_UNTRACED,	      /* hits in processes that are not traced */
	GPT_COUNTER_READ_FAULTS,      /* failed reads of target memory */
	GPT_COUNTER_STACK_TRUNCATED,  /* stacks deeper than GPT_PYSTACK_MAX_FRAMES */
	GPT_COUNTER_THREADS_FULL,     /* no room in the thread table */
	GPT_COUNTER_PYEVENT_LOST,     /* no room in the ring buffer for the start or end of a collection or import */
	GPT_COUNTER_PYCALLS_LOST,     /* ... for the entry into a Python function or its end */
	GPT_COUNTER_PROCESSES_FULL,   /* forks, and calls with --all, of processes for which the table had no room */
	GPT_COUNTER_FILES_UNPROBED,   /* files with CUDA calls that could not be probed (counted by the collector) */
	GPT_COUNTER_MISSED,	      /* hits and events that the kernel did not hand to a program (bpf_prog_info) */
	GPT_COUNTER_OP_STACKS_LOST,   /* no room for a GPT_STACK_AT, in the ring buffer or in the thread table */
	GPT_COUNTER_PROCESSES_SILENT, /* processes whose memory or files did not answer (by the collector) */
	GPT_COUNTER_SAMPLES_LOST,     /* ... or no working memory, for a GPT_SAMPLE */
	GPT_COUNTER_WAITS_LOST,	      /* ... for a GPT_WAIT, or in the table of threads that wait, or of unknown end */
	GPT_COUNTER_PROCESSES_UNSEEN, /* processes whose calls were unseen for a while (counted by the collector) */
	GPT_COUNTER_MALFORMED,	      /* records that are none, or in parts (counted by the collector) */
	GPT_COUNTER_STACKS_FILTERED,  /* stacks not read, as GPT_STACK_FILTERED */
	/* processes that have CUDA and no agent, where only agents record (counted by the collector) */
	GPT_COUNTER_PROCESSES_UNENTERED,
	GPT_COUNTER_CODE_UNREAD, /* code objects of which something could not be read, however often it was tried */
	/* records dropped as --memory-limit was reached (counted by the collector) */
	GPT_COUNTER_MEMORY_CALLS,
	GPT_COUNTER_MEMORY_BATCHES,
	GPT_COUNTER_MEMORY_OTHERS,
	GPT_COUNTER_COUNT,
};

enum gpt_end_reason {
	GPT_END_DURATION = 1,
	GPT_END_INTERRUPTED = 2, /* Ctrl-C, SIGTERM */
	GPT_END_TARGETS_GONE = 3,
	GPT_END_DISK = 4, /* the log could not be written any further */
	GPT_END_ERROR = 5,
	GPT_END_SCHEDULE = 6, /* all cycles of a schedule were recorded */
	GPT_END_WRITTEN = 7,  /* a flight recorder wrote what it had, and goes on */
};

/* Of a search for the Python objects that hold tensors. */
enum gpt_holders_state {
	GPT_HOLDERS_COMPLETE = 1,
	GPT_HOLDERS_CUT = 2,	/* a limit of time or number was reached first */
	GPT_HOLDERS_FAILED = 3, /* nothing could be read */
};

/* Whether NVML (the driver's library that reads clocks and power) answers. */
enum gpt_nvml_state {
	GPT_NVML_READ = 1,
	GPT_NVML_ABSENT = 2, /* there is none, or it does not start */
	GPT_NVML_SILENT = 3, /* it stopped answering, or never did */
	GPT_NVML_ENDED = 4,  /* the process that called it ended */
	/* No library, and no driver either: a machine without a GPU of NVIDIA's. */
	GPT_NVML_NO_DRIVER = 5,
};

/* Why a GPU's clocks are below its highest ones: bits, as NVML has them (nvmlClocksEventReason...). */
enum gpt_clock_reason {
	GPT_CLOCK_IDLE = 0x1,
	GPT_CLOCK_SETTING = 0x2,
	GPT_CLOCK_POWER_CAP = 0x4,
	GPT_CLOCK_HW_SLOWDOWN = 0x8,
	GPT_CLOCK_SYNC_BOOST = 0x10,
	GPT_CLOCK_SW_THERMAL = 0x20,
	GPT_CLOCK_HW_THERMAL = 0x40,
	GPT_CLOCK_POWER_BRAKE = 0x80,
	GPT_CLOCK_DISPLAY = 0x100,
	GPT_CLOCK_BOARD_LIMIT = 0x200,
	GPT_CLOCK_RELIABILITY = 0x400,
};

/* What NVML reports of a GPU by itself. */
enum gpt_gpu_error_kind {
	GPT_GPU_XID = 1,
	GPT_GPU_ECC_CORRECTED = 2,
	GPT_GPU_ECC_UNCORRECTED = 3,
	GPT_GPU_LOST = 4, /* the driver reaches it no more */
};

/* Phase of a step in a schedule (gputrace/schedule.h). */
enum gpt_step_phase {
	GPT_STEP_WAITING = 0, /* nothing is recorded */
	GPT_STEP_WARMUP = 1,  /* recorded, but not shown */
	GPT_STEP_ACTIVE = 2,
	GPT_STEP_OVER = 3, /* after the last cycle */
};

/* What a step begins with, as known at its start. */
enum gpt_step_by {
	GPT_STEP_BY_FIRST = 0,	   /* requested: whichever of the next two is seen first */
	GPT_STEP_BY_PROFILER = 1,  /* ProfilerStep#N of torch.profiler */
	GPT_STEP_BY_OPTIMIZER = 2, /* the end of an Optimizer.step */
	GPT_STEP_BY_RANGE = 3,	   /* a record_function of a name */
	GPT_STEP_BY_BACKWARD = 4,  /* the end of a backward pass */
	GPT_STEP_BY_CAPTURE = 5, /* cudaProfilerStart and cudaProfilerStop alternate: every other one starts a range */
};
