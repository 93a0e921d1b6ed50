/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a launch's gap by its time; see gap_launches.h. */
#include "model/join/gap_launches.h"

#include "base/order.h"

/*
 * When another client registers, it also gets records of work that had not reached the agent yet.  The agent takes
 * complete records every 100 ms (user/agent/session.c).
 */
#define ON_ITS_WAY_NS 100000000

static bool begins_after(const struct model_gap *gap, uint32_t process, uint64_t time_ns)
{
	return gap->process != process ? gap->process > process : gap->start_ns > time_ns;
}

/* The process's latest gap that had begun by time_ns, NONE; the list is sorted. */
static uint32_t latest_gap(const struct model *model, uint32_t process, uint64_t time_ns)
{
	size_t low = count_while(model->gap_count, i, !begins_after(&model->gaps[i], process, time_ns + ON_ITS_WAY_NS));

	return low && model->gaps[low - 1].process == process ? (uint32_t)low - 1 : NONE;
}

static bool is_foreign(const struct model *model, const struct model_call *call)
{
	return call->gpu_count && model->gpu[call->first_gpu].foreign;
}

static void count_call(struct gap_calls *calls, uint64_t time_ns, bool foreign, bool missed)
{
	calls->foreign += foreign;
	if (missed && !calls->missed++)
		calls->first_missed_ns = time_ns;
}

static void move_counts(struct gap_calls *from, struct gap_calls *to)
{
	if (from->missed && !to->missed)
		to->first_missed_ns = from->first_missed_ns;
	to->foreign += from->foreign;
	to->missed += from->missed;
	*from = (struct gap_calls){0};
}

/* Calls at an earlier time are no longer the latest. */
static void go_on(struct gap_sums *sums, uint64_t time_ns)
{
	if (time_ns > sums->latest_ns)
		move_counts(&sums->latest, &sums->waiting);
	sums->latest_ns = time_ns;
}

void gap_launches_add(struct gap_launches *launches, const struct model *part, const struct model_call *call,
		      enum launch_fate fate)
{
	bool missed = fate == LAUNCH_MISSED, foreign = is_foreign(part, call);
	bool recorded = fate >= LAUNCH_WHOLE && fate < LAUNCH_MISSED && !foreign;
	const struct model_gap *gap;
	struct gap_sums *sums;
	uint32_t index;

	if (!part->gap_count || (!missed && !foreign && !recorded))
		return;
	index = latest_gap(part, part->threads[call->thread].process, call->start_ns);
	if (index == NONE)
		return;
	while (launches->sums.count < part->gap_count)
		array_push(&launches->sums, ((struct gap_sums){0}));
	gap = &part->gaps[index];
	sums = &launches->sums.items[index];
	if (!gap->end_ns || call->start_ns <= gap->end_ns) {
		count_call(&sums->in, call->start_ns, foreign, missed);
		return;
	}
	if (sums->recorded)
		return;
	go_on(sums, call->start_ns);
	if (!recorded) {
		count_call(&sums->latest, call->start_ns, foreign, missed);
		return;
	}
	/* the agent enables kinds only after registering its buffers: a recorded launch shows that it has */
	sums->recorded = true;
	move_counts(&sums->waiting, &sums->in);
}

static bool is_within(const struct gap_limits *limits, const struct model_gap *gap, uint64_t start_ns, uint64_t end_ns)
{
	return (!limits->processes || limits->processes[gap->process]) && end_ns >= limits->from_ns &&
	       (!limits->to_ns || start_ns < limits->to_ns);
}

/*
 * Adds a gap to the receipt.  Where foreign buffers supplied the GPU work of the gap's first launches, the gap begins
 * at the first launch whose GPU work is missing.
 */
static void count_gap(const struct model_gap *gap, const struct gap_calls *calls, const struct gap_limits *limits,
		      const struct model *model, struct model_receipt *receipt)
{
	const struct model_process *process = &model->processes[gap->process];
	uint64_t end_ns = gap->end_ns ? gap->end_ns : process->exit_ns ? process->exit_ns : model->end_ns;
	uint64_t start_ns = gap->start_ns;

	/* Without a listening agent, no records were taken away from it. */
	if (!process->agent_ready_ns || (calls->foreign && !calls->missed))
		return;
	if (gap->idle && !calls->foreign) {
		/* no client recorded: these launches are from before recording began */
		receipt->launches_expected -= calls->missed;
		receipt->launches_agent_away += calls->missed;
		return;
	}
	if (calls->foreign && calls->first_missed_ns > start_ns)
		start_ns = calls->first_missed_ns;
	receipt->gap_launches += calls->missed;
	if (!is_within(limits, gap, start_ns, end_ns))
		return;
	if (start_ns < limits->from_ns)
		start_ns = limits->from_ns;
	if (limits->to_ns && end_ns > limits->to_ns)
		end_ns = limits->to_ns;
	receipt->gaps++;
	if (end_ns > start_ns)
		receipt->gap_ns += end_ns - start_ns;
}

void gap_launches_count(const struct gap_launches *launches, const struct gap_limits *limits, const struct model *last,
			struct model_receipt *receipt)
{
	static const struct gap_sums none;

	for (uint32_t i = 0; i < last->gap_count; i++) {
		const struct gap_sums *sums = i < launches->sums.count ? &launches->sums.items[i] : &none;

		count_gap(&last->gaps[i], &sums->in, limits, last, receipt);
	}
}
