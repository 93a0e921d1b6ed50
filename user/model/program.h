/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs did, in the model (model.h): processes and threads, their Python code and stacks, what they called and
 * what had a length on a thread.
 */
#ifndef GPUTRACE_MODEL_PROGRAM_H
#define GPUTRACE_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/cuda_api.h>
#include <gputrace/values.h>

#include "model/losses.h"

struct model_code {
	const char *name;     /* qualified name where the interpreter has one, else the plain name */
	const char *file;     /* as the code object has it, usually absolute; the last part of a cell's is "cell 1" */
	const char *raw_file; /* as the code object has it, also of a cell */
	uint32_t first_line;  /* of the function */
	bool described;	      /* false: the object could not be read; name is "?" */
};

/* One (code object, executing line); frames are unique, so indices can be compared. */
struct model_frame {
	uint32_t code;
	uint32_t line; /* executing line; 0: not known */
};

/* A line of source that is in no file: of a notebook's cell. */
struct model_cell_line {
	const char *file; /* model_code.raw_file */
	const char *text; /* without its end */
	uint32_t line;	  /* from 1 on */
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
struct model_reported_step {
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
	bool is_capture; /* cycles are what lies between cudaProfilerStart and cudaProfilerStop */
	uint64_t first;	 /* the first of them, counted from where the schedule began */
};

enum model_span_kind {
	MODEL_SPAN_GC = 1,   /* a garbage collection of the interpreter */
	MODEL_SPAN_IMPORT,   /* a module that was not there yet was looked for and executed */
	MODEL_SPAN_FUNCTION, /* a Python function from entry to end; a generator is entered again each time it goes on
			      */
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
	uint64_t number; /* functions and NVTX: of this one in all parts of the trace; see struct model_in_part */
	uint8_t kind;	 /* enum model_span_kind */
	bool truncated;	 /* it had not ended when its program or the trace did */
	bool lost;	 /* its end was lost; none of a finished model's is */
	bool continued;	 /* it began in an earlier part, which had it, too */
	bool open;	 /* it goes on into a later part, which has it again; end_ns is UINT64_MAX */
};

/*
 * An op of PyTorch, or what a program named itself (record_function).  A part of a trace has all that are open in it,
 * also those that began before; where each ends is known, also after the part.
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

/*
 * A collective of torch.distributed, or a send or a receive, which an op stands for; or what NCCL was called for, which
 * a call of CUDA launches.
 */
struct model_collective {
	uint64_t op;	    /* 1 + number of that op, 0: of NCCL */
	uint64_t launch_ns; /* of NCCL: model_call.start_ns and .thread of the launch */
	int64_t sequence;   /* in its process group or communicator, -1: not known */
	uint32_t params;    /* model.strings: see collective_read() */
	uint32_t thread;
};

/*
 * An allocator of PyTorch's handed memory out, took it back, or had not enough.  Those of one part happened in it.
 */
struct model_torch_memory {
	uint64_t time_ns, address;
	int64_t bytes;		      /* below 0: came back; OUT: that were asked for */
	uint64_t allocated, reserved; /* in all after it, as the allocator says; the CPU's: since the trace began */
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
	const char *python_path; /* libpython or executable, "" none */
	int32_t rank,
		local_rank; /* of a job, as RANK and LOCAL_RANK said when its program was started; -1: not known */
	uint16_t python;    /* major << 8 | minor, 0 none */
	uint8_t mounts;	    /* enum gpt_mounts */
	uint64_t start_ns, first_call_ns, last_call_ns, exit_ns; /* 0: not known, none, none, still runs */
	enum gpt_agent_state agent_state;			 /* last one heard, 0: never heard of an agent */
	enum gpt_agent_failure agent_failure;			 /* of the last HELLO */
	uint64_t agent_ready_ns;				 /* first READY or BORROWING, 0 never */
	bool agent_idle;					 /* it recorded nothing then: another might */
	uint64_t borrowed_ns, borrowed_end_ns; /* CUPTI was borrowed from another, 0 never; its calls are expected to
						* have records */
	const char *agent_detail, *cupti_path;
	const char *agent_activity_sets;			 /* "kernels,cuda,sync"; "" not known */
	uint32_t cupti_version, driver_version, runtime_version; /* as CUPTI and CUDA number them, 0: not known */
	bool mps;						 /* it shares the GPU through an MPS server */
	struct model_agent_losses agent_losses;			 /* what the agent that runs now has reported */
	enum gpt_agent_ops_state ops_state;			 /* PyTorch's ops; 0: never heard of them */
	const char *ops_detail;					 /* why they are refused, "" not known */
	bool torch_memory_reported;				 /* events of its allocators are */
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

/* The name of a call as CUDA has it ("cudaLaunchKernel"), "cuda call" when unknown. */
const char *api_name(uint16_t api);
enum gpt_api_class api_class(uint16_t api);
bool api_is_of_driver(uint16_t api);

/*
 * Calls that gputrace does not follow, of files of other tools: their numbers are those of this run alone, in a domain
 * of their own beside enum gpt_api_domain.
 */
#define API_DOMAIN_NAMED 3

static inline bool api_is_named(uint16_t api)
{
	return GPT_API_DOMAIN(api) == API_DOMAIN_NAMED;
}

/* The number of such a call, the same for the same name; after 4,095 names those to come have one number together. */
uint16_t api_named(const char *name, size_t size);

/* Whether a call puts work on the GPU: launches, graphs, memcpys, memsets. */
static inline bool call_is_work(const struct model_call *call)
{
	return call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH || call->class == GPT_CLASS_MEMCPY ||
	       call->class == GPT_CLASS_MEMSET;
}

#endif
