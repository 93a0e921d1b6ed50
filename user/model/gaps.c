/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A gap lasts from the other's registration of its buffers to the agent's next one; see gaps.h. */
#include "model/gaps.h"

#include <stdlib.h>
#include <string.h>

/*
 * Records of work that was on its way to us when another registered go to that one, too.  The agent takes what is
 * complete every 100 ms (user/agent/session.c).
 */
#define ON_ITS_WAY_NS 100000000

void gaps_init(struct gaps *gaps, struct process_table *processes)
{
	memset(gaps, 0, sizeof(*gaps));
	gaps->processes = processes;
}

void gaps_free(struct gaps *gaps)
{
	array_free(&gaps->list);
	array_free(&gaps->latest);
	array_free(&gaps->first_register_ns);
}

/* The one that has not ended yet; a process has one at most. */
static struct gap *open_gap(struct gaps *gaps, uint32_t process)
{
	struct gap *gap;

	if (process >= gaps->latest.count || gaps->latest.items[process] == NONE)
		return NULL;
	gap = &gaps->list.items[gaps->latest.items[process]];
	return gap->end_ns ? NULL : gap;
}

static void add_gap(struct gaps *gaps, struct gap gap)
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
	struct gap gap = {.start_ns = time_ns, .process = process_table_find(gaps->processes, pid)};
	struct gap *open;

	note_register(gaps, gap.process, time_ns);
	open = open_gap(gaps, gap.process);
	if (!own && !open)
		add_gap(gaps, gap);
	else if (own && open)
		open->end_ns = time_ns > open->start_ns ? time_ns : open->start_ns + 1;
}

void gaps_process_execs(struct gaps *gaps, uint32_t pid, uint64_t time_ns)
{
	struct gap *open = open_gap(gaps, process_table_find(gaps->processes, pid));

	if (open)
		open->end_ns = time_ns > open->start_ns ? time_ns : open->start_ns + 1;
}

static int compare_gaps(const void *left, const void *right)
{
	const struct gap *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Where the agent began without buffers of its own: until it, or another, registered some. */
static void add_asides(struct gaps *gaps, const struct model *model)
{
	for (uint32_t i = 0; i < model->process_count; i++) {
		struct gap gap = {.start_ns = model->processes[i].agent_ready_ns, .process = i, .aside = true};

		if (!model->processes[i].agent_aside)
			continue;
		if (i < gaps->first_register_ns.count)
			gap.end_ns = gaps->first_register_ns.items[i];
		array_push(&gaps->list, gap);
	}
}

/* The latest gap of that process that has begun by then, NULL; the list is sorted. */
static struct gap *latest_gap(const struct gaps *gaps, uint32_t process, uint64_t time_ns)
{
	struct gap latest = {.process = process, .start_ns = time_ns + ON_ITS_WAY_NS};
	size_t low = 0, high = gaps->list.count;
	struct gap *gap;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_gaps(&gaps->list.items[middle], &latest) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	gap = &gaps->list.items[low - 1];
	return gap->process == process ? gap : NULL;
}

/* The gap which a launch at that time may have fallen into, NULL. */
static struct gap *find_gap(const struct gaps *gaps, uint32_t process, uint64_t time_ns)
{
	struct gap *gap = latest_gap(gaps, process, time_ns);

	return gap && (!gap->end_ns || time_ns <= gap->end_ns || time_ns < gap->recorded_ns) ? gap : NULL;
}

static bool is_foreign(const struct model *model, const struct model_call *call)
{
	return call->gpu_count && model->gpu[call->first_gpu].foreign;
}

/* The agent registers its buffers first and enables the kinds then: the first launch with GPU times shows that it has.
 */
static void note_recorded(const struct gaps *gaps, const struct model *model, const struct model_call *call)
{
	enum launch_fate fate = launch_fate(model, call);
	struct gap *gap;

	if (fate < LAUNCH_WHOLE || fate >= LAUNCH_MISSED || is_foreign(model, call))
		return;
	gap = latest_gap(gaps, model->threads[call->thread].process, call->start_ns);
	if (gap && gap->end_ns && call->start_ns > gap->end_ns &&
	    (!gap->recorded_ns || call->start_ns < gap->recorded_ns))
		gap->recorded_ns = call->start_ns;
}

static void add_call(const struct gaps *gaps, const struct model *model, const struct model_call *call)
{
	bool missed = launch_fate(model, call) == LAUNCH_MISSED, foreign = is_foreign(model, call);
	struct gap *gap;

	if (!missed && !foreign)
		return;
	gap = find_gap(gaps, model->threads[call->thread].process, call->start_ns);
	if (!gap)
		return;
	gap->foreign += foreign;
	if (missed && !gap->missed++)
		gap->first_missed_ns = call->start_ns;
}

/*
 * Adds a gap to the receipt.  Where foreign buffers supplied the GPU work of the gap's first launches, the gap begins
 * at the first launch whose GPU work is missing.
 */
static void count_gap(const struct gap *gap, struct model *model)
{
	const struct model_process *process = &model->processes[gap->process];
	uint64_t end_ns = gap->end_ns ? gap->end_ns : process->exit_ns ? process->exit_ns : model->end_ns;
	uint64_t start_ns = gap->start_ns;
	struct model_receipt *receipt = &model_source(model)->receipt;

	/* Where no agent listened, nothing was taken away from it. */
	if (!process->agent_ready_ns || (gap->foreign && !gap->missed))
		return;
	if (gap->aside && !gap->foreign) {
		/* nobody recorded: these are from before the GPU's records began */
		receipt->launches_expected -= gap->missed;
		receipt->launches_agent_away += gap->missed;
		return;
	}
	if (gap->foreign && gap->first_missed_ns > start_ns)
		start_ns = gap->first_missed_ns;
	receipt->gaps++;
	receipt->gap_launches += gap->missed;
	if (end_ns > start_ns)
		receipt->gap_ns += end_ns - start_ns;
}

void gaps_count(struct gaps *gaps, struct model *model)
{
	add_asides(gaps, model);
	if (!gaps->list.count)
		return;
	qsort(gaps->list.items, gaps->list.count, sizeof(gaps->list.items[0]), compare_gaps);
	for (uint32_t i = 0; i < model->call_count; i++)
		note_recorded(gaps, model, &model->calls[i]);
	for (uint32_t i = 0; i < model->call_count; i++)
		add_call(gaps, model, &model->calls[i]);
	for (size_t i = 0; i < gaps->list.count; i++)
		count_gap(&gaps->list.items[i], model);
}
