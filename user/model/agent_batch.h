/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the agents said: GPU operations, returns of calls, devices, clocks, their own state.  Times stay
 * those of the wall clock here; join.c converts them.
 */
#ifndef GPUTRACE_MODEL_AGENT_BATCH_H
#define GPUTRACE_MODEL_AGENT_BATCH_H

#include "model/api_activity.h"
#include "model/calls.h"
#include "model/wall_clock.h"
#include "model/lookup.h"
#include "model/model.h"
#include "model/process_table.h"
#include "model/nvtx_ranges.h"
#include "model/string_pool.h"

/* A GPU operation that came before its call. */
struct early_gpu {
	uint32_t op, space;
};

/* A synchronisation, and an event put into a stream, as they came. */
struct agent_sync {
	uint64_t start_ns, end_ns, event_record;
	uint32_t process, space, call, corr, kind, context, stream, event;
	int32_t result;
};

struct agent_event {
	uint64_t event_record;
	uint32_t process, space, call, corr, context, stream, event;
};

/* A stream of a context. */
struct agent_stream {
	int8_t priority;
	uint8_t flags;
};

struct agents {
	struct process_table *processes;
	struct calls *calls;
	struct api_activities *api_activities;
	struct wall_clock *clock;
	struct string_pool *strings;
	ARRAY(struct model_gpu) gpu; /* start_ns, end_ns: wall clock */
	ARRAY(struct early_gpu) early;
	ARRAY(struct model_overhead) overheads; /* wall clock */
	ARRAY(struct model_jit) jits;		/* wall clock */
	ARRAY(struct agent_sync) syncs;		/* wall clock */
	ARRAY(struct agent_event) events;
	ARRAY(struct model_memory) memories; /* wall clock */
	ARRAY(struct model_device) devices;
	struct ranges ranges;
	struct lookup node_calls;  /* (space, node of a graph) to correlation id of the call that made it */
	struct lookup node_clones; /* (space, node) to index in clone_sources */
	ARRAY(uint64_t) clone_sources;
	struct lookup names;	     /* (space, name id) to string */
	struct lookup devices_by_id; /* (process + 1, CUPTI's id) to device */
	struct lookup contexts;	     /* (process + 1, CUPTI's id of a context) to CUPTI's id of the device */
	struct lookup stream_keys;   /* (space, context and stream) to streams, the latest */
	ARRAY(struct agent_stream) streams;
	bool devices_renumbered;     /* some process's ids are not the model's */
	struct gpt_agent_stats past; /* totals of agents that an exec ended, and of foreign buffers */
	uint64_t bad_records;
};

void agents_init(struct agents *agents, struct process_table *processes, struct calls *calls,
		 struct api_activities *api_activities, struct wall_clock *clock, struct string_pool *strings,
		 uint64_t seed);
void agents_free(
	struct agents *agents); /* all but gpu, overheads, jits, memories, devices and ranges, which are the model's */

/* A GPT_AGENT_BATCH: false when something in it does not make sense. */
bool agents_add_batch(struct agents *agents, const struct gpt_record *record);

/* The process is about to become another program: its agent's counters start over. */
void agents_process_execs(struct agents *agents, uint32_t pid, uint64_t time_ns);

/* After the last record: operations that came before their calls, devices. */
void agents_finish(struct agents *agents);

/* Which graph launches lack operations (model_call.nodes_missing); within agents_finish, once calls are known. */
void graph_nodes_count(struct agents *agents);

#endif
