/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A model while it is made: the tables that model.c fills, and the steps that follow the last record. */
#ifndef GPUTRACE_BUILDER_H
#define GPUTRACE_BUILDER_H

#include "model/agent_batch.h"
#include "model/api_activity.h"
#include "model/calls.h"
#include "model/wall_clock.h"
#include "model/codes.h"
#include "model/gaps.h"
#include "model/model.h"
#include "model/process_table.h"
#include "model/python_spans.h"
#include "model/stacks.h"
#include "model/string_pool.h"

struct builder {
	struct model *model; /* receipt and the fields of the session are written as they come */
	struct string_pool strings;
	struct process_table processes;
	struct codes codes;
	struct stacks stacks;
	struct calls calls;
	struct api_activities api_activities;
	struct wall_clock clock;
	struct agents agents;
	struct gaps gaps;
	struct python_spans python_spans;
	ARRAY(struct model_sync) syncs;
	ARRAY(const char *) probes;
	ARRAY(const char *) notes;
	uint64_t last_ns; /* latest time that the kernel or the collector told */
	bool ended;	  /* GPT_END was seen */
	bool torn;	  /* the log ends in the middle of a record */
};

void builder_init(struct builder *builder);

/* Joins all that was added; the caller frees the model with model_free. */
struct model *builder_finish(struct builder *builder);

/* Instead, where reading failed: frees everything. */
void builder_discard(struct builder *builder);

/* Before any conversion of a time: samples of the clocks, in order. */
void prepare_clock(struct builder *builder);

/* CUPTI's records of calls: times on one clock, and which call each of them is; before agents_finish. */
void join_api_activities(struct builder *builder);

/* Wall clock to monotonic for GPU operations and overheads; implausible ones become untimed, or go. */
void convert_times(struct builder *builder);

/* GPU operations from another profiler's buffers that are not of this trace, or known already; after convert_times. */
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

/* Orders calls and GPU operations by time and links them. */
void join_calls(struct builder *builder);
void join_gpu(struct builder *builder);

/* Synchronisations: times, devices, and which recording of an event was waited for; after join_calls. */
void join_syncs(struct builder *builder);

/* Memory: times, order, and which release belongs to which allocation; after join_calls. */
void join_memories(struct builder *builder);

/* A span of the wall clock to monotonic; not_before_ns: when its call was made, 0.  False: no place in the recording.
 */
bool convert_span(struct builder *builder, uint32_t process, uint64_t not_before_ns, uint64_t *start_ns,
		  uint64_t *end_ns);

/* Sums over the finished model. */
void receipt_fill(struct builder *builder);

#endif
