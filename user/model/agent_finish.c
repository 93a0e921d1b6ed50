/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What can only be said when all batches have been read: which call each record belongs to. */
#include "model/agent_batch.h"

#include "model/device_table.h"

/*
 * A node that runs is a clone, made by instantiation, of one that was captured; or of a clone, where a graph is a
 * node of another.  A target could make a ring of them.
 */
#define CLONES_MAX 8

static uint32_t captured_by(const struct agents *agents, uint32_t space, uint64_t node)
{
	for (unsigned i = 0; i <= CLONES_MAX; i++) {
		const uint32_t *corr = lookup_get(&agents->node_calls, space, node), *source;

		if (corr)
			return calls_find(agents->calls, space, *corr);
		source = lookup_get(&agents->node_clones, space, node);
		if (!source)
			return NONE;
		node = agents->clone_sources.items[*source];
	}
	return NONE;
}

/* GPU work of calls that were made before or after the trace. */
static void drop_outside(struct agents *agents)
{
	size_t kept = 0;

	for (size_t i = 0; i < agents->gpu.count; i++) {
		const struct model_gpu *op = &agents->gpu.items[i];

		if (op->call == NONE && api_activity_is_outside(agents->api_activities, op->process, op->corr))
			agents->processes->list.items[op->process].gpu_ops--;
		else
			agents->gpu.items[kept++] = *op;
	}
	agents->gpu.count = kept;
}

void agents_finish(struct agents *agents)
{
	for (size_t i = 0; i < agents->early.count; i++) {
		const struct early_gpu *early = &agents->early.items[i];
		struct model_gpu *op = &agents->gpu.items[early->op];

		op->call = calls_find(agents->calls, early->space, op->corr);
	}
	for (size_t i = 0; i < agents->syncs.count; i++) {
		struct agent_sync *sync = &agents->syncs.items[i];

		sync->call = calls_find(agents->calls, sync->space, sync->corr);
	}
	for (size_t i = 0; i < agents->events.count; i++) {
		struct agent_event *event = &agents->events.items[i];

		event->call = calls_find(agents->calls, event->space, event->corr);
	}
	for (size_t i = 0; i < agents->jits.count; i++) {
		struct model_jit *jit = &agents->jits.items[i];

		jit->call = calls_find(agents->calls, jit->call, jit->corr);
	}
	for (size_t i = 0; i < agents->memories.count; i++) {
		struct model_memory *memory = &agents->memories.items[i];

		memory->call = calls_find(agents->calls, memory->call, memory->corr);
	}
	graph_nodes_count(agents);
	for (size_t i = 0; i < agents->gpu.count; i++) {
		struct model_gpu *op = &agents->gpu.items[i];

		device_table_set_stream(agents, op->next /* its space, so far */, op);
		op->next = NONE;
		if (op->captured_by != NONE)
			op->captured_by = captured_by(agents, op->captured_by, op->graph_node);
	}
	drop_outside(agents);
	device_table_finish(agents);
}
