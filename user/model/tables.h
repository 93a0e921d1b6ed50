/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A model while it is made: the builder's tables and the steps that follow when all has been told.  For model/ alone;
 * inputs know builder.h.  What has to wait for clocks, calls or devices is kept as it came (*_arrival) and joined into
 * a table of the model then.
 */
#ifndef GPUTRACE_MODEL_TABLES_H
#define GPUTRACE_MODEL_TABLES_H

#include "model/agents.h"
#include "model/api_activity.h"
#include "model/builder.h"
#include "model/calls.h"
#include "model/codes.h"
#include "model/device_table.h"
#include "model/gaps.h"
#include "model/gpu_work.h"
#include "model/graphs.h"
#include "model/nvtx_ranges.h"
#include "model/process_table.h"
#include "model/spans.h"
#include "model/stacks.h"
#include "model/string_pool.h"
#include "model/wall_clock.h"

struct overhead_arrival {
	struct program program;
	struct new_overhead overhead;
};

struct jit_arrival {
	struct program program;
	struct new_jit jit;
};

struct sync_arrival {
	struct program program;
	struct new_sync sync;
};

struct event_record_arrival {
	struct program program;
	struct new_event_record record;
};

struct memory_arrival {
	struct program program;
	struct new_memory memory;
};

struct builder {
	struct model *model; /* its source and what the user wished are written as they come */
	struct string_pool strings;
	struct process_table processes;
	struct codes codes;
	struct stacks stacks;
	struct calls calls;
	struct api_activities api_activities;
	struct wall_clock clock;
	struct agents agents;
	struct gaps gaps;
	struct spans pyevents;	/* garbage collections and imports; a thread is a lane */
	struct spans functions; /* the same of Python functions */
	struct ranges ranges;
	struct device_table devices;
	struct graphs graphs;
	struct lookup kernel_names; /* (space, key) to string */
	struct gpu_work gpu;
	ARRAY(struct overhead_arrival) overhead_arrivals;
	ARRAY(struct model_overhead) overheads;
	ARRAY(struct jit_arrival) jit_arrivals;
	ARRAY(struct model_jit) jits;
	ARRAY(struct sync_arrival) sync_arrivals;
	ARRAY(struct event_record_arrival) event_records;
	ARRAY(struct model_sync) syncs;
	ARRAY(struct memory_arrival) memory_arrivals;
	ARRAY(struct model_memory) memories;
	ARRAY(const char *) probes;
	ARRAY(const char *) notes;
	uint64_t last_ns; /* latest time that was seen */
	bool ended;	  /* the source has an end */
	bool torn;	  /* it ends in the middle of something */
};

/* Before any conversion of a time: samples of the clocks, in order. */
void prepare_clock(struct builder *builder);

/* Garbage collections, imports and functions of a process that becomes another program, or of all at the end. */
void close_python_spans(struct builder *builder, uint32_t process, uint64_t time_ns);
void join_python_spans(struct builder *builder);

/* CUPTI's records of calls: times on one clock, and which call each of them is; before calls are sorted. */
void join_api_activities(struct builder *builder);

/* GPU operations from another profiler's buffers that are not of this trace, or known already. */
void leave_out_foreign(struct builder *builder);

/* Correlation ids of the calls of a process that we know, from the earliest to the latest; they rise, and may run over.
 */
struct corr_range {
	uint32_t first, last;
	uint64_t first_ns, last_ns; /* when these calls were made */
	bool any;
};

/* One for each process, to be freed; and whether a call with that id was made before or behind those of the range. */
struct corr_range *corr_ranges(const struct builder *builder);
bool corr_is_before(const struct corr_range *range, uint32_t corr);
bool corr_is_behind(const struct corr_range *range, uint32_t corr);

/* Whether something that has no call began when the trace had ended. */
bool begins_behind(const struct builder *builder, uint32_t call, uint64_t start_ns);

/* GPU operations of before and behind the trace go; those of calls before it that still ran are marked. */
void leave_out_outside(struct builder *builder);

/* GPU operations: their calls, devices and times, order, and each call's list of them.  All joins want sorted calls. */
void join_gpu(struct builder *builder);

/* Synchronisations: which recording of an event was waited for, and on which device; after join_gpu. */
void join_syncs(struct builder *builder);

/* Memory: which release belongs to which allocation. */
void join_memories(struct builder *builder);
void join_overheads(struct builder *builder);
void join_jits(struct builder *builder);

/* A span by its clock to monotonic; not_before_ns: when its call was made, 0.  False: no place in the recording. */
bool convert_span(struct builder *builder, uint32_t process, enum source_clock clock, struct clock_span span,
		  uint64_t not_before_ns, struct clock_span *monotonic);

/* Sums over the finished model (receipt.h), in steps, of which counting the events is the last; and all of them. */
void receipt_add_losses(const struct builder *builder, struct model *model);
void decide_gpu_times(struct model *model, bool any_corr); /* any_corr: some call has a correlation id */
void receipt_fill(struct builder *builder);

#endif
