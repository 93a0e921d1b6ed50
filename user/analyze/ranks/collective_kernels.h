/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernels of collectives, sends and receives of each process, so that those of several ranks can be compared
 * (collective_split.h): when each was launched, began and ended, and by what its counterparts on other ranks are found.
 *
 * A kernel is one by the op of PyTorch or the call of NCCL that launched it, in a CUDA graph by those of the call that
 * became its node; else by its name (comm_kernels.h).  What is kept outlives the trace.  Memory follows the number of
 * these kernels, of which a process keeps at most ARRIVALS_MAX.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "model/comm_kernels.h"
#include "analyze/ranks/rank_texts.h"
#include "analyze/why/causes.h"
#include "base/array.h"

/* What a kernel's counterparts are found by. */
enum collective_basis {
	COLLECTIVE_BY_NUMBER, /* its number in a communicator or process group */
	COLLECTIVE_BY_REPLAY, /* in a graph: the number of the captured collective, and the replay's */
	COLLECTIVE_BY_PAIR,   /* the numbers of sends and receives from one rank to another, in a communicator */
	COLLECTIVE_BY_NAME,   /* the order of kernels of one name that run at the same time */
	COLLECTIVE_BY_NOTHING,
	COLLECTIVE_BASES,
};

/* What a part of a GPU's idle time is charged to. */
struct collective_cause {
	uint64_t from_ns, to_ns;
	uint32_t cause; /* enum why_cause */
	uint32_t line;	/* collective_kernels.texts: the line to blame, NONE */
};

/* A kernel. */
struct collective_kernel {
	uint64_t start_ns, end_ns; /* on the trace's own clock */
	uint64_t launch_ns;	   /* start of the call that launched it, 0: not seen */
	uint32_t name;		   /* collective_kernels.texts: "allreduce (default_pg)", or the kernel's name */
	uint32_t line;		 /* collective_kernels.texts: the line that launched it; of a graph, that captured it */
	uint32_t corr;		 /* CUPTI's number of its launch */
	uint32_t device, stream; /* model_device.id, CUPTI's id */
	uint32_t first_cause;	 /* collective_kernels.causes: of the time in which its GPU was idle before it */
	uint32_t causes;	 /* how many; 0: its GPU was not idle, or that is not known */
	uint32_t communicator;	 /* collective_kernels.communicators; NONE: not known */
	int64_t bytes; /* into or out of the rank; of several kernels of one op the first has all; -1: not known */
	uint8_t basis; /* enum collective_basis */
};

/* A process group of torch.distributed or a communicator of NCCL. */
struct kept_communicator {
	uint64_t key;	/* the same on all ranks */
	uint32_t name;	/* collective_kernels.texts */
	int64_t ranks;	/* its size; below 1: not known */
	bool is_of_one; /* its name is one process's own: which it is on other ranks is not known */
};

/* What a kernel takes part in; one that sends and receives takes part in several. */
struct collective_part {
	uint64_t key;	 /* the same on all ranks */
	uint32_t kernel; /* index */
	int64_t members; /* ranks that take part, 0: not known */
	bool is_one_way; /* a rank may be done with it before others begin: a broadcast's root */
};

/*
 * A process that drives several GPUs with collectives, and makes none with torch.distributed, is a rank for each of
 * them, with kernels of its own.
 */
struct kernels_of_process {
	uint32_t process; /* index in the model */
	uint32_t pid;
	char *name;
	uint32_t device;   /* of such a process: model_device.id; NONE: all GPUs of a process */
	int64_t rank;	   /* of such a GPU, in its largest communicator of NCCL; -1: not known */
	uint64_t left_out; /* kernels beyond ARRIVALS_MAX */
	struct {
		ARRAY(struct collective_kernel) list; /* as they began */
	} kernels;
	struct {
		ARRAY(struct collective_part) list;
	} parts;
};

struct collective_kernels {
	struct {
		ARRAY(struct kernels_of_process) list;
	} processes;
	struct {
		ARRAY(struct collective_cause) list; /* of a kernel's gap by time, the latest first */
	} causes;
	ARRAY(struct kept_communicator) communicators;
	uint64_t causes_until_ns; /* they are known of kernels that began before: one without a cause followed other
				     work */
	struct kept_texts texts;
};

void collective_kernels_free(struct collective_kernels *kernels);

/* State while events come. */
struct kernel_collector;

/* names: which kernels are collectives by their names; stays the caller's. */
struct kernel_collector *kernel_collector_new(const struct model *first, const struct comm_kernels *names);
void kernel_collector_free(struct kernel_collector *collector);
void kernel_collector_add_gpu(struct kernel_collector *collector, const struct model *part,
			      const struct gpu_event *event);

/* Moves the result to *kernels; model: the last part. */
void kernel_collector_finish(struct kernel_collector *collector, const struct model *model, struct lines *lines,
			     struct collective_kernels *kernels);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_COLLECTIVE_KERNELS(X)                                                                                 \
	X(COLLECTIVE_KERNELS, begin,                                                                                   \
	  all->kernel_collector =                                                                                      \
		  all->has[ANALYZE_COLLECTIVE_KERNELS] ? kernel_collector_new(event->first, all->comm_names) : NULL)   \
	X(COLLECTIVE_KERNELS, gpu, kernel_collector_add_gpu(all->kernel_collector, all->model, event))                 \
	X(COLLECTIVE_KERNELS, finish, finish_collective_kernels(all, event->lines))                                    \
	X(COLLECTIVE_KERNELS, free,                                                                                    \
	  (kernel_collector_free(all->kernel_collector), collective_kernels_free(&all->collective_kernels),            \
	   collective_causes_free(&all->collective_causes)))
