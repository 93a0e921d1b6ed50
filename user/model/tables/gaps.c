/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A gap lasts from another client's registration of buffers to the agent's next one; see gaps.h. */
#include "model/tables/gaps.h"

#include <string.h>

#include "base/order.h"

void gaps_free(struct gaps *gaps)
{
	array_free(&gaps->latest);
	array_free(&gaps->first_register_ns);
}

/* The process's open gap, of which there is at most one. */
static struct model_gap *open_gap(struct gaps *gaps, uint32_t process)
{
	struct model_gap *gap;

	if (process >= gaps->latest.count || gaps->latest.items[process] == NONE)
		return NULL;
	gap = &gaps->list.items[gaps->latest.items[process]];
	return gap->end_ns ? NULL : gap;
}

static void add_gap(struct gaps *gaps, struct model_gap gap)
{
	while (gaps->latest.count <= gap.process)
		array_push(&gaps->latest, NONE);
	gaps->latest.items[gap.process] = (uint32_t)gaps->list.count;
	array_push(&gaps->list, gap);
}

static void note_register(struct gaps *gaps, uint32_t process, uint64_t time_ns)
{
	uint64_t *first;

	while (gaps->first_register_ns.count <= process)
		array_push(&gaps->first_register_ns, 0);
	first = &gaps->first_register_ns.items[process];
	if (!*first || time_ns < *first)
		*first = time_ns;
}

void gaps_add_registration(struct gaps *gaps, uint32_t pid, uint64_t time_ns, bool own)
{
	struct model_gap gap = {.start_ns = time_ns, .process = process_table_find(gaps->processes, pid)};
	struct model_gap *open;

	note_register(gaps, gap.process, time_ns);
	open = open_gap(gaps, gap.process);
	if (!own && !open)
		add_gap(gaps, gap);
	else if (own && open && time_ns >= open->start_ns) /* a record may come late */
		open->end_ns = time_ns > open->start_ns ? time_ns : open->start_ns + 1;
}

void gaps_process_execs(struct gaps *gaps, uint32_t pid, uint64_t time_ns)
{
	struct model_gap *open = open_gap(gaps, process_table_find(gaps->processes, pid));

	if (open)
		open->end_ns = time_ns > open->start_ns ? time_ns : open->start_ns + 1;
}

DEFINE_ORDER(compare_gaps, struct model_gap,
	     least_first(a->process, b->process) ?: least_first(a->start_ns, b->start_ns))

/* Adds gaps of agents that began without buffers: until the agent, or another client, registered some. */
static void add_idle_gaps(struct gaps *gaps)
{
	for (uint32_t i = 0; i < gaps->processes->list.count; i++) {
		const struct model_process *process = &gaps->processes->list.items[i];
		struct model_gap gap = {.start_ns = process->agent_ready_ns, .process = i, .idle = true};

		if (!process->agent_idle)
			continue;
		if (i < gaps->first_register_ns.count)
			gap.end_ns = gaps->first_register_ns.items[i];
		array_push(&gaps->list, gap);
	}
}

void gaps_finish(struct gaps *gaps)
{
	add_idle_gaps(gaps);
	array_sort(&gaps->list, compare_gaps);
}
