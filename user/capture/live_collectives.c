/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/live_collectives.h"

#include <stdlib.h>

#include <gputrace/nccl.h>

#include "base/array.h"
#include "base/order.h"

/* A kernel begins after its call; clocks of GPU times are converted, and so not exact. */
#define CLOCK_ERROR_NS 1000000u

static uint64_t bit_of(int32_t rank)
{
	return 1ull << rank;
}

static unsigned index_of(uint64_t a, uint64_t b, unsigned count)
{
	return (unsigned)(((a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull) >> 32) % count;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* In place of the one that was used longest ago, if there are too many. */
static struct live_comm *find_comm(struct live_collectives *all, const struct gpt_nccl *call)
{
	struct live_comm *oldest = &all->comms[0];

	for (unsigned i = 0; i < LIVE_COMMS; i++) {
		if (all->comms[i].comm_id == call->comm_id)
			return &all->comms[i];
		oldest = all->comms[i].seen < oldest->seen ? &all->comms[i] : oldest;
	}
	*oldest = (struct live_comm){.comm_id = call->comm_id, .ranks = call->ranks, .first = call->sequence};
	return oldest;
}

static struct live_caller *find_caller(struct live_collectives *all, uint32_t pid, uint32_t tid)
{
	return find_item(all->callers, LIVE_CALLERS, caller, caller->pid == pid && caller->tid == tid);
}

/* Sends and receives have no number of their own. */
static bool is_collective(const struct gpt_nccl *call)
{
	return call->comm_id && call->sequence >= 0 && !call->pairs && call->rank >= 0 &&
	       call->rank < (int32_t)LIVE_RANKS;
}

static void see_nccl(struct live_collectives *all, const struct gpt_nccl *call)
{
	struct live_caller *caller = find_caller(all, call->pid, call->tid);
	struct live_comm *comm;

	if (!is_collective(call))
		return;
	comm = find_comm(all, call);
	comm->here |= bit_of(call->rank);
	comm->seen = ++all->count;
	if (!caller)
		caller = &all->callers[all->next_caller++ % LIVE_CALLERS];
	*caller = (struct live_caller){.pid = call->pid,
				       .tid = call->tid,
				       .coming = {.comm_id = call->comm_id,
						  .time_ns = call->time_ns,
						  .number = call->sequence,
						  .rank = call->rank,
						  .function = call->function}};
}

void live_collectives_see_call(struct live_collectives *all, const struct gpt_record *record)
{
	const struct gpt_call *call = (const struct gpt_call *)record;
	struct live_caller *caller;

	if (record->type == GPT_NCCL && record->size >= sizeof(struct gpt_nccl))
		see_nccl(all, (const struct gpt_nccl *)record);
	if (record->type != GPT_CALL || record->size < sizeof(*call) || !call->corr)
		return;
	caller = find_caller(all, call->pid, call->tid);
	if (!caller || caller->coming.time_ns != call->time_ns)
		return;
	all->launches[index_of(call->pid, call->corr, LIVE_LAUNCHES)] =
		(struct live_nccl_launch){.pid = call->pid, .corr = call->corr, .coming = caller->coming};
	*caller = (struct live_caller){0};
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Another one that was there is replaced. */
static struct live_collective *find_collective(struct live_collectives *all, const struct live_coming *coming)
{
	struct live_collective *found =
		&all->collectives[index_of(coming->comm_id, (uint64_t)coming->number, LIVE_COLLECTIVES)];

	if (found->comm_id != coming->comm_id || found->number != coming->number) {
		found->comm_id = coming->comm_id;
		found->number = coming->number;
		found->came = 0;
	}
	return found;
}

static bool have_all_come(const struct live_collectives *all, const struct live_collective *met)
{
	const struct live_comm *comm = find_item(all->comms, LIVE_COMMS, item, item->comm_id == met->comm_id);

	if (!comm || met->came != comm->here || __builtin_popcountll(met->came) < 2)
		return false;
	return __builtin_popcountll(comm->here) == comm->ranks ||
	       (met->number >= comm->first && met->number - comm->first >= (int64_t)LIVE_LEARNED);
}

DEFINE_ORDER(by_start, uint64_t, least_first(*a, *b))

/* The time of the median rank: of an even number, that of the earlier half's last. */
static uint64_t median_start(const struct live_collective *met)
{
	uint64_t starts[LIVE_RANKS] = {0};
	unsigned count = 0;

	for (unsigned rank = 0; rank < LIVE_RANKS; rank++)
		if (met->came >> rank & 1)
			starts[count++] = met->began_ns[rank];
	qsort(starts, count, sizeof(starts[0]), by_start);
	return starts[(count - 1) / 2];
}

/* Records come in no order: the one that is reported last may not have come last. */
static int32_t last_rank(const struct live_collective *met)
{
	int32_t last = -1;

	for (int32_t rank = 0; rank < (int32_t)LIVE_RANKS; rank++)
		if (met->came & bit_of(rank) && (last < 0 || met->began_ns[rank] > met->began_ns[last]))
			last = rank;
	return last;
}

bool live_collectives_see_work(struct live_collectives *all, const struct gpt_agent_batch *batch,
			       const struct live_work *work, struct live_late *late)
{
	struct live_nccl_launch *launch = &all->launches[index_of(batch->pid, work->corr, LIVE_LAUNCHES)];
	struct live_coming coming = launch->coming;
	struct live_collective *met;
	uint64_t began_ns;

	if (!work->corr || launch->corr != work->corr || launch->pid != batch->pid)
		return false;
	launch->corr = 0;
	began_ns = work->start_ns - live_wall_offset_ns((batch->hdr.flags & GPT_BATCH_MONOTONIC) != 0);
	/* The clock was set meanwhile, or the process says anything. */
	if (began_ns + CLOCK_ERROR_NS < coming.time_ns)
		return false;
	met = find_collective(all, &coming);
	if (met->came & bit_of(coming.rank))
		return false;
	met->came |= bit_of(coming.rank);
	met->began_ns[coming.rank] = began_ns;
	met->pids[coming.rank] = batch->pid;
	if (!have_all_come(all, met))
		return false;
	all->has_compared = true;
	late->rank = last_rank(met);
	late->pid = met->pids[late->rank];
	late->number = met->number;
	late->function = coming.function;
	late->to_ns = met->began_ns[late->rank];
	late->from_ns = median_start(met);
	return true;
}

const char *live_collective_name(uint8_t function)
{
	static const char *const names[GPT_NCCL_FUNCTIONS] = {
#define NAME(id, function, arguments, name) [GPT_NCCL_##id] = name,
		GPT_NCCL_TABLE(NAME)
#undef NAME
	};

	return function < GPT_NCCL_FUNCTIONS && names[function] && *names[function] ? names[function]
										    : "several collectives";
}
