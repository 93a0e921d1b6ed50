/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collectives of torch.distributed, and when ranks arrive at them: for each process of a trace and each of its
 * collectives, when the process came (its kernel began) and when it was over (its kernel ended), under a number that is
 * the same on every rank, so that logs of several ranks can be compared.  The number is made of the process group, its
 * size, the sequence number in it and the op's name; without a sequence number of the order in a step (step_order.h).
 * Only collectives with GPU times count, no sends and receives.
 *
 * What is kept outlives the trace.  Memory follows the number of collectives, of which a process keeps at most
 * ARRIVALS_MAX.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "analyze/ranks/rank_texts.h"
#include "base/array.h"

#define ARRIVALS_MAX (1u << 20) /* per process */

struct collective_arrival {
	uint64_t key;		       /* the same on every rank */
	uint64_t arrived_ns, ended_ns; /* on the trace's own clock */
	uint64_t launched_ns; /* start of the call that launched it, in the process's step that it belongs to */
	uint64_t paused_ns;   /* longest time without a CUDA call of the process, since its previous collective */
	uint32_t name;	      /* arrivals.texts: "allreduce, group 0" */
	uint32_t line;	      /* arrivals.texts: the line that launched it */
	uint32_t pause_from, pause_to; /* arrivals.texts: lines of the calls before and after that time, NONE */
	uint32_t device;	       /* model_device.id */
	bool is_one_way;	       /* collective_is_one_way */
};

/* A process that takes part, or a GPU of it that is a rank (rank_numbers.h). */
struct arriving_rank {
	uint32_t process; /* index in the model */
	uint32_t device;  /* model_device.id; NONE: all GPUs of the process */
	uint32_t pid;
	char *process_name;
	int64_t rank;	       /* global, -1: not known */
	bool by_environment;   /* the rank is RANK of its environment, which no collective and no file confirms */
	char *master, *run_id; /* as in model_process; NULL: not known */
	int64_t world;	       /* number of ranks in the group of all, 0: not known */
	uint64_t repeated;   /* collectives that share their number with another of the process; none of these is in the
				list */
	uint64_t left_out;   /* collectives beyond ARRIVALS_MAX */
	uint64_t by_step;    /* collectives in the list by their order in a step, as they have no sequence number */
	uint64_t unnumbered; /* those in no step: which they are on other ranks is not known */
	uint64_t after_step_back, step_back_ns; /* of a file of another tool: those not in the list as time steps back
						   before them, by the numbers of their group, and how far */
	uint64_t exit_ns;     /* when its process ended, on the trace's own clock; 0: it was not seen to */
	uint32_t exit_signal; /* that ended it; 0: none, or not known */
	struct {
		ARRAY(struct collective_arrival) list; /* by key once finished */
	} met;
};

/* Whether the process of a rank in the list has one before it: its GPUs are ranks, and a file of it has all of them. */
static inline bool arriving_rank_is_further_gpu(const struct arriving_rank *list, size_t index)
{
	return index && list[index].process == list[index - 1].process;
}

/* Why a log has no rank. */
enum arrivals_lack {
	ARRIVALS_NO_OPS,	/* ops of PyTorch were not recorded */
	ARRIVALS_ON_CPU,	/* its collectives used gloo or MPI, which launch nothing */
	ARRIVALS_NO_COLLECTIVE, /* none was seen with GPU times */
};

struct collective_arrivals {
	enum arrivals_lack lack; /* if there are no ranks */
	struct {
		ARRAY(struct arriving_rank) list;
	} ranks;
	struct kept_texts texts;
};

void collective_arrivals_free(struct collective_arrivals *arrivals);

/* State while events come. */
struct arrival_collector;

struct arrival_collector *arrival_collector_new(const struct model *first);
void arrival_collector_free(struct arrival_collector *taker);
void arrival_collector_add_call(struct arrival_collector *taker, const struct model *part,
				const struct call_event *event);
void arrival_collector_add_gpu(struct arrival_collector *taker, const struct model *part,
			       const struct gpu_event *event);
void arrival_collector_add_op(struct arrival_collector *taker, const struct model *part, const struct op_event *event);

/* Moves the result to *arrivals; model: the last part. */
void arrival_collector_finish(struct arrival_collector *taker, const struct model *model, struct lines *lines,
			      struct collective_arrivals *arrivals);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_ARRIVALS(X)                                                                                           \
	X(ARRIVALS, begin,                                                                                             \
	  all->arrival_collector = all->has[ANALYZE_ARRIVALS] ? arrival_collector_new(event->first) : NULL)            \
	X(ARRIVALS, call, arrival_collector_add_call(all->arrival_collector, all->model, event))                       \
	X(ARRIVALS, op, arrival_collector_add_op(all->arrival_collector, all->model, event))                           \
	X(ARRIVALS, gpu, arrival_collector_add_gpu(all->arrival_collector, all->model, event))                         \
	X(ARRIVALS, finish,                                                                                            \
	  arrival_collector_finish(all->arrival_collector, all->model, event->lines, &all->arrivals))                  \
	X(ARRIVALS, free, (arrival_collector_free(all->arrival_collector), collective_arrivals_free(&all->arrivals)))
