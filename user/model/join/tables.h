/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A model while it is made: the builder's tables and the steps that follow when all has come.  For model/ alone;
 * inputs know builder.h.  What has to wait for clocks, calls or devices is kept as it came (pending_*) and joined into
 * a table of the model then.
 */
#ifndef GPUTRACE_MODEL_TABLES_H
#define GPUTRACE_MODEL_TABLES_H

#include "model/tables/agents.h"
#include "model/tables/api_activity.h"
#include "model/builder.h"
#include "model/tables/calls.h"
#include "model/tables/codes.h"
#include "model/join/count_async.h"
#include "model/tables/device_table.h"
#include "model/tables/gaps.h"
#include "model/tables/gpu_work.h"
#include "model/tables/graphs.h"
#include "model/tables/deferred.h"
#include "model/tables/nccl_calls.h"
#include "model/tables/nvtx_ranges.h"
#include "model/tables/ops.h"
#include "model/totals.h"
#include "model/tables/process_table.h"
#include "model/join/receipt.h"
#include "model/tables/recordings.h"
#include "model/keep.h"
#include "model/tables/spans.h"
#include "model/tables/stacks.h"
#include "model/string_pool.h"
#include "model/tables/lateness.h"
#include "model/tables/sampled_stacks.h"
#include "model/tables/torch_memory.h"
#include "model/tables/wall_clock.h"

/* What one of the model's kinds (MODEL_JOINED_EVENTS) is before it is joined. */
#define PENDING(one, ...)                                                                                              \
	struct pending_##one {                                                                                         \
		struct process_image program;                                                                          \
		struct new_##one one;                                                                                  \
	};
PENDING_EVENTS(PENDING)
#undef PENDING

/* How a source is read: at once; or twice, so that the second time its parts can be joined one after the other. */
enum reading {
	READING_WHOLE,
	READING_FIRST,	/* learns (lateness.h), and keeps no event but few */
	READING_SECOND, /* knows what the first collected */
};

/* Correlation ids of the calls of a process that we know, from the earliest to the latest; they rise, and may run over.
 */
struct corr_range {
	uint32_t first, last;
	uint64_t first_ns, last_ns; /* when these calls were made */
	bool any;
};

/* On which device the earliest operation of a context was. */
struct context_device {
	uint64_t start_ns; /* by its own clock */
	uint32_t process, context;
	uint32_t device; /* CUPTI's id */
};

/* A call that was made not long ago. */
struct recent_call {
	uint64_t time_ns;
	uint32_t epoch, corr, thread;
};

/* What pass 1 learns besides the lateness. */
struct collected {
	ARRAY(struct corr_range) corr_ranges; /* by process */
	bool any_corr;			      /* some call has a correlation id */
	struct lookup contexts;		      /* (process + 1, context) to model_device.id, once it is finished */
	ARRAY(struct context_device) context_devices; /* until then */
	uint32_t latest_context;		      /* of these, that of the latest operation */
	struct recent_call *recent;		      /* the latest calls by correlation id */
	ARRAY(uint64_t) symbol_times;		      /* by thread: its latest call that a symbol probe saw, 0: none */
	struct totals totals;
};

/* The parts of pass 2. */
struct parts {
	struct keep keep;
	struct kept_arrays spare; /* events of the part before: those that are not in the model's arrays */
	struct model shown;	  /* the part as it was handed over: the model goes on to the next one */
	struct count_async count; /* these two read what is shown */
	struct work look;
	struct recordings recordings; /* of events */
	struct lookup allocations;    /* (process + 1, address) to index in memories + 1; 0: not live */
	size_t deferred;	      /* of those of pass 1, how many have been replayed */
	uint64_t until_ns;	      /* what begins before this has been handed over */
	bool handed_over;	      /* a part is out that the next one lets go of */
};

/* Whose thread is known at the end of a reading. */
struct pending_reported_step {
	struct model_reported_step step;
	uint32_t tid;
};

struct builder {
	enum reading reading;
	struct builder *first; /* of pass 2: the builder of the first */
	struct lateness_index lateness;
	struct deferred_events deferred; /* of pass 1 */
	struct collected collected;
	struct parts parts;
	uint64_t reported_ns; /* when what comes now was reported */
	struct model *model;  /* its source and what the user asked for are written as they come */
	struct string_pool strings;
	struct process_table processes;
	struct codes codes;
	struct stacks stacks;
	struct sampled_stacks sampled;
	struct calls calls;
	struct api_activities api_activities;
	struct wall_clock clock;
	struct agents agents;
	struct gaps gaps;
	struct spans pyevents;	/* garbage collections and imports; a thread is a track */
	struct spans functions; /* the same of Python functions */
	struct ranges ranges;
	struct nccl_calls nccl_calls;
	struct ops ops;
	struct torch_memory torch_memory;
	struct device_table devices;
	struct graphs graphs;
	struct lookup kernel_names;		    /* (epoch, key) to string */
	struct lookup_latest kernel_name;	    /* of these */
	struct lookup kernel_labels, kernel_places; /* the same of those that have a place */
	struct gpu_work gpu;
#define PENDING_ARRAY(one, many, ...) ARRAY(struct pending_##one) pending_##many;
	PENDING_EVENTS(PENDING_ARRAY)
#undef PENDING_ARRAY
#define JOINED(one, many, ...) ARRAY(struct model_##one) many;
	MODEL_JOINED_EVENTS(JOINED)
#undef JOINED
	ARRAY(struct pending_reported_step) pending_reported_steps;
	ARRAY(struct model_reported_step) reported_steps;
	uint64_t late_steps, steps_lost; /* of reported_steps; beside them */
	ARRAY(struct model_generated_line) generated_lines;
	ARRAY(struct model_cell_line) cell_lines;
	ARRAY(const char *) probes;
	ARRAY(const char *) notes;
	uint64_t last_ns; /* latest time that was seen */
	bool ended;	  /* the source has an end */
	bool torn;	  /* it ends in the middle of something */
};

/* After ops_find_threads. */
void find_reported_steps(struct builder *builder);

/* Before any conversion of a time: samples of the clocks, in order. */
void prepare_clock(struct builder *builder);

/* Garbage collections, imports and functions of a process that becomes another program, or of all at the end. */
void close_python_spans(struct builder *builder, uint32_t process, uint64_t time_ns);
void join_python_spans(struct builder *builder);

/*
 * Functions and NVTX ranges of a source that is read twice (spans.h).  Of pass 1, before anything comes;
 * join_python_spans and ranges_finish end it.  Of the second.  And its parts, of which the threads are the model's
 * already: their spans go into the model until the next part is taken, but stay the builder's.
 */
void collect_spans(struct builder *builder);
void read_spans_again(struct builder *builder);
void hand_over_spans(struct builder *builder, uint64_t until_ns, bool last);

/* CUPTI's records of calls: times on one clock, and which call each of them is; before calls are sorted. */
void join_api_activities(struct builder *builder, uint64_t part_ns);
void end_borrowing(struct builder *builder);

/* GPU operations from another profiler's buffers that are not of this trace, or known already; how many are left. */
size_t leave_out_foreign(const struct builder *builder, struct model_gpu *ops, size_t count);

void corr_range_add(struct corr_range *range, uint32_t corr, uint64_t start_ns);

/* One for each process, to be freed; and whether a call with that id was made before or after those of the range. */
struct corr_range *corr_ranges(const struct builder *builder);
bool corr_is_before(const struct corr_range *range, uint32_t corr);
bool corr_is_behind(const struct corr_range *range, uint32_t corr);

/* Whether something that has no call was over before the trace began, or began when it had ended. */
bool lies_outside(const struct builder *builder, uint32_t call, struct clock_span span);

/* GPU operations of before and after the trace go; those of calls before it that still ran are marked. */
size_t leave_out_outside(const struct builder *builder, struct model_gpu *ops, size_t count);

/* A span by its clock to monotonic; not_before_ns: when its call was made, 0.  False: no place in the recording. */
bool convert_span(struct builder *builder, uint32_t process, enum source_clock clock, struct clock_span span,
		  uint64_t not_before_ns, struct clock_span *monotonic);

/* The arrays of the model are those of the builder's tables. */
#define SHOW(model, field, table)                                                                                      \
	do {                                                                                                           \
		(model)->field##s = (table).items;                                                                     \
		(model)->field##_count = (uint32_t)(table).count;                                                      \
	} while (0)

/* All of them but those that pass 2 has from the first. */
void show_tables(struct builder *builder);

/* Sums over the finished model (receipt.h), in steps, of which counting the events is the last; and all of them. */
void receipt_add_losses(const struct builder *builder, struct model *model);
void decide_gpu_times(struct model *model, bool any_corr); /* any_corr: some call has a correlation id */
void receipt_fill(struct builder *builder);

/* ---- two passes -------------------------------------------------------------------------------------------------- */

/* The builder that holds facts about the whole trace: clocks, devices, when things were over. */
static inline struct builder *known(const struct builder *builder)
{
	return builder->first ? builder->first : (struct builder *)builder;
}

/* What becomes of an event. */
enum disposition {
	JOIN,	/* it is joined in this pass */
	DEFER,	/* it is kept for pass 2 */
	IGNORE, /* nothing: that was collected from it, or it is known from pass 1 */
};

/* corr: of the call it refers to, 0: none; start_ns: when it began by that clock, 0: not known. */
enum disposition disposition_of(struct builder *builder, struct process_image program, uint32_t corr,
				enum source_clock clock, uint64_t start_ns);
void defer(struct builder *builder, const struct deferred_event *event);

/* By that an event is pending until it is joined, or deferred to pass 2.  corr: of the call it refers to, 0: none. */
#define RECEIVE(one, ...)                                                                                              \
	void receive_##one(struct builder *builder, struct process_image program, uint32_t corr,                       \
			   const struct new_##one *one);
PENDING_EVENTS(RECEIVE)
#undef RECEIVE

/* The same of a call, which is never late. */
void collect_call(struct builder *builder, const struct new_call *call);

/* What pass 1 learns from what it does not keep; and its end. */
void collect_return(struct builder *builder, struct process_image program, const struct new_return *back);
void collect_activity(struct builder *builder, struct process_image program, const struct new_api_activity *activity);
void collect_gpu_work(struct builder *builder, struct process_image program, const struct new_gpu_work *work);
void collect_finish(struct builder *builder);
void collect_named(struct builder *builder); /* of pass 2, from what is joined now */
void collected_free(struct collected *collected);

/* What came late, when its time has come. */
void gpu_work_add(struct builder *builder, struct process_image program, const struct new_gpu_work *work,
		  struct kernel_texts texts);

/* Of a part that was handed over what nothing refers to goes; the rest stands before what came for later parts. */
void evict(struct builder *builder);

/*
 * Joins of one part, when the calls of it are in order: GPU operations first, their calls, devices and times, and each
 * call's list of them.  What has no call yet, and begins at settled_ns or later, waits for the next part; what begins
 * before until_ns belongs to this one.  Of a source that is read at once both are UINT64_MAX.
 */
void join_gpu(struct builder *builder, uint64_t settled_ns, uint64_t until_ns);
#define JOIN(one, many, ...) void join_##many(struct builder *builder, uint64_t settled_ns, uint64_t until_ns);
MODEL_JOINED_EVENTS(JOIN)
#undef JOIN

/* All of them. */
void join_events(struct builder *builder, uint64_t settled_ns, uint64_t until_ns);

#endif
