/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/why_named.h"

#include <stdlib.h>

#include "analyze/why/why_internal.h"
#include "base/distance.h"

enum comm_kind why_named_kind(struct why *why, const struct model_gpu *op)
{
	return op->kind == MODEL_KERNEL && op->name != NONE
		       ? comm_names_kind(&why->named.names, op->name, why->model->strings[op->name])
		       : COMM_NONE;
}

static struct why_named_collective *collective_at(struct why_named *named, uint32_t name)
{
	for (size_t i = 0; i < named->collectives.count; i++)
		if (named->collectives.items[i].name == name)
			return &named->collectives.items[i];
	return array_push(&named->collectives, ((struct why_named_collective){.name = name}));
}

static size_t process_at(struct why_named_collective *of, uint32_t process)
{
	for (size_t i = 0; i < of->processes.count; i++)
		if (of->processes.items[i] == process)
			return i;
	array_push(&of->processes, process);
	return of->processes.count - 1;
}

static void add_loss(struct why *why, const struct why_named_loss *loss)
{
	struct why_named *named = &why->named;

	for (size_t i = named->losses.count; i-- > 0;) {
		struct why_named_loss *known = &named->losses.items[i];

		if (known->collective != loss->collective || known->processes != loss->processes ||
		    known->place != loss->place || known->process != loss->process || known->block != loss->block)
			continue;
		known->ns += loss->ns;
		known->longest_ns = later_time(known->longest_ns, loss->ns);
		known->count++;
		known->waited += loss->waited;
		return;
	}
	array_push(&named->losses, *loss);
}

/* Whether these ran at the same time, and their ends are no further apart than that time. */
static bool are_together(const struct why_named_collective *of)
{
	const struct why_named_arrival *last = &of->arrivals.items[of->arrivals.count - 1];
	uint64_t first_end = UINT64_MAX, last_end = 0;

	for (size_t i = 0; i < of->arrivals.count; i++) {
		first_end = earlier_time(first_end, of->arrivals.items[i].arrival.end_ns);
		last_end = later_time(last_end, of->arrivals.items[i].arrival.end_ns);
	}
	return first_end > last->arrival.start_ns && last_end - first_end <= first_end - last->arrival.start_ns;
}

/* What ranks lost in the one that is over. */
static void end_named(struct why *why, struct why_named_collective *of)
{
	const struct why_arrival *last =
		of->arrivals.count ? &of->arrivals.items[of->arrivals.count - 1].arrival : NULL;
	struct why_named_loss loss = {
		.collective = (size_t)(of - why->named.collectives.items),
	};

	if (of->arrivals.count > 1 && of->processes.count <= WHY_RANKS && are_together(of)) {
		for (size_t i = 0; i < of->arrivals.count; i++) {
			const struct why_named_arrival *one = &of->arrivals.items[i];

			loss.processes |= 1ull << process_at(of, one->arrival.process);
			loss.ns += one->waited_ns;
		}
		loss.longest_ns = loss.ns;
		loss.count = why_is_in_window(why, last->start_ns);
		loss.waited = loss.ns != 0;
		loss.place = last->place;
		loss.process = last->process;
		loss.block = last->block;
		add_loss(why, &loss);
	}
	of->arrivals.count = 0;
}

/* Whether a kernel that begins then can be of the one that goes on. */
static bool goes_on(const struct why_named_collective *of, uint32_t process, uint64_t start_ns)
{
	for (size_t i = 0; i < of->arrivals.count; i++)
		if (of->arrivals.items[i].arrival.process == process ||
		    of->arrivals.items[i].arrival.end_ns <= start_ns)
			return false;
	return true;
}

void why_named_add(struct why *why, size_t device, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct why_named_collective *of = collective_at(&why->named, op->name);
	const struct model_call *call = event->attributed;
	struct why_arrival arrival = {.start_ns = op->start_ns,
				      .end_ns = op->end_ns,
				      .worked_ns = why_worked_by(&why->devices.items[device].sharing, op->start_ns),
				      .device = (uint32_t)device,
				      .process = op->process,
				      .place = call ? caller_place(why->model, event->stack, event->caller)
						    : CALLER_UNSEEN,
				      .block = why->at_block};

	if (!goes_on(of, op->process, op->start_ns))
		end_named(why, of);
	process_at(of, op->process);
	for (size_t i = 0; i < of->arrivals.count; i++) {
		struct why_named_arrival *one = &of->arrivals.items[i];
		const struct why_sharing *sharing = &why->devices.items[one->arrival.device].sharing;

		one->waited_ns += why_waited_ns(why, &one->arrival, op->start_ns, why_worked_by(sharing, op->start_ns));
	}
	array_push(&of->arrivals, ((struct why_named_arrival){.arrival = arrival}));
}

/* Who was last has the number that its environment gave it; NONE: none did. */
static uint32_t rank_of(const struct why *why, uint32_t process)
{
	return why->model->processes[process].rank < 0 ? NONE : (uint32_t)why->model->processes[process].rank;
}

void why_named_settle(struct why *why)
{
	struct why_named *named = &why->named;

	for (size_t i = 0; i < named->collectives.count; i++)
		end_named(why, &named->collectives.items[i]);
	for (size_t i = 0; i < named->losses.count; i++) {
		const struct why_named_loss *loss = &named->losses.items[i];
		const struct why_named_collective *of = &named->collectives.items[loss->collective];
		size_t all = of->processes.count;

		if (loss->processes != (all < 64 ? (1ull << all) - 1 : UINT64_MAX))
			continue;
		named->complete += loss->count;
		why->blocked_ns += loss->ns;
		why->at_block = loss->block;
		why->at_process = loss->process;
		why_charge_several(why, why_key(loss->place, WHY_RANK, rank_of(why, loss->process), of->name), loss->ns,
				   loss->waited, loss->longest_ns);
	}
}

void why_named_free(struct why_named *named)
{
	for (size_t i = 0; i < named->collectives.count; i++) {
		array_free(&named->collectives.items[i].processes);
		array_free(&named->collectives.items[i].arrivals);
	}
	array_free(&named->collectives);
	array_free(&named->losses);
	comm_names_free(&named->names);
}
