/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes figures and causes from the receipt and the processes. */
#include "analyze/sums/complete.h"

#include <string.h>

#include "base/array.h"

static enum complete_end end_of(const struct model_receipt *receipt)
{
	if (receipt->truncated || !receipt->end_reason)
		return COMPLETE_TRUNCATED;
	if (receipt->end_reason == GPT_END_DISK)
		return COMPLETE_DISK_FULL;
	return receipt->end_reason == GPT_END_ERROR ? COMPLETE_FAILED : COMPLETE_ENDED;
}

static void add_row(struct complete *complete, const char *name, const char *words, uint64_t count)
{
	if (count && complete->count < COMPLETE_ROWS_MAX)
		complete->rows[complete->count++] = (struct complete_row){name, words, count};
}

/*
 * Kernels with a line table are Triton's and Numba's; without a Python it is no loss that the agent did not look for
 * them.
 */
static void add_notes(struct complete *complete, const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;
	bool has_python = any_of(model->process_count, i, model->processes[i].python);

#define NOTE(member, name, words) add_row(complete, #name, words, has_python ? receipt->member : 0);
	GPT_AGENT_NOTES(NOTE)
#undef NOTE
}

static void add_rows(struct complete *complete, const struct model_receipt *receipt)
{
	struct model_loss losses[MODEL_LOSSES];
	const struct complete_row others[] = {
		{"stacks_truncated", "stacks deeper than what is kept: frames in their middle are left out",
		 receipt->counters[GPT_COUNTER_STACK_TRUNCATED]},
		{"stacks_lowered", "calls whose Python stack was not recorded, as detail was lowered",
		 receipt->stacks_lowered},
		{"launches_captured", "launches captured into graphs: executed when those are launched",
		 receipt->launches_captured},
		{"launches_agent_away", "launches without GPU times: the agent did not record yet, or had left",
		 receipt->launches_agent_away},
		{"launches_no_agent", "launches without GPU times: no agent in their process",
		 receipt->launches_no_agent},
		{"launches_short",
		 "graph launches of which operations are missing that other launches of the graph had",
		 receipt->launches_short},
		{"gap_launches", "launches whose GPU records went to another profiler in the process",
		 receipt->gap_launches},
#define BAD(enumerator, name, words) {name, "records that make no sense: " words, receipt->bad_reasons[enumerator]},
		GPT_BAD_REASONS(BAD)
#undef BAD
			{"gpu_ops_before", "GPU operations launched before the trace began", receipt->gpu_ops_before},
		{"gpu_ops_unjoined", "GPU operations whose launch was not seen",
		 receipt->gpu_ops - receipt->gpu_ops_joined - receipt->gpu_ops_before - receipt->gpu_ops_migrated},
		{"gpu_ops_migrated", "copies of managed memory that the driver made: no call launches them",
		 receipt->gpu_ops_migrated},
		{"gpu_ops_untimed", "GPU operations that CUPTI could not time", receipt->gpu_ops_untimed},
		{"early", "GPU operations that seem to start before their launch", receipt->early},
		{"clock_steps", "steps of the wall clock during the trace", receipt->clock_steps},
	};

	model_losses(receipt, losses);
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		add_row(complete, losses[i].name, losses[i].words, losses[i].count);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		add_row(complete, others[i].name, others[i].words, others[i].count);
}

/* Whether the list "kernels,cuda" has the name. */
static bool list_has(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == length && !memcmp(at, name, length))
			return true;
	return false;
}

/* If all calls are recorded, waits are among them, and what CUPTI adds to waits is no loss. */
static bool list_lacks(const char *list, const char *name)
{
	if (!strcmp(name, "nvtx")) /* matters only where the program names ranges */
		return false;
	return list && *list && !list_has(list, name) && (strcmp(name, "sync") || !list_has(list, "cuda"));
}

/* Sets that some agent was not asked for, or that its CUPTI did not provide. */
static void find_sets(struct complete *complete, const struct model *model)
{
	static const char *const names[] = {
#define NAME(enumerator, name) #name,
		GPT_AGENT_ACTIVITY_SETS(NAME)
#undef NAME
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) <= COMPLETE_SETS_MAX, "room for every activity set");
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		if (any_of(model->process_count, i, list_lacks(model->processes[i].agent_activity_sets, names[n])))
			complete->sets[complete->set_count++] = names[n];
}

void complete_make(struct complete *complete, const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;

	*complete = (struct complete){
		.end = end_of(receipt),
		.tool = model_is_foreign(model) ? model_source(model)->tool : NULL,
		.has_gpu_times = receipt->launches_expected || receipt->gpu_ops,
		.launches = receipt->launches + receipt->launches_failed,
		.launches_failed = receipt->launches_failed,
		.launches_meant = model_launches_meant(model),
		.launches_joined = receipt->launches_joined,
		.launches_with_stack = receipt->launches_with_stack,
		.launches_with_line = receipt->launches_with_line,
		.lost = receipt->lost,
		.gpu_ns = receipt->gpu_ns,
		.gpu_ns_with_line = receipt->gpu_ns_with_line,
		.gpu_ns_with_function = receipt->gpu_ns_with_function,
		.clock_error_ns = receipt->clock_error_ns,
		.complete = model_completeness(model),
		.wanted = model->min_complete,
		.operations_foreign = receipt->gpu_ops_foreign,
		.gaps = receipt->gaps,
		.gap_ns = receipt->gap_ns,
		/* if records were dropped for lack of buffers, that is the reason */
		.other_client_suspected = !receipt->buffers_refused &&
					  receipt->launches_joined + receipt->gap_launches + receipt->cut_launches <
						  receipt->launches_expected / 2,
		.cut_launches = receipt->cut_launches,
		.cut_processes = receipt->cut_processes,
		.cut_ns = receipt->cut_ns,
		.cut_pid = receipt->cut_pid,
		.cut_signal = receipt->cut_signal,
		.cut_alive = receipt->cut_alive,
	};
	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].borrowed_ns) {
			complete->borrowed++;
			complete->borrowed_pid = model->processes[i].pid;
		}
	add_rows(complete, receipt);
	add_notes(complete, model);
	find_sets(complete, model);
}
