/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs and their driver did, in the model (model.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum model_gpu_kind {
	MODEL_KERNEL,
	MODEL_MEMCPY,
	MODEL_MEMSET,
	MODEL_GPU_KINDS,
};

/* Fields of a GPU operation that the source does not have: they are 0, which means not known. */
enum model_gpu_unknown {
	MODEL_GPU_NO_BYTES = 1,
	MODEL_GPU_NO_LAUNCH = 2, /* grid or block */
	MODEL_GPU_NO_REGISTERS = 4,
	MODEL_GPU_NO_STATIC_SHARED = 8, /* alone: the dynamic number is the sum of both */
	MODEL_GPU_NO_DYNAMIC_SHARED = 16,
	MODEL_GPU_NO_LOCAL = 32,
	MODEL_GPU_NO_SHARED = MODEL_GPU_NO_STATIC_SHARED | MODEL_GPU_NO_DYNAMIC_SHARED,
};

struct model_gpu {
	uint64_t start_ns, end_ns; /* both 0: CUPTI could not time it (counted as untimed, never plotted) */
	uint64_t bytes;		   /* memcpy, memset */
	uint32_t call;		   /* model.calls, NONE: its launch was not seen */
	uint32_t next;		   /* next GPU operation of the same call, NONE */
	uint32_t captured_by;	   /* of a graph's operation: the call that was captured as its node, NONE: not seen */
	uint32_t process;
	uint32_t device;	  /* model_device.id */
	uint32_t context, stream; /* CUPTI's ids */
	uint32_t corr;
	uint32_t name;	/* kernel: index into model.strings of the demangled name, else NONE */
	uint32_t label; /* the name followed by its place: "add_kernel (kernels.py:12)"; without a place, the name */
	uint32_t place; /* source location of the kernel's function: "/path/kernels.py:12"; NONE */
	uint32_t graph;
	uint64_t graph_node;
	uint32_t grid[3], block[3];
	uint32_t static_shared_bytes, dynamic_shared_bytes, registers;
	uint32_t local_bytes;	       /* per thread of a kernel */
	uint32_t channel;	       /* of the GPU's queues */
	uint8_t kind : 5;	       /* enum model_gpu_kind */
	uint8_t shared : 1;	       /* its record is also in a log before (gpt_log_header.shared_below) */
	uint8_t foreign : 1;	       /* from a buffer of another profiler */
	uint8_t before : 1;	       /* its launch was not seen, as it precedes the trace */
	uint8_t memcpy_kind, from, to; /* CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind (memset: to) */
	uint8_t cluster[3];	       /* of a kernel, in blocks; 0: none */
	uint8_t channel_type;	       /* CUpti_ChannelType */
	uint8_t stream_flags;	       /* enum gpt_agent_stream_flag, 0: not known */
	int8_t priority;	       /* of the kernel if CUPTI reports it, else of the stream */
	uint8_t unknown;	       /* enum model_gpu_unknown, or-ed */
	uint8_t migration;	       /* enum model_migration */
};

/*
 * What nsys has as kinds of memcpys beyond CUpti_ActivityMemcpyKind: pages of managed memory that the driver moved, at
 * a page fault or a prefetch.  No call launches them.
 */
enum {
	MODEL_MEMCPY_MANAGED_TO_DEVICE = 11,
	MODEL_MEMCPY_MANAGED_TO_HOST,
	MODEL_MEMCPY_MANAGED_BETWEEN_DEVICES,
};

/* Why the driver moved them: CUpti_ActivityUnifiedMemoryMigrationCause. */
enum model_migration {
	MODEL_MIGRATION_UNKNOWN,
	MODEL_MIGRATION_USER,	   /* the program asked for it: cudaMemPrefetchAsync */
	MODEL_MIGRATION_COHERENCE, /* a page fault */
	MODEL_MIGRATION_PREFETCH,  /* the driver expects that they will be needed */
	MODEL_MIGRATION_EVICTION,  /* to make room */
	MODEL_MIGRATION_COUNTERS,  /* they were accessed often from afar */
	MODEL_MIGRATIONS,
};

static inline bool gpu_is_migration(const struct model_gpu *op)
{
	return op->kind == MODEL_MEMCPY && op->memcpy_kind >= MODEL_MEMCPY_MANAGED_TO_DEVICE &&
	       op->memcpy_kind <= MODEL_MEMCPY_MANAGED_BETWEEN_DEVICES && op->call == UINT32_MAX;
}

struct model_overhead {
	uint64_t start_ns, end_ns;
	uint32_t process;
	uint32_t kind; /* CUpti_ActivityOverheadKind */
	uint32_t tid;
};

/* The driver compiled code for the GPU, or loaded it from its cache. */
struct model_jit {
	uint64_t start_ns, end_ns;
	uint64_t bytes; /* of the cache */
	uint32_t call;	/* model.calls, NONE: in no call that gputrace follows */
	uint32_t process;
	uint32_t tid; /* 0: not known */
	uint32_t corr;
	uint8_t operation; /* enum gpt_agent_jit_operation */
	uint8_t entry;	   /* enum gpt_agent_jit_entry, 0: not known */
};

/* A call that waited for the GPU, or made a stream wait.  Untimed ones are left out. */
struct model_sync {
	uint64_t start_ns, end_ns;
	uint32_t call; /* model.calls, NONE: not seen */
	uint32_t process;
	uint32_t device; /* model_device.id, NONE: not known */
	uint32_t context;
	uint32_t stream;      /* the stream that waits or is waited for; NONE: the whole context, or an event */
	uint32_t event;	      /* CUPTI's id, for the two event kinds, else NONE */
	uint32_t recorded_by; /* the call that recorded the event on a stream, NONE: not known */
	uint32_t recorded_on; /* that stream, NONE */
	uint32_t corr;
	int32_t result;
	uint8_t kind; /* enum gpt_agent_sync_kind */
};

/* Memory that was allocated from CUDA or released to it. */
struct model_memory {
	uint64_t time_ns, address;
	uint64_t bytes;			      /* of a release: its allocation's, if that was seen */
	uint64_t pool_bytes, pool_used_bytes; /* of its pool, 0: not from a pool */
	uint32_t call;			      /* model.calls, NONE: not seen */
	uint32_t other;			      /* an allocation's release, or a release's allocation; NONE: not seen */
	uint32_t process;
	uint32_t device; /* model_device.id */
	uint32_t corr;
	uint8_t kind; /* CUpti_ActivityMemoryKind */
	bool released;
};

struct model_device {
	uint32_t id; /* CUPTI's id, unless another device has the same: each process numbers its visible devices from 0
		      */
	const char *name;
	uint8_t uuid[16]; /* processes with the same uuid share the device */
	uint64_t memory_bytes;
	uint32_t multiprocessors, compute_major, compute_minor;
	uint32_t warp_size, max_threads_per_multiprocessor, max_threads_per_block, max_blocks_per_multiprocessor;
	uint32_t max_registers_per_multiprocessor, max_registers_per_block;
	uint32_t max_shared_per_multiprocessor, max_shared_per_block;
};

/* An interval in which another CUPTI client had the activity records, so that the agent did not get them. */
struct model_gap {
	uint64_t start_ns, end_ns; /* end_ns 0: the other client still had them when the process or the trace ended */
	uint32_t process;
	bool idle; /* the agent started without recording; foreign buffers show whether another client had the records
		    */
};

/* Names of CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind: "HtoD"; "Pageable". */
const char *gpu_memcpy_kind(uint32_t kind);
const char *gpu_memory_kind(uint32_t kind);

/* "PTX compiled", "loaded from the cache" and so on. */
const char *jit_name(const struct model_jit *jit);
