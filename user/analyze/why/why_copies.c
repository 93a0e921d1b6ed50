/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Charges time of copies once a later operation has begun; the gaps are the account's (idle_gaps.c). */
#include "analyze/why/why_internal.h"
#include "base/distance.h"

#include <stdlib.h>
#include <string.h>

void why_init(struct why *why, const struct model *model, const struct window *window, struct idle *idle,
	      const struct comm_kernels *comm)
{
	*why = (struct why){.model = model,
			    .window = window,
			    .idle = idle,
			    .named = {.names = {.own = comm}},
			    .at_block = STEP_BLOCK_NONE};
}

void why_free(struct why *why)
{
	tally_free(&why->device_index);
	why_shared_free(why);
	array_free(&why->devices);
	tally_free(&why->charges);
	tally_free(&why->reads);
	tally_free(&why->copies);
	tally_free(&why->in_blocks);
	line_callers_free(&why->callers);
	for (size_t i = 0; i < why->count; i++)
		free(why->losses[i].lines);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Charges what the current copy was alone for, up to that time. */
static void settle_copy(struct why *why, struct why_device *device, uint64_t until_ns)
{
	uint64_t end = device->copy_end_ns < until_ns ? device->copy_end_ns : until_ns;

	if (end <= device->copy_ns)
		return;
	why->at_block = device->copy_block;
	why->at_process = device->copy_process;
	why->copy_alone_ns += end - device->copy_ns;
	why_charge(why, device->copy_key, end - device->copy_ns);
	device->copy_ns = end;
}

void why_settle_copies(struct why *why, struct why_device *device)
{
	settle_copy(why, device, UINT64_MAX);
}

static uint32_t place_of_copy(const struct why *why, const struct gpu_event *event)
{
	return caller_place(why->model, event->stack, event->caller);
}

static struct tally_key key_of_copy(const struct why *why, const struct gpu_event *event)
{
	uint32_t place = place_of_copy(why, event);

	if (gpu_is_migration(event->op))
		return why_key(place, WHY_MANAGED, why_managed_detail(event->op), NONE);
	return why_key(place, WHY_COPY, why_copy_detail(event->op), NONE);
}

static void note_copy(struct why *why, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct tally_entry *sum = tally_at(&why->copies, key_of_copy(why, event));

	sum->ns += gpu_ns(op);
	sum->count++;
	sum->more += op->bytes;
	if (op->memcpy_kind != WHY_DTOH)
		return;
	sum = tally_at(&why->reads, (struct tally_key){{place_of_copy(why, event)}});
	sum->count++;
	sum->more += op->bytes;
}

static void follow_copies(struct why *why, struct why_device *device, const struct gpu_event *event, uint64_t start,
			  uint64_t end)
{
	settle_copy(why, device, start);
	if ((why_is_copy(event->op) || gpu_is_migration(event->op)) && event->op->start_ns >= why->window->start_ns)
		note_copy(why, event);
	if (!why_is_copy(event->op)) {
		if (end > device->work_until_ns)
			device->work_until_ns = end;
		if (device->work_until_ns > device->copy_ns)
			device->copy_ns = device->work_until_ns;
		return;
	}
	if (start < device->work_until_ns)
		start = device->work_until_ns;
	if (device->copy_end_ns > device->copy_ns) { /* two copies at once: the first one gets the time they share */
		if (end > device->copy_end_ns)
			device->copy_end_ns = end;
	} else if (end > start) {
		device->copy_ns = start;
		device->copy_end_ns = end;
		device->copy_block = idle_block_of(why->idle, event);
		device->copy_process = event->op->process;
		device->copy_key = key_of_copy(why, event);
	}
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

void why_add_gpu(struct why *why, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	const struct why_span looked = why_looked_at(why);
	uint64_t start = later_time(op->start_ns, looked.start_ns), end = earlier_time(op->end_ns, looked.end_ns);

	/* in a file with whole microseconds a copy can take none */
	if (why_is_copy(op) && op->start_ns && op->start_ns == op->end_ns && op->start_ns >= looked.start_ns &&
	    op->start_ns < looked.end_ns)
		note_copy(why, event);
	if (!gpu_ns(op) || op->end_ns <= why->window->start_ns)
		return;
	why->any_gpu = true;
	if (end > start)
		follow_copies(why, why_device_at(why, op->device), event, start, end);
}
