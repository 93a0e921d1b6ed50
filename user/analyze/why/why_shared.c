/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/why_internal.h"
#include "analyze/why/why_named.h"

#include <stdlib.h>

#include "base/distance.h"
#include "model/collectives.h"

/* A GPU needs this much to switch to another process's work. */
#define WAIT_LEAST_NS 5000u

void why_shared_free(struct why *why)
{
	for (size_t i = 0; i < why->devices.count; i++)
		array_free(&why->devices.items[i].sharing.shares);
	for (size_t i = 0; why->open_collectives && i < WHY_OPEN_COLLECTIVES; i++)
		free(why->open_collectives->list[i].arrivals);
	free(why->open_collectives);
	why_named_free(&why->named);
}

/* ---- other processes --------------------------------------------------------------------------------------------- */

static struct why_share *share_of(struct why_sharing *sharing, uint32_t process)
{
	for (size_t i = 0; i < sharing->shares.count; i++)
		if (sharing->shares.items[i].process == process)
			return &sharing->shares.items[i];
	if (sharing->shares.count == WHY_SHARES)
		return NULL;
	return array_push(&sharing->shares, ((struct why_share){.process = process}));
}

static uint64_t overlap_of(const struct why_share *share, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t kept = share->piece_count < WHY_PIECES ? share->piece_count : WHY_PIECES, sum = 0;

	for (uint64_t i = 0; i < kept; i++) {
		const struct why_span *piece = &share->pieces[(share->piece_count - 1 - i) % WHY_PIECES];
		uint64_t start = later_time(piece->start_ns, from_ns), end = earlier_time(piece->end_ns, to_ns);

		if (end > start)
			sum += end - start;
	}
	return sum;
}

/* The process whose work ran most in that time, and how long; NULL: none ran. */
static const struct why_share *who_ran(const struct why_sharing *sharing, uint32_t process, uint64_t from_ns,
				       uint64_t to_ns, uint64_t *ns)
{
	const struct why_share *most = NULL;

	*ns = 0;
	for (size_t i = 0; i < sharing->shares.count; i++) {
		const struct why_share *share = &sharing->shares.items[i];
		uint64_t ran_ns = share->process == process ? 0 : overlap_of(share, from_ns, to_ns);

		if (ran_ns > *ns) {
			*ns = ran_ns;
			most = share;
		}
	}
	return most;
}

/*
 * Charges the wait of a launched operation while its process had nothing on the GPU, and another process had: what of
 * it is looked at.
 */
static void charge_other_process(struct why *why, struct why_sharing *sharing, const struct why_share *own,
				 const struct gpu_event *event)
{
	const struct why_span looked = why_looked_at(why);
	const struct model_call *launch = event->launch;
	uint64_t start_ns = event->op->start_ns, from, ns;
	const struct why_share *other;

	if (!launch || sharing->shares.count < 2)
		return;
	from = later_time(later_time(launch->start_ns, own->busy_until_ns), sharing->shared_until_ns);
	if (start_ns <= from || start_ns - from < WAIT_LEAST_NS)
		return;
	other = who_ran(sharing, own->process, from, start_ns, &ns);
	if (!other || ns < WAIT_LEAST_NS)
		return;
	sharing->shared_until_ns = start_ns;
	ns = overlap_of(other, later_time(from, looked.start_ns), earlier_time(start_ns, looked.end_ns));
	if (!ns)
		return;
	why->blocked_ns += ns;
	why_charge(why,
		   why_key(caller_place(why->model, launch->stack, event->launch_caller), WHY_PROCESS, other->process,
			   NONE),
		   ns);
}

static void add_piece(struct why_share *share, uint64_t start_ns, uint64_t end_ns)
{
	start_ns = later_time(start_ns, share->busy_until_ns);
	if (end_ns <= start_ns)
		return;
	if (share->piece_count &&
	    share->pieces[(share->piece_count - 1) % WHY_PIECES].end_ns + WAIT_LEAST_NS > start_ns)
		share->pieces[(share->piece_count - 1) % WHY_PIECES].end_ns = end_ns;
	else
		share->pieces[share->piece_count++ % WHY_PIECES] = (struct why_span){start_ns, end_ns};
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static struct why_open_collective *open_of(struct why *why, uint64_t id, uint32_t size)
{
	struct why_open_collective *open;

	if (!why->open_collectives)
		why->open_collectives = xcalloc(1, sizeof(*why->open_collectives));
	for (size_t i = 0; i < WHY_OPEN_COLLECTIVES; i++) {
		open = &why->open_collectives->list[i];
		if (open->arrivals && open->id == id && open->size == size)
			return open;
	}
	open = &why->open_collectives->list[why->open_collectives->begun++ % WHY_OPEN_COLLECTIVES];
	free(open->arrivals);
	*open = (struct why_open_collective){.id = id, .size = size};
	open->arrivals = xcalloc(size, sizeof(*open->arrivals));
	return open;
}

static void end_collective(struct why *why, struct why_open_collective *open, uint32_t params)
{
	const struct why_arrival *last = &open->arrivals[open->count - 1];
	uint64_t ns = 0;

	for (uint32_t i = 0; i + 1 < open->count; i++)
		ns += why_waited_ns(
			why, &open->arrivals[i], last->start_ns,
			why_worked_by(&why->devices.items[open->arrivals[i].device].sharing, last->start_ns));
	why->open_collectives->complete += why_is_in_window(why, last->start_ns);
	if (ns) {
		why->blocked_ns += ns;
		why_charge(why, why_key(last->place, WHY_RANK, (uint32_t)last->rank, params), ns);
	}
	free(open->arrivals);
	open->arrivals = NULL;
}

static const struct model_collective *collective_of(const struct why *why, const struct gpu_event *event)
{
	return event->op->kind == MODEL_KERNEL && event->launch ? model_collective_of_call(why->model, event->launch)
								: NULL;
}

static void add_arrival(struct why *why, size_t device, const struct gpu_event *event,
			const struct model_collective *params)
{
	const struct model_gpu *op = event->op;
	struct collective collective;
	struct why_open_collective *open;
	int64_t size;

	if (!collective_read(&collective, why->model->strings[params->params]) || params->sequence < 0)
		return;
	size = collective.numbers[GPT_COLLECTIVE_GROUP_SIZE];
	if (size < 2 || size > WHY_RANKS || collective.numbers[GPT_COLLECTIVE_POINT_TO_POINT] > 0)
		return;
	open = open_of(why, collective_key(&collective, params->sequence), (uint32_t)size);
	for (uint32_t i = 0; i < open->count; i++)
		if (open->arrivals[i].process == op->process)
			return;
	open->arrivals[open->count++] = (struct why_arrival){
		.start_ns = op->start_ns,
		.end_ns = op->end_ns,
		.worked_ns = why_worked_by(&why->devices.items[device].sharing, op->start_ns),
		.device = (uint32_t)device,
		.process = op->process,
		.place = caller_place(why->model, event->launch->stack, event->launch_caller),
		.rank = collective.numbers[GPT_COLLECTIVE_RANK],
	};
	if (open->count == open->size)
		end_collective(why, open, params->params);
}

/* ------------------------------------------------------------------------------------------------------------------ */

void why_add_shared_gpu(struct why *why, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct why_sharing *sharing;
	const struct model_collective *collective;
	struct why_share *own;
	size_t device;
	bool works;

	if (!gpu_ns(op))
		return;
	device = (size_t)(why_device_at(why, op->device) - why->devices.items);
	sharing = &why->devices.items[device].sharing;
	why->model = why->idle->model;
	why->at_block = idle_block_of(why->idle, event);
	why->at_process = op->process;
	collective = collective_of(why, event);
	works = !collective && why_named_kind(why, op) == COMM_NONE;
	why_pass_borders(why, sharing, op->start_ns);
	own = share_of(sharing, op->process);
	if (own)
		charge_other_process(why, sharing, own, event);
	if (collective)
		add_arrival(why, device, event, collective);
	else if (why_named_kind(why, op) == COMM_OF_ALL)
		why_named_add(why, device, event);
	if (works && op->end_ns > later_time(op->start_ns, sharing->worked_until_ns)) {
		sharing->worked_ns += op->end_ns - later_time(op->start_ns, sharing->worked_until_ns);
		sharing->worked_until_ns = op->end_ns;
	}
	if (!own)
		return;
	if (works && !why_is_copy(op))
		add_piece(own, op->start_ns, op->end_ns);
	own->busy_until_ns = later_time(own->busy_until_ns, op->end_ns);
}
