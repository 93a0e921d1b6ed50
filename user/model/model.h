/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The joined model of one trace, or of a part of it (struct model_due): what report/ and export/ read.  Made by a
 * builder (builder.h) that an input feeds, never changed afterwards.  Plain arrays; cross references are indices into
 * them, NONE where there is none.  All times are CLOCK_MONOTONIC ns; strings are UTF-8, valid, owned by the model.
 */
#ifndef GPUTRACE_MODEL_H
#define GPUTRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/cuda_api.h>
#include <gputrace/losses.h>
#include <gputrace/values.h>

#define NONE UINT32_MAX

struct model_code {
	const char *name;    /* qualified name where the interpreter has one, else the plain name */
	const char *file;    /* as the code object has it, usually absolute */
	uint32_t first_line; /* of the function */
	bool described;	     /* false: the object could not be read; name is "?" */
};

/* One (code object, executing line); frames are unique, so indices can be compared. */
struct model_frame {
	uint32_t code;
	uint32_t line; /* executing line; 0: not known */
};

/* A line that launches a kernel in a file of PyTorch's compiler, by that file's own comments; texts may be "". */
struct model_generated_line {
	const char *file;
	const char *kernel;	 /* "triton_poi_fused_add_0", "extern_kernels.mm" */
	const char *nodes;	 /* names in the graph that was compiled: "sin, z" */
	const char *ops;	 /* "aten.sin, aten.mul" */
	const char *kernel_file; /* that has the kernel's function */
	uint32_t line;
	uint32_t kernel_line; /* of the function in kernel_file, 0: not known */
};

#define MODEL_MISSING_UNKNOWN UINT32_MAX

/* Equal stacks are one, also over processes: indices can be compared. */
struct model_stack {
	uint32_t first;	  /* in model.stack_frames, innermost first */
	uint32_t depth;	  /* at least 1 */
	uint32_t gap;	  /* frames are missing before this one (depth: outer ones); valid when `missing` is not 0 */
	uint32_t missing; /* how many, MODEL_MISSING_UNKNOWN: some */
};

struct model_native {
	uint32_t first; /* in model.native_frames, innermost first: indices into model.strings of demangled names */
	uint32_t depth;
};

struct model_thread {
	uint32_t process;
	uint32_t tid;
	const char *name;
	uint64_t calls;				  /* of any class, in the whole trace */
	uint32_t first_pyspan, pyspans;		  /* model.pyspans[first_pyspan .. + pyspans) are this thread's */
	uint32_t first_pycall, pycalls;		  /* the same of model.pycalls */
	uint32_t first_range, ranges;		  /* and of model.ranges */
	uint32_t first_op, ops;			  /* and of model.ops */
	bool pycalls_elsewhere, ranges_elsewhere; /* other parts of the trace have some of this thread */
	bool has_ops;				  /* in some part of the trace */
};

/* A step of training begins, as the program's agent saw it, which records some of them. */
struct model_told_step {
	uint64_t time_ns;
	uint64_t number;
	uint32_t process;
	uint32_t thread;
	uint32_t cycle; /* from 0, of WARMUP and ACTIVE */
	enum gpt_step_phase phase;
	enum gpt_step_by by;
};

/* That only some steps are recorded. */
struct model_schedule {
	bool is_there;
	uint64_t first; /* the first of them, counted from where the schedule began */
};

enum model_span_kind {
	MODEL_SPAN_GC = 1,   /* a garbage collection of the interpreter */
	MODEL_SPAN_IMPORT,   /* a module that was not there yet was looked for and executed */
	MODEL_SPAN_FUNCTION, /* a Python function from entry to end; a generator is entered anew each time it goes on */
	MODEL_SPAN_MARK,     /* NVTX: a moment */
	MODEL_SPAN_PUSHED,   /* NVTX: those of a thread and domain nest */
	MODEL_SPAN_STARTED,  /* NVTX: these need not; they count for the thread that started them */
};

/* What has a begin and an end on a thread. */
struct model_span {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t name; /* model.strings: import: the module; NVTX: the range; else NONE */
	union {
		int32_t generation; /* of a garbage collection, -1: not known */
		uint32_t code;	    /* of a function: model.codes */
		uint32_t domain;    /* NVTX: model.strings, NONE: the default one */
	};
	uint64_t number; /* functions and NVTX: of this one in all parts of the trace; see struct model_due */
	uint8_t kind;	 /* enum model_span_kind */
	bool truncated;	 /* it had not ended when its program or the trace did */
	bool lost;	 /* its end was lost; none of a finished model's is */
	bool continued;	 /* it began in an earlier part, which had it, too */
	bool open;	 /* it goes on into a later part, which has it again; end_ns is UINT64_MAX */
};

/*
 * An op of PyTorch, or what a program named itself (record_function).  A part of a trace has all that are open in it,
 * also those that began before; where each ends is known, also behind the part.
 */
struct model_op {
	uint64_t start_ns, end_ns;
	uint64_t number;	 /* in the order in which they began, from 0, in the whole trace; some may be missing */
	int64_t sequence;	 /* autograd's number, -1: none */
	uint64_t handle;	 /* PyTorch's own number of it, 0: none */
	uint64_t torch_thread;	 /* PyTorch's own number of its thread, 0: not known */
	uint64_t forward_thread; /* the same of the op that it is the backward of, 0: none */
	uint32_t thread;
	uint32_t name;	  /* model.strings, NONE: not known */
	uint32_t inputs;  /* model.strings: see op_inputs.h, NONE: it has none, or they were not recorded */
	uint32_t stack;	  /* model.stacks: of Python as it began, NONE: none, or not recorded */
	uint32_t node;	  /* model.strings: the node of a backward pass that it is, or evaluates; NONE */
	uint32_t forward; /* of a node: stack of the forward op that made it, NONE: not known */
	uint8_t scope;	  /* enum gpt_agent_op_scope */
	bool overlaps;	  /* others of its thread: it is no part of their nesting */
	bool truncated;	  /* it had not ended when its program or the trace did */
	bool continued;	  /* it began in an earlier part */
};

/* A collective of torch.distributed, or a send or a receive, which an op stands for. */
struct model_collective {
	uint64_t op;	  /* 1 + number of that op */
	int64_t sequence; /* in its process group, -1: not known */
	uint32_t params;  /* model.strings: see collective_read() */
};

/* What an agent lost; losses.h names the causes. */
struct model_agent_losses {
#define MODEL_LOSS_MEMBER(member, ...) uint64_t member;
	GPT_AGENT_LOSSES(MODEL_LOSS_MEMBER)
	GPT_AGENT_NOTES(MODEL_LOSS_MEMBER)
#undef MODEL_LOSS_MEMBER
};

/*
 * An allocator of PyTorch's handed memory out, took it back, or had not enough.  Those of one part happened in it: they
 * are all due.
 */
struct model_torch_memory {
	uint64_t time_ns, address;
	int64_t bytes;		      /* below 0: came back; OUT: that were asked for */
	uint64_t allocated, reserved; /* in all behind it, as the allocator says; the CPU's: since the trace began */
	uint64_t since_ns;	      /* of what came back: when it was handed out, 0: not known */
	uint64_t op;		      /* as model_call.op */
	uint32_t op_name;	      /* model.strings, NONE: in no op, or not known */
	uint32_t thread;
	uint32_t since_op_name, since_stack; /* of what came back: those of when it was handed out */
	uint32_t stack;	    /* model.stacks: its own or that of an op around it; NONE: none was taken */
	uint8_t kind;	    /* enum gpt_agent_torch_memory_kind */
	int8_t device_type; /* enum gpt_torch_device, or another c10::DeviceType */
	int32_t device;	    /* of CUDA model_device.id, else PyTorch's own number; -1: the CPU */
};

struct model_process {
	uint32_t pid, parent; /* parent: pid, 0 unknown */
	const char *name;     /* comm */
	const char *exe;
	const char *cmdline;
	const char *python_path;				 /* libpython or executable, "" none */
	uint16_t python;					 /* major << 8 | minor, 0 none */
	uint8_t mounts;						 /* enum gpt_mounts */
	uint64_t start_ns, first_call_ns, last_call_ns, exit_ns; /* 0: not known, none, none, still runs */
	enum gpt_agent_state agent_state;			 /* last one heard, 0: never heard of an agent */
	enum gpt_agent_failure agent_failure;			 /* of the last HELLO */
	uint64_t agent_ready_ns;				 /* first READY or BORROWING, 0 never */
	bool agent_aside;					 /* it recorded nothing then: another might */
	uint64_t borrowed_ns, borrowed_end_ns; /* CUPTI was borrowed from another, 0 never; its calls are expected to
						* have records */
	const char *agent_detail, *cupti_path;
	const char *agent_activity_sets;			 /* "kernels,cuda,sync"; "" not known */
	uint32_t cupti_version, driver_version, runtime_version; /* as CUPTI and CUDA number them, 0: not known */
	bool mps;						 /* it shares the GPU through an MPS server */
	struct model_agent_losses agent_losses;			 /* what the agent that runs now has told of */
	enum gpt_agent_ops_state ops_state;			 /* PyTorch's ops; 0: never heard of them */
	uint32_t torch_version;					 /* major << 16 | minor << 8 | patch, 0: not known */
	const char *ops_detail;					 /* why they are refused, "" not known */
	bool torch_memory_told;					 /* events of its allocators are */
	const char *torch_memory_detail;			 /* which are not, and why; "" all are */
	uint64_t calls, gpu_ops;
};

struct model_args {
	uint64_t function, stream, bytes;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	uint32_t memcpy_kind; /* enum cudaMemcpyKind; UINT32_MAX: not known */
};

#define CALL_OUTSIDE UINT64_MAX

struct model_call {
	uint64_t start_ns;
	uint64_t end_ns; /* 0: the return was not seen */
	uint64_t number; /* its place in the whole trace, from 0: its index in model.calls where that is all of it;
			  * in a slice some are missing, CALL_OUTSIDE: not in it, only referred to */
	uint64_t op;	 /* 1 + number of the innermost op of its thread that was open, 0: none; of those that the
			  * program named itself only where no other was */
	uint32_t thread; /* model.threads */
	uint32_t stack;	 /* model.stacks or NONE, see stack_state */
	uint32_t native; /* model.natives or NONE */
	uint32_t node;	 /* of the innermost node of a backward pass that it was made in, as model_op; NONE: in none, or
			  * by Python that the node runs, which has a stack of its own */
	uint32_t forward;   /* of that node, as model_op */
	uint32_t args;	    /* model.args or NONE */
	uint32_t corr;	    /* 0: none */
	uint32_t first_gpu; /* first of its GPU operations, NONE; next ones by model_gpu.next */
	uint32_t gpu_count;
	int32_t result; /* valid when end_ns != 0 */
	uint16_t api;
	uint16_t nodes_missing; /* graph launch: nodes that ran in other launches of that graph and have no record here
				 */
	uint8_t class;		/* enum gpt_api_class */
	uint8_t stack_state;	/* enum gpt_stack_state; GPT_STACK_OK only with a stack */
	bool captured;		/* became a node of a graph: nothing was executed then */
	bool after_loss;	/* calls of its thread just before it were lost */
};

enum model_gpu_kind {
	MODEL_KERNEL,
	MODEL_MEMCPY,
	MODEL_MEMSET,
	MODEL_GPU_KINDS,
};

/* What a source did not tell of a GPU operation: such numbers are 0, and are no numbers. */
enum model_gpu_unknown {
	MODEL_GPU_NO_BYTES = 1,
	MODEL_GPU_NO_LAUNCH = 2, /* grid or block */
	MODEL_GPU_NO_REGISTERS = 4,
	MODEL_GPU_NO_STATIC_SHARED = 8, /* alone: the dynamic number is that of both */
	MODEL_GPU_NO_DYNAMIC_SHARED = 16,
	MODEL_GPU_NO_LOCAL = 32,
	MODEL_GPU_NO_SHARED = MODEL_GPU_NO_STATIC_SHARED | MODEL_GPU_NO_DYNAMIC_SHARED,
};

struct model_gpu {
	uint64_t start_ns, end_ns; /* both 0: CUPTI could not time it (counted as untimed, never plotted) */
	uint64_t bytes;		   /* memcpy, memset */
	uint32_t call;		   /* model.calls, NONE: its launch was not seen */
	uint32_t next;		   /* next GPU operation of the same call, NONE */
	uint32_t captured_by;	   /* of a graph: the call that became its node, NONE: not seen */
	uint32_t process;
	uint32_t device;	  /* model_device.id */
	uint32_t context, stream; /* CUPTI's ids */
	uint32_t corr;
	uint32_t name;	/* kernel: index into model.strings of the demangled name, else NONE */
	uint32_t label; /* the same with the place behind it: "add_kernel (kernels.py:12)"; where there is none the name
			 */
	uint32_t place; /* where its function is in the source: "/path/kernels.py:12"; NONE */
	uint32_t graph;
	uint64_t graph_node;
	uint32_t grid[3], block[3];
	uint32_t static_shared_bytes, dynamic_shared_bytes, registers;
	uint32_t local_bytes;	       /* per thread of a kernel */
	uint32_t channel;	       /* of the GPU's queues */
	uint8_t kind : 6;	       /* enum model_gpu_kind */
	uint8_t foreign : 1;	       /* from a buffer of another profiler */
	uint8_t before : 1;	       /* launched before the trace began, so that its launch was not seen */
	uint8_t memcpy_kind, from, to; /* CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind (memset: to) */
	uint8_t cluster[3];	       /* of a kernel, in blocks; 0: none */
	uint8_t channel_type;	       /* CUpti_ChannelType */
	uint8_t stream_flags;	       /* enum gpt_agent_stream_flag, 0: not known */
	int8_t priority;	       /* of the kernel, where CUPTI says it, else of the stream */
	uint8_t unknown;	       /* enum model_gpu_unknown, or-ed */
};

struct model_overhead {
	uint64_t start_ns, end_ns;
	uint32_t process;
	uint32_t kind; /* CUpti_ActivityOverheadKind */
	uint32_t tid;
};

/* The driver compiled code for the GPU, or took it from its cache. */
struct model_jit {
	uint64_t start_ns, end_ns;
	uint64_t bytes; /* of the cache */
	uint32_t call;	/* model.calls, NONE: none that is followed */
	uint32_t process;
	uint32_t tid; /* 0: not known */
	uint32_t corr;
	uint8_t operation; /* enum gpt_agent_jit_operation */
	uint8_t entry;	   /* enum gpt_agent_jit_entry, 0: not known */
};

/* A call that waited for the GPU, or told a stream to; those without times are left out. */
struct model_sync {
	uint64_t start_ns, end_ns;
	uint32_t call; /* model.calls, NONE: not seen */
	uint32_t process;
	uint32_t device; /* model_device.id, NONE: not known */
	uint32_t context;
	uint32_t stream;      /* that waits or is waited for; NONE: all of the context, or an event */
	uint32_t event;	      /* the two event kinds: CUPTI's id, else NONE */
	uint32_t recorded_by; /* the call that put the event into a stream, NONE: not known */
	uint32_t recorded_on; /* that stream, NONE */
	uint32_t corr;
	int32_t result;
	uint8_t kind; /* enum gpt_agent_sync_kind */
};

/* Memory that came from CUDA or went back. */
struct model_memory {
	uint64_t time_ns, address;
	uint64_t bytes;			      /* of a release: those of its allocation, where that was seen */
	uint64_t pool_bytes, pool_used_bytes; /* of the pool it is from, 0: from none */
	uint32_t call;			      /* model.calls, NONE: not seen */
	uint32_t other;			      /* the release of an allocation, or the reverse; NONE: not seen */
	uint32_t process;
	uint32_t device; /* model_device.id */
	uint32_t corr;
	uint8_t kind; /* CUpti_ActivityMemoryKind */
	bool released;
};

struct model_device {
	uint32_t id; /* CUPTI's, unless another device has it: processes number the devices they see from 0 */
	const char *name;
	uint8_t uuid[16]; /* processes that name the same uuid share the device */
	uint64_t memory_bytes;
	uint32_t multiprocessors, compute_major, compute_minor;
	uint32_t warp_size, max_threads_per_multiprocessor, max_threads_per_block, max_blocks_per_multiprocessor;
	uint32_t max_registers_per_multiprocessor, max_registers_per_block;
	uint32_t max_shared_per_multiprocessor, max_shared_per_block;
};

/* A time in which another user of CUPTI had the GPU's records, so that they did not come to the agent. */
struct model_gap {
	uint64_t start_ns, end_ns; /* end_ns 0: the other still had them when the process or the trace ended */
	uint32_t process;
	bool aside; /* the agent came and kept aside: whether another had them, its buffers tell */
};

/* What was seen, lost, joined: the basis of every "Complete" line. */
struct model_receipt {
	uint64_t counters[GPT_COUNTER_COUNT]; /* of the BPF side */
	uint64_t calls;			      /* recorded, all classes */
	uint64_t launches;		      /* recorded calls of class LAUNCH or GRAPH that did not fail */
	uint64_t launches_failed;	      /* the same that returned an error */
	uint64_t launches_captured;	      /* of the launches, those that became nodes of a graph under capture */
	uint64_t launches_expected;	      /* of the others, those made while an agent recorded */
	uint64_t launches_joined;	      /* of those, with at least one GPU operation */
	uint64_t launches_whole;	      /* of those, with all that is to be known: see enum launch_fate */
	uint64_t launches_short;	      /* of those joined, graph launches of which operations are missing */
	uint64_t launches_agent_away; /* meant to have GPU times, made before the agent recorded or after it had left */
	uint64_t launches_no_agent;   /* meant to have GPU times, in processes in which no agent ever recorded */
	uint64_t operations_missing;  /* calls that should have GPU operations and have none, and nodes_missing */
	uint64_t stacks_missing;      /* calls whose stack was lost */
	uint64_t calls_with_stack;    /* any class */
	uint64_t launches_with_stack;
	uint64_t gpu_ops, gpu_ops_joined, gpu_ops_untimed;
	uint64_t gpu_ops_before;    /* launched before the trace began: not joined, and not lost */
	uint64_t gpu_ns;	    /* sum of durations of all GPU operations */
	uint64_t gpu_ns_with_line;  /* of those whose call's innermost frame has a line */
	uint64_t graph_ns;	    /* of operations of graphs */
	uint64_t graph_ns_captured; /* of those put on the line that was captured */
	uint64_t early;		    /* GPU operations that seem to start before their call, beyond clock_error_ns */
	uint64_t early_max_ns;
	uint64_t gaps, gap_ns;	  /* times that another user of CUPTI had the GPU's records; how long in all */
	uint64_t gap_launches;	  /* of the launches expected and not joined, those that this explains */
	uint64_t gpu_ops_foreign; /* of gpu_ops, those from buffers of another user of CUPTI */
	uint64_t lost;		  /* records of any kind known to be lost, all causes */
	/* causes of loss that counters do not hold, as losses.h names them: cupti_dropped and so on, sums over agents
	 */
#define GPT_LOSS_MEMBER(member, ...) uint64_t member;
	GPT_AGENT_LOSSES(GPT_LOSS_MEMBER)
	GPT_AGENT_NOTES(GPT_LOSS_MEMBER) /* no loss */
	GPT_RECORD_LOSSES(GPT_LOSS_MEMBER)
#undef GPT_LOSS_MEMBER
	uint64_t python_unpaired; /* collections, imports, Python calls whose end was lost: left out */
	uint64_t bad_records;	  /* records in the log that did not make sense */
	uint64_t clock_error_ns;  /* bound of the wall clock conversion */
	uint64_t clock_steps;	  /* steps of the wall clock during the trace */
	uint64_t cpu_ns, ring_bytes, ring_bytes_max;
	enum gpt_end_reason end_reason; /* 0: the log was truncated */
	bool truncated;			/* the log ends in the middle of a record or without GPT_END */
};

/* Whether launches were meant to have GPU times (--agent); a model that is finished knows. */
enum model_gpu_times {
	MODEL_GPU_TIMES_UNKNOWN, /* the log does not say: meant where an agent recorded */
	MODEL_GPU_TIMES_MEANT,
	MODEL_GPU_TIMES_OFF,
};

/* Where a part of the model comes from: one recording on one machine, with its own clock and its own losses. */
struct model_source {
	const char *version, *host, *kernel, *target; /* of what recorded it; "" not recorded */
	const char *boot; /* of the machine: those of one boot have one clock; "" not recorded */
	const char *tool; /* that recorded it, in words; "" gputrace. Of another nobody knows what it lost, how good its
			   * times are, and what it cost */
	uint32_t cpus;	  /* 0: not recorded */
	int64_t wall_offset_ns; /* CLOCK_REALTIME = time + this (at the start) */
	struct model_receipt receipt;
};

/*
 * A long trace is handed over part by part, in order of time: each part is a model, and its arrays of events hold what
 * belongs to that part, [from, count - later); before these, events of earlier parts to which something still refers;
 * behind them, events of later ones.  So every index in a part is good in that part, and in no other.  All zero: the
 * model is the whole trace, and so is each array.
 *
 * Functions and NVTX ranges have a length that may go beyond a part: a part has all that are open in it, and they say
 * so themselves (model_span.continued, .open).
 */
struct model_due {
	uint32_t from, later;
	uint64_t number; /* of the first: how many of this kind earlier parts had */
};

struct model_outlook;

struct model {
	uint64_t start_ns, end_ns; /* the recording, or the slice of it */
	const char *slice;	   /* what of the recording this is, for people; NULL: all */
	uint32_t min_complete;	   /* thousandths of a percent */
	bool metric_launches;
	enum model_gpu_times gpu_times;

	struct model_process *processes;
	struct model_thread *threads;
	struct model_code *codes;
	struct model_frame *frames;
	struct model_stack *stacks;
	uint32_t *stack_frames;
	struct model_native *natives;
	uint32_t *native_frames;
	struct model_args *args;
	struct model_call *calls; /* by start_ns */
	struct model_gpu *gpu;	  /* by start_ns, untimed ones first */
	struct model_overhead *overheads;
	struct model_jit *jits;			   /* by start_ns */
	struct model_sync *syncs;		   /* by start_ns */
	struct model_memory *memories;		   /* by time_ns */
	struct model_device *devices;		   /* by id */
	struct model_gap *gaps;			   /* by process and start */
	struct model_span *pyspans;		   /* garbage collections and imports, by thread and start */
	struct model_span *pycalls;		   /* functions, by thread and start */
	struct model_span *ranges;		   /* NVTX, by thread, start, and those around others first */
	struct model_op *ops;			   /* by thread, start, and those around others first */
	struct model_collective *collectives;	   /* by op; of a long trace the latest, until those of this part */
	struct model_torch_memory *torch_memories; /* by time_ns */
	struct model_told_step *told_steps;	   /* where there was a schedule: of the whole trace, as they came */
	const char **strings;
	const char **probes;			      /* one line per file with probe sites found and missed */
	const char **notes;			      /* remarks the report must show */
	struct model_generated_line *generated_lines; /* as they were told: the last of a file and line counts */
	uint32_t process_count, thread_count, code_count, frame_count, stack_count, stack_frame_count, native_count,
		native_frame_count, args_count, call_count, gpu_count, overhead_count, jit_count, sync_count,
		memory_count, device_count, gap_count, string_count, probe_count, note_count, pyspan_count,
		pycall_count, range_count, op_count, collective_count, torch_memory_count, told_step_count,
		generated_line_count;

	bool continued; /* earlier parts of the trace came before this one */
	bool more;	/* later parts follow: the receipt, but for its clock_error_ns, and gpu_ops of processes are not
			 * yet complete */
	uint64_t until_ns; /* where more: every event that begins before this is in this part, or was in an earlier one
			    */
	struct model_schedule schedule;
	uint64_t forwards_forgotten; /* nodes so far whose forward op was too long ago to be kept */
	struct model_due calls_due, gpu_due, overheads_due, jits_due, syncs_due, memories_due;
	const struct model_outlook *outlook; /* on all parts, where there may be several; NULL: this is the only one */

	struct model_source *sources; /* at least one */
	uint32_t source_count;
	void *private; /* memory behind all of it */
};

void model_free(struct model *model);

/* The source of a model that has one, or its first. */
static inline struct model_source *model_source(const struct model *model)
{
	return &model->sources[0];
}

/* Whether another tool recorded it. */
static inline bool model_is_foreign(const struct model *model)
{
	const char *tool = model_source(model)->tool;

	return tool && *tool;
}

/* One cause of loss, and how often it was met. */
struct model_loss {
	const char *name;  /* in the Chrome trace */
	const char *words; /* behind the count, for people */
	uint64_t count;
	enum gpt_loss_kind kind;
};

#define GPT_LOSS_ONE(source, name, kind, words) +1
enum {
	MODEL_LOSSES = 0 GPT_COUNTER_LOSSES(GPT_LOSS_ONE) GPT_AGENT_LOSSES(GPT_LOSS_ONE) GPT_RECORD_LOSSES(GPT_LOSS_ONE)
};
#undef GPT_LOSS_ONE

/* All causes there are, also those that were not met. */
void model_losses(const struct model_receipt *receipt, struct model_loss losses[MODEL_LOSSES]);

/* The end of what belongs to a part, of an array with so many events. */
static inline uint32_t due_end(const struct model_due *due, uint32_t count)
{
	return count - due->later;
}

static inline bool is_due(const struct model_due *due, uint32_t count, uint32_t index)
{
	return index >= due->from && index < due_end(due, count);
}

/* The place of an event that is due among those of its kind in the whole trace, from 0. */
static inline uint64_t due_number(const struct model_due *due, uint32_t index)
{
	return due->number + (index - due->from);
}

/* What became of a call as a launch; what follows LAUNCH_UNASKED are launches that were meant to have GPU times. */
enum launch_fate {
	LAUNCH_NONE,	  /* the call is none */
	LAUNCH_FAILED,	  /* it did nothing */
	LAUNCH_CAPTURED,  /* it became a node of a graph */
	LAUNCH_UNASKED,	  /* no GPU times were asked for: --agent off */
	LAUNCH_WHOLE,	  /* all its GPU operations, with times; its stack, or the reason why there is none */
	LAUNCH_SHORT,	  /* of a graph; some of its operations are missing */
	LAUNCH_UNTIMED,	  /* CUPTI could not time some of its operations */
	LAUNCH_STACKLESS, /* its stack was lost */
	LAUNCH_MISSED,	  /* no GPU operation, though an agent recorded */
	LAUNCH_AWAY,	  /* no agent recorded at that time */
	LAUNCH_ALONE,	  /* no agent ever recorded in that process */
};
enum launch_fate launch_fate(const struct model *model, const struct model_call *call);

/* Whether the launch was to have GPU times and has none. */
static inline bool launch_lacks_times(enum launch_fate fate)
{
	return fate >= LAUNCH_MISSED;
}

/* Launches that were made, seen, and meant to have GPU times. */
uint64_t model_launches_meant(const struct model *model);

#define MODEL_COMPLETE 100000u

/*
 * How much of what should be there is, in thousandths of a percent, rounded down: MODEL_COMPLETE only where all is
 * known and nothing was lost.  docs/formats.md says what is counted.
 */
uint32_t model_completeness(const struct model *model);

/* The name of a call as CUDA has it ("cudaLaunchKernel"), "cuda call" when unknown. */
const char *api_name(uint16_t api);
enum gpt_api_class api_class(uint16_t api);

/* Whether a call puts work on the GPU: launches, graphs, memcpys, memsets. */
static inline bool call_is_work(const struct model_call *call)
{
	return call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH || call->class == GPT_CLASS_MEMCPY ||
	       call->class == GPT_CLASS_MEMSET;
}

/*
 * The call whose line the operation is put on: of a graph's operation the one that was captured, where that was seen
 * and has a Python stack; else the one that launched it.  NONE: not seen.
 */
static inline uint32_t gpu_attributed_call(const struct model *model, const struct model_gpu *op)
{
	return op->captured_by != NONE && model->calls[op->captured_by].stack != NONE ? op->captured_by : op->call;
}

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)" or the kernel's name; into buffer when needed. */
const char *gpu_name(const struct model *model, const struct model_gpu *op, char *buffer, size_t size);

/* Of those names: "HtoD"; "Pageable". */
const char *gpu_memcpy_kind(uint32_t kind);
const char *gpu_memory_kind(uint32_t kind);

/* "PTX compiled", "loaded from the cache" and so on. */
const char *jit_name(const struct model_jit *jit);

/*
 * The part of a call's native stack (call->native is not NONE) that stands between Python and the CUDA call:
 * native_frames[natives[call->native].first + *first .. *end), innermost first; may be empty.
 */
void model_native_span(const struct model *model, const struct model_call *call, uint32_t *first, uint32_t *end);

#endif
