/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A model under construction: the builder's tables, and the steps that follow once all events have arrived.  Private to
 * model/; inputs use builder.h.  Events that must wait for clocks, calls or devices are kept as they arrived
 * (pending_*) and joined into a table of the model later.
 */
#pragma once

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
#include "model/spans/nvtx_ranges.h"
#include "model/tables/ops.h"
#include "model/totals.h"
#include "model/tables/process_table.h"
#include "model/join/receipt.h"
#include "model/tables/recordings.h"
#include "model/keep.h"
#include "model/spans/spans.h"
#include "model/tables/stacks.h"
#include "model/string_pool.h"
#include "model/lateness.h"
#include "model/tables/sampled_stacks.h"
#include "model/tables/torch_memory.h"
#include "model/tables/wall_clock.h"

/* How a source is read: in one pass; or in two, so that pass 2 can join its parts one after the other. */
enum pass {
	PASS_ONLY,
	PASS_FIRST,  /* pass 1: collects facts (lateness.h), and keeps only few events */
	PASS_SECOND, /* pass 2: has the facts from pass 1 */
};

/*
 * Correlation ids of the known calls of a process, from the earliest to the latest; they increase, and may wrap around.
 */
struct corr_range {
	uint32_t first, last;
	uint64_t first_ns, last_ns; /* when these calls were made */
	bool any;
};

/* The device of a context's earliest operation. */
struct context_device {
	uint64_t start_ns; /* on its own clock */
	uint32_t process, context;
	uint32_t device; /* CUPTI's id */
};

/* A recent call. */
struct recent_call {
	uint64_t time_ns;
	uint32_t epoch, corr, thread;
};

/* What pass 1 collects besides the lateness. */
struct collected {
	ARRAY(struct corr_range) corr_ranges;	      /* by process */
	bool any_corr;				      /* some call has a correlation id */
	struct lookup contexts;			      /* (process + 1, context) to model_device.id, after pass 1 */
	ARRAY(struct context_device) context_devices; /* during pass 1 */
	uint32_t latest_context;		      /* index in context_devices of the latest operation's context */
	struct recent_call *recent;		      /* the latest calls by correlation id */
	ARRAY(uint64_t) symbol_times;		      /* by thread: its latest call that a symbol probe saw, 0: none */
	struct totals totals;
};

/* The parts of pass 2. */
struct parts {
	struct keep keep;
	struct kept_arrays spare; /* arrays of the previous part's events, not used by the model */
	struct model shown;	  /* the part as handed over, while the model goes on to the next one */
	struct count_async count; /* count and look read `shown` */
	struct work look;
	struct recordings recordings; /* of events */
	struct lookup allocations;    /* (process + 1, address) to index in memories + 1; 0: not live */
	size_t deferred;	      /* how many of pass 1's deferred events have been replayed */
	uint64_t until_ns;	      /* events that start before this have been handed over */
	bool handed_over;	      /* a part is handed over, to be evicted for the next one */
};

/* Its thread is known only at the end of a pass. */
struct pending_reported_step {
	struct model_reported_step step;
	uint32_t tid;
};

struct builder {
	enum pass pass;
	struct builder *first; /* pass 2: the builder of pass 1 */
	struct lateness_index lateness;
	struct deferred_events deferred; /* of pass 1 */
	struct collected collected;
	struct parts parts;
	uint64_t reported_ns; /* when the current event was reported */
	bool shared;	      /* the current event is in a log before, too */
	bool continued;	      /* the next log has the work that was launched after this one's end */
	struct model *model;  /* its source and the user's options are written as they arrive */
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
	struct spans functions; /* Python functions; likewise */
	struct ranges ranges;
	struct modules modules; /* of PyTorch */
	struct nccl_calls nccl_calls;
	struct ops ops;
	struct torch_memory torch_memory;
	struct device_table devices;
	struct graphs graphs;
	struct lookup kernel_names;		    /* (epoch, key) to string */
	struct lookup_latest kernel_name;	    /* caches look-ups in kernel_names */
	struct lookup kernel_labels, kernel_places; /* the same for names with a place */
	struct gpu_work gpu;
#define PENDING_ARRAY(one, many, ...) ARRAY(struct pending_##one) pending_##many;
	PENDING_EVENTS(PENDING_ARRAY)
#undef PENDING_ARRAY
#define JOINED(one, many, ...) ARRAY(struct model_##one) many;
	MODEL_JOINED_EVENTS(JOINED)
#undef JOINED
	ARRAY(struct pending_reported_step) pending_reported_steps;
	ARRAY(struct model_reported_step) reported_steps;
	uint64_t late_steps, steps_lost; /* in reported_steps; missing from them */
	ARRAY(struct model_generated_line) generated_lines;
	ARRAY(struct model_cell_line) cell_lines;
	ARRAY(struct model_holder_search) holder_searches;
	ARRAY(struct model_holder) holders;
	ARRAY(struct model_held_storage) held_storages;
	ARRAY(const char *) probes;
	ARRAY(const char *) notes;
	ARRAY(struct model_detail) details;
	uint64_t last_ns; /* latest time seen */
	bool ended;	  /* the source has an end record */
	bool torn;	  /* it ends in the middle of a record */
};

/* Must be called after ops_find_threads. */
void find_reported_steps(struct builder *builder);

/* Must be called before any conversion of a time: sorts the clock samples. */
void prepare_clock(struct builder *builder);

/*
 * Closes garbage collections, imports and functions of a process that execs; joins those of all processes at the end.
 */
void close_python_spans(struct builder *builder, uint32_t process, uint64_t time_ns);
void join_python_spans(struct builder *builder);

/*
 * Functions and NVTX ranges of a source that is read twice (spans.h).  Starts pass 1, before any event;
 * join_python_spans and ranges_finish end it.  Starts pass 2.  Hands over pass 2's parts, whose threads are already in
 * the model: the model has their spans until the next part is taken, but the builder owns them.
 */
void collect_spans(struct builder *builder);
void read_spans_again(struct builder *builder);
void hand_over_spans(struct builder *builder, uint64_t until_ns, bool last);

/* API activity records: converts times to one clock and finds each record's call; before calls are sorted. */
void join_api_activities(struct builder *builder, uint64_t part_ns);
void end_borrowing(struct builder *builder);

/*
 * Drops GPU operations of another profiler's buffers that are outside of the trace or already known; returns how many
 * remain.
 */
size_t leave_out_foreign(const struct builder *builder, struct model_gpu *ops, size_t count);

void corr_range_add(struct corr_range *range, uint32_t corr, uint64_t start_ns);

/*
 * One range for each process, which the caller frees; and whether a call with that id was made before or after the
 * range.
 */
struct corr_range *corr_ranges(const struct builder *builder);
bool corr_is_before(const struct corr_range *range, uint32_t corr);
bool corr_is_after(const struct corr_range *range, uint32_t corr);

/* Whether an event without a call ended before the trace began, or began after it ended. */
bool lies_outside(const struct builder *builder, uint32_t call, struct clock_span span);

/* Drops GPU operations before and after the trace; marks those of earlier calls that were still running. */
size_t leave_out_outside(const struct builder *builder, struct model_gpu *ops, size_t count);

/*
 * Converts a span from its clock to CLOCK_MONOTONIC; not_before_ns: when its call was made, 0.  False: outside of the
 * recording.
 */
bool convert_span(struct builder *builder, uint32_t process, enum source_clock clock, struct clock_span span,
		  uint64_t not_before_ns, struct clock_span *monotonic);

/* Points the model's array at the builder's table. */
#define SHOW(model, field, table)                                                                                      \
	do {                                                                                                           \
		(model)->field##s = (table).items;                                                                     \
		(model)->field##_count = (uint32_t)(table).count;                                                      \
	} while (0)

/* Does so for all tables, except those that pass 2 takes from pass 1. */
void show_tables(struct builder *builder);

/* Steps of the sums over the finished model (receipt.h), before the counting of events; and all of them. */
void receipt_add_losses(const struct builder *builder, struct model *model);
void decide_gpu_times(struct model *model, bool any_corr); /* any_corr: some call has a correlation id */
void receipt_fill(struct builder *builder);

/* ---- two passes -------------------------------------------------------------------------------------------------- */

/* The builder that holds facts about the whole trace: clocks, devices, end times. */
static inline struct builder *known_facts(const struct builder *builder)
{
	return builder->first ? builder->first : (struct builder *)builder;
}

/* What becomes of an event. */
enum disposition {
	JOIN,	/* join it in this pass */
	DEFER,	/* keep it for pass 2 */
	IGNORE, /* drop it: all needed was collected from it, or pass 1 kept it */
};

/* corr: of the call that it refers to, 0: none; start_ns: its start on that clock, 0: not known. */
enum disposition disposition_of(struct builder *builder, struct process_image program, uint32_t corr,
				enum source_clock clock, uint64_t start_ns);
void defer(struct builder *builder, const struct deferred_event *event);

/* Makes an event pending until it is joined, or defers it to pass 2.  corr: of the call that it refers to, 0: none. */
#define RECEIVE(one, ...)                                                                                              \
	void receive_##one(struct builder *builder, const struct pending_##one *pending, uint32_t corr);
PENDING_EVENTS(RECEIVE)
#undef RECEIVE

/* PENDING(sync, sender, record): struct pending_sync as it arrives. */
#define PENDING(one, sender, event)                                                                                    \
	(&(struct pending_##one){.program = (sender)->program,                                                         \
				 .clock = (sender)->clock,                                                             \
				 .shared = builder->shared,                                                            \
				 .record = *(event)})

/* The same for a call, which is never late. */
void collect_call(struct builder *builder, const struct gpt_call *call);

/* Collects facts in pass 1 from events that it does not keep; and finishes pass 1. */
void collect_return(struct builder *builder, struct process_image program, const struct gpt_agent_api *back);
void collect_activity(struct builder *builder, const struct pending_api_activity *activity);
void collect_gpu_work(struct builder *builder, const struct pending_gpu *pending);
void collect_finish(struct builder *builder);
void collect_named(struct builder *builder); /* in pass 2, from what is being joined */
void collected_free(struct collected *collected);

/* Adds a deferred operation when its time has come. */
void gpu_work_add(struct builder *builder, const struct pending_gpu *deferred);

/* Evicts events of a handed over part to which nothing refers; the rest is placed before events for later parts. */
void evict(struct builder *builder);

/*
 * Joins one part, once its calls are sorted: first GPU operations, with their calls, devices and times, and each call's
 * list of them.  An event that has no call yet and begins at complete_ns or later waits for the next part; an event
 * that begins before until_ns belongs to this one.  For a source that is read in one pass both are UINT64_MAX.
 */
void join_gpu(struct builder *builder, uint64_t complete_ns, uint64_t until_ns);

/* Where an event is, once its time is converted. */
enum event_place {
	EVENT_IN_TRACE,
	EVENT_OUTSIDE, /* of the trace, or of every clock, which is counted */
	EVENT_WAITS,   /* for its call, which has not arrived yet */
};

/* What decides where an event is. */
struct event_origin {
	uint32_t process;
	enum source_clock clock;
	uint32_t call; /* its place, NONE */
	uint32_t corr; /* the call's id, 0: it has none */
	bool shared;   /* its record is in a log before, too */
	bool waits;    /* for its call, if that has not arrived yet */
};

/* Converts an event's span. */
enum event_place place_event(struct builder *builder, const struct event_origin *origin, struct clock_span *span,
			     uint64_t complete_ns);

/* join_sync and so on: joins one pending event; false: it waits for its call. */
#define JOIN(one, ...)                                                                                                 \
	bool join_##one(struct builder *builder, const struct pending_##one *pending, uint64_t complete_ns);
MODEL_JOINED_EVENTS(JOIN)
#undef JOIN

/* What the join of all syncs needs; then their order among equals, and allocations with their releases. */
void prepare_syncs(struct builder *builder);
void order_syncs(struct builder *builder);
void pair_memories(struct builder *builder, uint64_t until_ns);

/* Calls all of them. */
void join_events(struct builder *builder, uint64_t complete_ns, uint64_t until_ns);
