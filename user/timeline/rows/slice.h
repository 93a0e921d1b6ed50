/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The values that a timeline hands over: slices with their arguments, and allocations and frees of memory.  They are
 * valid only during one call of the visitor.  A format that handles all types of arguments can write arguments that it
 * does not know.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(CATEGORY, form, category, kind): form: a SLICE, a slice that belongs to an op of PyTorch (OF_OP), or a point in
 * time (INSTANT: end_ns is start_ns); category: Kineto's name; kind: the name in a table that has all kinds.
 */
#define TIMELINE_CATEGORY_ROWS(X)                                                                                      \
	X(RUNTIME_CALL, OF_OP, "cuda_runtime", "cuda_runtime") /* of the CUDA runtime */                               \
	X(DRIVER_CALL, OF_OP, "cuda_driver", "cuda_driver")                                                            \
	X(KERNEL, OF_OP, "kernel", "kernel")                                                                           \
	X(MEMCPY, OF_OP, "gpu_memcpy", "gpu_memcpy")                                                                   \
	X(MEMSET, OF_OP, "gpu_memset", "gpu_memset")                                                                   \
	X(SYNC, SLICE, "cuda_sync", "cuda_sync")		      /* a wait for the GPU */                         \
	X(PYTHON, SLICE, "python_function", "python_function")	      /* a function of Python */                       \
	X(LAYER, SLICE, "layer", "layer")			      /* a call of a module of PyTorch */              \
	X(GC, SLICE, "python_gc", "python_gc")			      /* a collection by Python's garbage collector */ \
	X(IMPORT, SLICE, "python_import", "python_import")	      /* of a Python module */                         \
	X(RANGE, SLICE, "user_annotation", "nvtx_range")	      /* NVTX, with a length */                        \
	X(MARK, INSTANT, "nvtx_mark", "nvtx_mark")		      /* NVTX */                                       \
	X(OP, OF_OP, "cpu_op", "cpu_op")			      /* of PyTorch */                                 \
	X(NAMED_OP, OF_OP, "user_annotation", "user_annotation")      /* record_function */                            \
	X(TORCH_MEMORY, INSTANT, "cpu_instant_event", "torch_memory") /* an allocator of PyTorch's */                  \
	X(STEP, OF_OP, "user_annotation", "step")		      /* of training */                                \
	X(JIT, SLICE, "jit", "jit")			 /* the driver compiled code for the GPU, or used its cache */ \
	X(CUPTI, SLICE, "overhead", "overhead")		 /* CUPTI's own overhead */                                    \
	X(OFF_CPU, SLICE, "off_cpu", "off_cpu")		 /* a thread was off the CPU */                                \
	X(CPU_SAMPLE, SLICE, "cpu_sample", "cpu_sample") /* a thread ran, from a sample */

enum timeline_category {
#define TIMELINE_CATEGORY(category, ...) TIMELINE_##category,
	TIMELINE_CATEGORY_ROWS(TIMELINE_CATEGORY)
#undef TIMELINE_CATEGORY
		TIMELINE_CATEGORIES
};

/* One frame of a stack. */
struct timeline_frame {
	uint32_t code;	   /* for timeline_code(); TIMELINE_NONE: not a frame but a gap of missing frames */
	uint32_t line;	   /* being executed, 0: not known */
	uint32_t left_out; /* how many, TIMELINE_LEFT_OUT_UNKNOWN: some; 0: this is a frame */
};

#define TIMELINE_NONE UINT32_MAX
#define TIMELINE_LEFT_OUT_UNKNOWN UINT32_MAX

struct timeline_stack {
	uint32_t id;			     /* equal stacks have equal ids, in the whole timeline */
	const struct timeline_frame *frames; /* innermost first */
	uint32_t count;
	bool truncated; /* frames are missing, even if no entry says so */
};

/* Names of functions that are not Python, innermost first. */
struct timeline_native_stack {
	const char *const *names;
	uint32_t count;
};

/* A stream that an argument names. */
struct timeline_stream {
	uint32_t track;	 /* with its operations, TIMELINE_NONE: none */
	uint32_t stream; /* CUPTI's id, TIMELINE_NONE: none, or not known */
};

struct timeline_json {
	const char *text; /* not terminated */
	size_t size;
};

/* How to read the value of an argument: the member of the union below. */
enum timeline_arg_type {
	TIMELINE_TYPE_NUMBER,
	TIMELINE_TYPE_SIGNED,
	TIMELINE_TYPE_FRACTION, /* may be anything that a double can be */
	TIMELINE_TYPE_TRUTH,
	TIMELINE_TYPE_TEXT,   /* of a target: any bytes but NUL */
	TIMELINE_TYPE_JSON,   /* an array of JSON, checked */
	TIMELINE_TYPE_TRIPLE, /* x, y, z */
	TIMELINE_TYPE_FRAME,
	TIMELINE_TYPE_STACK,
	TIMELINE_TYPE_NATIVE_STACK,
	TIMELINE_TYPE_GPU, /* a device, by model_device.id */
	TIMELINE_TYPE_STREAM,
};

/*
 * All arguments: X(ENUMERATOR, TYPE, name).  Names are Kineto's if it has one, as people know them.  The order of
 * arguments is up to the slice; a missing one is not known, or does not apply.
 */
#define TIMELINE_ARGS(X)                                                                                               \
	/* of several categories */                                                                                    \
	X(CORRELATION, NUMBER, "correlation")		  /* of a call with its GPU work; unique in the timeline */    \
	X(CUPTI_CORRELATION, NUMBER, "cupti correlation") /* CUPTI's own number, if different */                       \
	X(END, TEXT, "end")				  /* "not seen" */                                             \
	X(PROCESS, NUMBER, "process")			  /* its pid */                                                \
	X(THREAD, NUMBER, "thread")			  /* its tid */                                                \
	X(RESULT, SIGNED, "result")			  /* an error */                                               \
	X(FORWARD_LINE, FRAME, "forward line")		  /* of backward work: innermost line of the forward op */     \
	X(CONTEXT, NUMBER, "context")                                                                                  \
	X(DEVICE, GPU, "device")                                                                                       \
	X(STREAM, STREAM, "stream")                                                                                    \
	/* calls */                                                                                                    \
	X(CBID, NUMBER, "cbid")                                                                                        \
	X(LAUNCH_GRID, TRIPLE, "launch grid")                                                                          \
	X(LAUNCH_BLOCK, TRIPLE, "launch block")                                                                        \
	X(LAUNCH_SHARED, NUMBER, "launch shared memory")                                                               \
	X(LAUNCH_BYTES, NUMBER, "launch bytes")                                                                        \
	X(LAUNCH_STREAM, NUMBER, "launch stream") /* as passed: a handle */                                            \
	X(STACK_OF, TEXT, "Call stack of")	  /* the thread of the stack, where it is inherited */                 \
	X(STACK, STACK, "Call stack")                                                                                  \
	X(NO_STACK, TEXT, "no Call stack") /* why */                                                                   \
	X(CAPTURED, TRUTH, "captured")	   /* it became a node of a graph, and did nothing else */                     \
	X(NATIVE_STACK, NATIVE_STACK, "Native stack")                                                                  \
	/* GPU operations */                                                                                           \
	X(REGISTERS, NUMBER, "registers per thread")                                                                   \
	X(SHARED, NUMBER, "shared memory")                                                                             \
	X(STATIC_SHARED, NUMBER, "static shared memory") /* of the former */                                           \
	X(BLOCKS_PER_SM, FRACTION, "blocks per SM")                                                                    \
	X(WARPS_PER_SM, FRACTION, "warps per SM")                                                                      \
	X(GRID, TRIPLE, "grid")                                                                                        \
	X(BLOCK, TRIPLE, "block")                                                                                      \
	X(CLUSTER, TRIPLE, "cluster")                                                                                  \
	X(LOCAL, NUMBER, "local memory per thread")                                                                    \
	X(OCCUPANCY, NUMBER, "est. achieved occupancy %")                                                              \
	X(BYTES, NUMBER, "bytes")                                                                                      \
	X(BANDWIDTH, FRACTION, "memory bandwidth (GB/s)")                                                              \
	X(PRIORITY, SIGNED, "priority")                                                                                \
	X(CHANNEL, NUMBER, "channel")                                                                                  \
	X(CHANNEL_TYPE, NUMBER, "channel_type")                                                                        \
	X(GRAPH, NUMBER, "graph id")                                                                                   \
	X(GRAPH_NODE, NUMBER, "graph node id")                                                                         \
	X(CAPTURED_BY, NUMBER, "captured by") /* CORRELATION of that call */                                           \
	X(CAPTURED_AT, FRAME, "captured at")                                                                           \
	X(LAYER, TEXT, "layer")			/* the innermost module of PyTorch that was called */                  \
	X(LAYER_CLASS, TEXT, "layer class")	/* its class */                                                        \
	X(PLACE, TEXT, "kernel at")		/* file and line of its function */                                    \
	X(LAUNCH, TEXT, "launch")		/* "not seen", "before the trace" */                                   \
	X(CUPTI_STREAM, NUMBER, "cupti stream") /* CUPTI's id of the stream */                                         \
	/* waits */                                                                                                    \
	X(SYNC_KIND, TEXT, "cuda_sync_kind")                                                                           \
	X(EVENT_STREAM, STREAM, "wait_on_stream")		     /* on which the event was recorded */             \
	X(EVENT_RECORD, NUMBER, "wait_on_cuda_event_record_corr_id") /* CORRELATION of that call, 0: not known */      \
	X(EVENT, NUMBER, "wait_on_cuda_event_id")		     /* CUPTI's id */                                  \
	X(CALL, TEXT, "call")					     /* "not seen" */                                  \
	/* Python */                                                                                                   \
	X(PYTHON_PARENT, NUMBER, "Python parent id") /* PYTHON_ID of the slice around this one */                      \
	X(PYTHON_ID, NUMBER, "Python id")	     /* from 1, unique in the timeline */                              \
	X(FROM, TEXT, "from") /* "snapshots": the stacks of calls; "calls": every call was traced */                   \
	X(GENERATION, SIGNED, "generation")                                                                            \
	X(MODULE, TEXT, "module")                                                                                      \
	/* NVTX, compilation */                                                                                        \
	X(RANGE, NUMBER, "range") /* from 0, unique in the timeline */                                                 \
	X(RANGE_KIND, TEXT, "NVTX")                                                                                    \
	X(DOMAIN, TEXT, "domain")                                                                                      \
	X(CACHE_BYTES, NUMBER, "cache bytes")                                                                          \
	X(OF_CALL, NUMBER, "of call") /* CORRELATION of the call it happened in */                                     \
	/* ops of PyTorch */                                                                                           \
	X(OP_HANDLE, NUMBER, "Record function id")    /* PyTorch's own number of it, 0: none */                        \
	X(OP_SEQUENCE, SIGNED, "Sequence number")     /* autograd's */                                                 \
	X(OP_FORWARD, NUMBER, "Fwd thread id")	      /* PyTorch's number of the thread of the forward op */           \
	X(OP_UNNUMBERED, NUMBER, "of forward thread") /* likewise, of a node without a number (AccumulateGrad) */      \
	X(OP_CONCRETE, JSON, "Concrete Inputs")	      /* "1", "" of each input; of a tensor "" */                      \
	X(OP_TYPES, JSON, "Input type")		      /* "float", "Scalar" */                                          \
	X(OP_STRIDES, JSON, "Input Strides")                                                                           \
	X(OP_DIMS, JSON, "Input Dims")                                                                                 \
	X(OP_INDEX, NUMBER, "Ev Idx")	 /* from 0, unique in the timeline */                                          \
	X(OP_LINE, FRAME, "Python line") /* the innermost, as it began */                                              \
	/* collectives: of their ops and kernels */                                                                    \
	X(COLLECTIVE, TEXT, "Collective name")                                                                         \
	X(DTYPE, TEXT, "dtype")                                                                                        \
	X(IN_ELEMENTS, SIGNED, "In msg nelems")                                                                        \
	X(OUT_ELEMENTS, SIGNED, "Out msg nelems")                                                                      \
	X(IN_SPLIT, TEXT, "In split size")                                                                             \
	X(OUT_SPLIT, TEXT, "Out split size")                                                                           \
	X(GROUP_SIZE, SIGNED, "Group size")                                                                            \
	X(GROUP, TEXT, "Process Group Name")                                                                           \
	X(GROUP_DESCRIPTION, TEXT, "Process Group Description")                                                        \
	X(GROUP_RANKS, TEXT, "Process Group Ranks")                                                                    \
	X(RANK, SIGNED, "Rank") /* in the group; for a send or a receive the peer's */                                 \
	X(RANK_START, SIGNED, "Global rank start")                                                                     \
	X(RANK_STRIDE, SIGNED, "Global rank stride")                                                                   \
	X(SOURCE_RANK, SIGNED, "Src Rank")	/* global */                                                           \
	X(DESTINATION_RANK, SIGNED, "Dst Rank") /* global */                                                           \
	X(COLLECTIVE_SEQUENCE, SIGNED, "Seq")	/* in the group */                                                     \
	X(COLLECTIVE_ID, NUMBER, "Comms Id")	/* the same on every rank */                                           \
	X(ASYNC, TRUTH, "Is asynchronized op")                                                                         \
	/* of a collective's kernel, beside those of other ranks */                                                    \
	X(DISPATCH, NUMBER, "dispatch ns")                                                                             \
	X(WAITING, NUMBER, "waiting ns")                                                                               \
	X(TRANSFER, NUMBER, "transfer ns")                                                                             \
	X(WAITING_ERROR, NUMBER, "waiting known to ns")                                                                \
	X(WAITING_UNKNOWN, TEXT, "waiting unknown")                                                                    \
	X(LAST_RANK, TEXT, "last rank")                                                                                \
	X(LAST_LINE, TEXT, "last rank's line")                                                                         \
	/* events of PyTorch's allocators */                                                                           \
	X(DEVICE_TYPE, SIGNED, "Device Type") /* c10::DeviceType: 0 CPU, 1 CUDA */                                     \
	X(DEVICE_ID, SIGNED, "Device Id")     /* of CUDA model_device.id, else PyTorch's index: -1 the CPU */          \
	X(ADDRESS, NUMBER, "Addr")                                                                                     \
	X(TORCH_BYTES, SIGNED, "Bytes") /* negative: freed */                                                          \
	X(ALLOCATED, NUMBER, "Total Allocated")                                                                        \
	X(RESERVED, NUMBER, "Total Reserved")                                                                          \
	X(IN_OP, TEXT, "op") /* the innermost open one */                                                              \
	/* waits off the CPU, samples */                                                                               \
	X(BEGIN, TEXT, "begin")			    /* "before the trace" */                                           \
	X(RUNNABLE, NUMBER, "runnable ns")	    /* at its end: woken, but without a CPU */                         \
	X(NATIVE_FUNCTION, TEXT, "native function") /* the innermost one */                                            \
	X(WAKER, TEXT, "woken by")		    /* a thread's name, "(an interrupt)" */                            \
	X(WAKER_PROCESS, NUMBER, "waker process")   /* its pid */                                                      \
	X(WAKER_THREAD, NUMBER, "waker thread")	    /* its tid */                                                      \
	X(WAKER_LINE, FRAME, "waker line")	    /* the innermost, as it did */                                     \
	X(HOLDER, NUMBER, "GIL held by")	    /* a tid */                                                        \
	X(PERIOD, NUMBER, "period ns")		    /* CPU time that a sample stands for */                            \
	X(IN_KERNEL, TRUTH, "in kernel")	    /* the thread was in the kernel then */

enum timeline_arg_key {
#define TIMELINE_ARG_ENUMERATOR(enumerator, type, name) TIMELINE_ARG_##enumerator,
	TIMELINE_ARGS(TIMELINE_ARG_ENUMERATOR)
#undef TIMELINE_ARG_ENUMERATOR
		TIMELINE_ARG_COUNT
};

struct timeline_arg {
	enum timeline_arg_key key; /* implies the type */
	union {
		uint64_t number;
		int64_t integer;
		double fraction;
		bool truth;
		const char *text;
		struct timeline_json json;
		const uint32_t *triple; /* three */
		const struct timeline_frame *frame;
		const struct timeline_stack *stack;
		const struct timeline_native_stack *native;
		uint32_t gpu;
		struct timeline_stream stream;
	};
};

/* The name of a slice: a text in two parts, or a Python function. */
struct timeline_name {
	const char *before, *text; /* concatenated; from a target: any bytes but NUL */
	uint32_t code;		   /* for timeline_code(); TIMELINE_NONE: use the texts */
};

struct timeline_slice {
	uint32_t track;
	enum timeline_category category;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	struct timeline_name name;
	const struct timeline_arg *args;
	uint32_t arg_count;
	/*
	 * Arrows from calls to their GPU work, by number: each leads from the start of one slice to the start of
	 * another.
	 */
	const uint64_t *flows_out;
	uint32_t flow_out_count;
	uint64_t flow_in; /* 0: none */
	/* Start of the arrow that ends here, if no slice has it in flows_out; TIMELINE_NONE: a slice has. */
	uint32_t flow_from_track;
	uint64_t flow_from_ns;
	uint64_t op; /* number of the op, or of the op around a call or GPU work; from 1, unique in the timeline, 0:
		      * none */
	/* An arrow from a forward op to this backward op; number 0: none. */
	struct timeline_link {
		uint64_t number; /* from 1, unique in the timeline */
		uint64_t from_ns;
		uint32_t from_track;
	} link;
};

/*
 * Memory was allocated from CUDA or released: a point in time on the calling thread's track, and a new value of a
 * counter.
 */
struct timeline_memory {
	uint32_t track; /* TIMELINE_NONE: the thread is not known */
	uint32_t group; /* the process */
	uint32_t counter;
	bool released;
	const char *kind; /* "device", "pinned" ... */
	uint64_t time_ns, address, bytes;
	uint64_t correlation;		      /* of the call, 0: not known */
	uint64_t held_bytes;		      /* the counter's value from now on */
	uint64_t pool_bytes, pool_used_bytes; /* of its pool, 0: not from a pool */
};

/* A counter of a GPU has that value from then on. */
struct timeline_value {
	uint32_t device;  /* model_device.id */
	uint32_t counter; /* number among the GPU's: of one name */
	uint64_t time_ns;
	const char *name, *unit; /* "SM clock", "MHz" */
	double value;
};

struct timeline_visitor {
	void *context;
	/* Called for each part, which may add groups, tracks and counters.  NULL: not wanted. */
	void (*part)(void *context);
	/* Both return whether to go on. */
	bool (*slice)(void *context, const struct timeline_slice *slice);
	bool (*memory)(void *context, const struct timeline_memory *memory);
	/* Likewise; NULL: not wanted. */
	bool (*counter)(void *context, const struct timeline_value *value);
	/*
	 * A Python function that is still open at the end of the part, up to the known end; without arguments.  It is
	 * handed over as a slice with the part in which it ends.  NULL: not wanted.
	 */
	void (*open)(void *context, const struct timeline_slice *slice);
};
