/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/graph.h"

#include <string.h>

#include "base/lookup.h"

static uint64_t key_of(pid_t pid, pid_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* tid 0: the whole process is waited for, and its first thread stands for it. */
static size_t find_node(const struct lookup *places, pid_t pid, pid_t tid)
{
	const uint32_t *place = pid ? lookup_get(places, 1, key_of(pid, tid ? tid : pid)) : NULL;

	return place ? *place : NO_NODE;
}

static void add_nodes(struct graph *graph, struct dump_process *process, struct lookup *places)
{
	for (unsigned i = 0; i < process->thread_count; i++) {
		struct dump_thread *thread = &process->threads[i];

		lookup_put(places, 1, key_of(process->pid, thread->tid), (uint32_t)graph->nodes.count);
		array_push(&graph->nodes, ((struct graph_node){.process = process, .thread = thread, .next = NO_NODE}));
	}
}

/* Each node waits for at most one: a walk that comes back to one of its nodes has found a cycle. */
static void find_cycle(struct graph *graph, size_t from, size_t *seen_by)
{
	size_t at = from;

	while (at != NO_NODE && seen_by[at] == NO_NODE) {
		seen_by[at] = from;
		at = graph->nodes.items[at].next;
	}
	if (at == NO_NODE || seen_by[at] != from || graph->nodes.items[at].cycle)
		return;
	graph->cycles++;
	for (size_t end = at, first = 1; first || at != end; first = 0) {
		graph->nodes.items[at].cycle = graph->cycles;
		graph->nodes.items[at].thread->in_cycle = true;
		at = graph->nodes.items[at].next;
	}
}

static void count_waiting(struct graph *graph)
{
	for (size_t i = 0; i < graph->nodes.count; i++) {
		size_t at = graph->nodes.items[i].next;

		for (size_t steps = 0; at != NO_NODE && steps < graph->nodes.count; steps++) {
			if (at == i)
				break;
			graph->nodes.items[at].waiting++;
			if (graph->nodes.items[at].cycle)
				break; /* all nodes of a cycle are waited for */
			at = graph->nodes.items[at].next;
		}
	}
}

void graph_make(struct graph *graph, const look_list *looks)
{
	struct lookup places = {0};
	AUTO_FREE size_t *seen_by = NULL;

	memset(graph, 0, sizeof(*graph));
	for (size_t i = 0; i < looks->count; i++)
		add_nodes(graph, looks->items[i].process, &places);
	seen_by = xmalloc((graph->nodes.count + 1) * sizeof(*seen_by));
	for (size_t i = 0; i < graph->nodes.count; i++) {
		const struct dump_thread *thread = graph->nodes.items[i].thread;

		seen_by[i] = NO_NODE;
		if (!thread->moves) /* a thread that makes progress waits for none for long */
			graph->nodes.items[i].next = find_node(&places, thread->wait.owner_pid, thread->wait.owner_tid);
		if (graph->nodes.items[i].next != NO_NODE && !thread->wait.owner_tid &&
		    graph->nodes.items[graph->nodes.items[i].next].process->moves)
			graph->nodes.items[i].next = NO_NODE; /* any of its threads may be meant */
	}
	for (size_t i = 0; i < graph->nodes.count; i++)
		find_cycle(graph, i, seen_by);
	count_waiting(graph);
	lookup_free(&places);
}

void graph_free(struct graph *graph)
{
	array_free(&graph->nodes);
}

bool graph_is_root(const struct graph_node *node)
{
	return node->waiting && node->next == NO_NODE && !node->thread->moves;
}
