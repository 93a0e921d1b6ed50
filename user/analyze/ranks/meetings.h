/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collectives of torch.distributed as meetings of ranks: when each process of a trace came to each of them (its kernel
 * began), and when that was over (its kernel ended), under a number that is the same on every rank, so that logs of
 * several ranks can be compared.  The number is made of the process group, its size, the sequence number in it and the
 * op's name: neither of time nor of position.  Only those with GPU times; sends and receives are none.
 *
 * What is kept outlives the trace.  Memory follows the number of collectives, of which a process keeps at most
 * MEETINGS_MAX.
 */
#ifndef GPUTRACE_ANALYZE_MEETINGS_H
#define GPUTRACE_ANALYZE_MEETINGS_H

#include "analyze/events.h"
#include "analyze/lines.h"
#include "base/array.h"

#define MEETINGS_MAX (1u << 20) /* of a process */

struct meeting {
	uint64_t key;		       /* the same on every rank */
	uint64_t arrived_ns, ended_ns; /* on the trace's own clock */
	uint64_t paused_ns; /* the longest time in which the process was in no CUDA call since its collective before */
	uint32_t name;	    /* meetings.texts: "allreduce, group 0" */
	uint32_t line;	    /* meetings.texts: that launched it */
	uint32_t pause_from, pause_to; /* meetings.texts: lines of the calls around that time, NONE */
};

/* A process that takes part. */
struct meeting_rank {
	uint32_t process; /* of the model */
	uint32_t pid;
	char *process_name;
	int64_t rank;	   /* global, -1: not known */
	int64_t world;	   /* how many there are in the group of all, 0: not known */
	uint64_t repeated; /* collectives whose number is that of another one of it: none of these is in the list */
	uint64_t left_out; /* beyond MEETINGS_MAX */
	struct {
		ARRAY(struct meeting) list; /* by key once finished */
	} met;
};

/* Why a log has no rank. */
enum meetings_lack {
	MEETINGS_NO_OPS,	/* ops of PyTorch were not recorded */
	MEETINGS_ON_CPU,	/* its collectives went over gloo or MPI, which launch nothing */
	MEETINGS_NO_COLLECTIVE, /* none was seen with GPU times */
};

struct meetings {
	enum meetings_lack lack; /* of one without ranks */
	struct {
		ARRAY(struct meeting_rank) list;
	} ranks;
	struct {
		ARRAY(char *) list;
	} texts;
};

void meetings_free(struct meetings *meetings);

/* While events come. */
struct meeting_taker;

struct meeting_taker *meeting_taker_new(const struct model *first);
void meeting_taker_free(struct meeting_taker *taker);
void meeting_taker_add_call(struct meeting_taker *taker, const struct model *part, const struct call_event *event);
void meeting_taker_add_gpu(struct meeting_taker *taker, const struct model *part, const struct gpu_event *event);

/* Moves what was taken to *meetings; model: the last part. */
void meeting_taker_finish(struct meeting_taker *taker, const struct model *model, struct lines *lines,
			  struct meetings *meetings);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_MEETINGS(X)                                                                                           \
	X(MEETINGS, begin, all->meeting_taker = all->has[ANALYZE_MEETINGS] ? meeting_taker_new(event->first) : NULL)   \
	X(MEETINGS, call, meeting_taker_add_call(all->meeting_taker, all->model, event))                               \
	X(MEETINGS, gpu, meeting_taker_add_gpu(all->meeting_taker, all->model, event))                                 \
	X(MEETINGS, finish, meeting_taker_finish(all->meeting_taker, all->model, event->lines, &all->meetings))        \
	X(MEETINGS, free, (meeting_taker_free(all->meeting_taker), meetings_free(&all->meetings)))

#endif
