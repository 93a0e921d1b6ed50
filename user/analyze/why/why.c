/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gaps and copies are charged as soon as the operation comes that ends them. */
#include "analyze/why/why_internal.h"

#include <stdlib.h>
#include <string.h>

/* Shorter gaps are what the hardware needs between two operations (as in idle.c). */
#define GAP_LEAST_NS 5000u

/* A gap up to which a launch that comes late is the price of launching: from Python some 10 us, of an op of PyTorch 20
 * to 100. */
#define LAUNCH_MOST_NS 200000u
#define LAUNCH_KERNEL_NS 100000u /* and the kernel is shorter than that */

/* From a launch to the start of its kernel, where the GPU has nothing else to do. */
#define LAUNCH_BEGINS_NS 10000u

/* Of a process with one step alone it is not known what is usual. */
static void look_at_steps(struct why *why, const struct steps *steps, const struct model *model)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct step_track *track = steps_of_process(steps, model, i);
		size_t first = track ? step_track_first_whole(track) : 0;

		if (!track || track->list.count < first + 2)
			continue;
		if (track->list.items[first].start_ns < from_ns)
			from_ns = track->list.items[first].start_ns;
		if (track->list.items[track->list.count - 1].end_ns > to_ns)
			to_ns = track->list.items[track->list.count - 1].end_ns;
		why->step_count += track->list.count - first;
	}
	if (!why->step_count || to_ns <= from_ns)
		return;
	why->from_ns = from_ns;
	why->to_ns = to_ns;
}

void why_init(struct why *why, const struct model *model, const struct window *window, const struct steps *steps,
	      struct step_blocks *blocks)
{
	*why = (struct why){.model = model, .window = window, .blocks = blocks, .at_block = STEP_BLOCK_NONE};
	why_threads_init(&why->threads, model);
	why->to_ns = UINT64_MAX;
	if (steps)
		look_at_steps(why, steps, model);
}

void why_begin_part(struct why *why, const struct model *part)
{
	why->model = part;
}

void why_free(struct why *why)
{
	why_threads_free(&why->threads);
	tally_free(&why->device_index);
	why_shared_free(why);
	array_free(&why->devices);
	array_free(&why->names);
	tally_free(&why->charges);
	tally_free(&why->calls);
	tally_free(&why->regions);
	tally_free(&why->reads);
	tally_free(&why->copies);
	tally_free(&why->in_blocks);
	tally_free(&why->idle_blocks);
	for (size_t i = 0; i < why->count; i++)
		free(why->losses[i].lines);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

struct charging {
	struct why *why;
	uint32_t caller; /* of the launch that came next */
};

static void charge_block(struct why *why, const struct tally_key *key, uint64_t ns)
{
	bool by_api = key->part[1] == WHY_SYNC || key->part[1] == WHY_ALLOC;
	struct tally_entry *entry;

	if (why->at_block == STEP_BLOCK_NONE)
		return;
	entry = tally_at(&why->in_blocks,
			 (struct tally_key){{key->part[0], key->part[1], by_api ? key->part[2] : NONE, why->at_block}});
	entry->ns += ns;
	entry->count++;
}

void why_charge(struct why *why, uint32_t caller, struct tally_key key, uint64_t ns)
{
	struct why_sum *sum = &why->sums[key.part[1]];
	struct tally_entry *entry;

	if (!ns)
		return;
	if (key.part[0] == WHY_CALLER_NEXT)
		key.part[0] = caller;
	entry = tally_at(&why->charges, why_charge_key(key, why->at_process));
	entry->ns += ns;
	entry->count++;
	charge_block(why, &key, ns);
	sum->ns += ns;
	sum->count++;
	if (ns > sum->longest_ns)
		sum->longest_ns = ns;
}

static void charge(void *context, struct tally_key key, uint64_t ns)
{
	const struct charging *charging = context;

	why_charge(charging->why, charging->caller, key, ns);
}

/* ---- gaps -------------------------------------------------------------------------------------------------------- */

/*
 * Whose time it is: that of the thread that launched; of a backward pass, whose threads only begin when they are handed
 * work, that of the thread in front of them, until its own first launch.
 */
static struct why_thread *thread_of(struct why *why, const struct gpu_event *event, uint64_t from_ns)
{
	const struct model_call *launch = event->launch;
	struct why_thread *own = why_thread(&why->threads, launch->thread);
	uint32_t forward = why->threads.forward[event->op->process];
	const struct why_recent *before = why_thread_before(own, launch->start_ns, false);

	if (launch->stack_state != GPT_STACK_BACKWARD || forward == NONE || (before && before->start_ns > from_ns))
		return own;
	return why_thread(&why->threads, forward);
}

/* What it is shorter than: the time from one operation's begin to the next one's. */
static bool is_price_of_launch(struct why *why, const struct why_device *device, const struct gpu_event *event,
			       uint64_t gap_ns)
{
	uint64_t interval_ns = event->op->start_ns - device->began_ns;

	if (gap_ns >= LAUNCH_MOST_NS || event->op->kind != MODEL_KERNEL || event->launch->class != GPT_CLASS_LAUNCH ||
	    gpu_ns(event->op) >= LAUNCH_KERNEL_NS || gpu_ns(event->op) >= interval_ns)
		return false;
	why->launch_kernel_ns += gpu_ns(event->op);
	why->launch_interval_ns += interval_ns;
	return true;
}

/* In the call that launched what counts is that it stood there; after it nothing but what no launch gets past. */
static uint64_t charge_from_launch(struct charging *charging, const struct gpu_event *event, struct why_thread *thread,
				   uint64_t from, uint64_t to)
{
	struct why_threads *threads = &charging->why->threads;
	uint64_t end = event->launch->end_ns < to ? event->launch->end_ns : to, sum = 0;

	if (end > from && thread == why_thread(threads, event->launch->thread))
		sum += why_thread_pieces(threads, thread, NULL, from, end, WHY_RANK_CALL, charge, charging);
	else
		end = from;
	return sum + why_thread_pieces(threads, thread, NULL, end, to, WHY_RANK_COMPILE, charge, charging);
}

static void charge_late(struct charging *charging, const struct why_device *device, const struct gpu_event *event,
			uint64_t from, uint64_t to)
{
	struct why *why = charging->why;
	struct why_thread *thread = thread_of(why, event, from);
	const struct why_thread *peers = why->threads.peers[event->op->process];
	uint64_t late = event->launch->start_ns < to ? event->launch->start_ns : to, rest;
	const struct why_recent *before;

	rest = to - from;
	rest -= why_thread_pieces(&why->threads, thread, peers, from, late, WHY_RANK_PEER, charge, charging);
	rest -= charge_from_launch(charging, event, thread, late, to);
	rest -= why_thread_leads(thread, from, event->launch->start_ns, rest, charge, charging);
	if (!rest)
		return;
	if (is_price_of_launch(why, device, event, to - from)) {
		charge(charging, why_key(charging->caller, WHY_LAUNCH, 0, NONE), rest);
		return;
	}
	before = why_thread_before(thread, event->launch->start_ns, false);
	charge(charging, why_key(charging->caller, WHY_PYTHON, before ? before->caller : CALLER_UNSEEN, NONE), rest);
}

/* The program is in a call that copies, and nothing is on its way to the GPU yet. */
static uint64_t charge_begun_copy(struct charging *charging, const struct gpu_event *event, uint64_t from, uint64_t to)
{
	const struct model_call *launch = event->launch;
	uint64_t end = launch && launch->end_ns < to ? launch->end_ns : to;

	if (!launch || launch->class != GPT_CLASS_MEMCPY || event->op->memcpy_kind != WHY_HTOD || end <= from)
		return 0;
	charge(charging, why_key(charging->caller, WHY_COPY, why_copy_detail(event->op), NONE), end - from);
	return end - from;
}

/* When a call that only a file names gave its work to the GPU is not known: not before it has returned. */
static uint64_t charge_begun(struct charging *charging, const struct gpu_event *event, uint64_t from, uint64_t to)
{
	struct why_thread *thread = why_thread(&charging->why->threads, event->launch->thread);

	if (api_is_named(event->launch->api))
		return charge_from_launch(charging, event, thread, from, to);
	return why_thread_pieces(&charging->why->threads, thread, NULL, from, to, WHY_RANK_COMPILE, charge, charging);
}

static void charge_gap(struct why *why, const struct why_device *device, const struct gpu_event *event, uint64_t from,
		       uint64_t to)
{
	const struct model_call *launch = event->launch;
	struct charging charging = {.why = why, .caller = event->launch_caller};
	uint64_t rest = to - from;

	why->idle_ns += rest;
	if (why->at_block != STEP_BLOCK_NONE)
		tally_at(&why->idle_blocks, (struct tally_key){{why->at_block}})->ns += rest;
	if (launch)
		charging.caller = why_user_frame(&why->threads, why->model, launch->stack, event->launch_caller);
	if (launch && rest >= GAP_LEAST_NS && launch->start_ns > from) {
		charge_late(&charging, device, event, from, to);
	} else if (launch && launch->start_ns + LAUNCH_BEGINS_NS > from &&
		   is_price_of_launch(why, device, event, rest)) {
		charge(&charging, why_key(charging.caller, WHY_LAUNCH, 0, NONE), rest);
	} else if (rest < GAP_LEAST_NS) {
		charge(&charging, why_key(NONE, WHY_SHORT, 0, NONE), rest);
	} else {
		rest -= charge_begun_copy(&charging, event, from, to);
		if (launch && rest == to - from)
			rest -= charge_begun(&charging, event, from, to);
		charge(&charging, why_key(charging.caller, launch ? WHY_GPU : WHY_UNSEEN, 0, NONE), rest);
	}
}

/* That of the step in which it was launched. */
static uint32_t block_of(const struct why *why, const struct gpu_event *event)
{
	uint64_t time_ns = event->launch ? event->launch->start_ns : event->op->start_ns;

	return why->blocks ? step_blocks_since(why->blocks, event->op->process, time_ns) : STEP_BLOCK_NONE;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool is_copy(const struct model_gpu *op)
{
	return op->kind == MODEL_MEMCPY && (op->memcpy_kind == WHY_HTOD || op->memcpy_kind == WHY_DTOH);
}

/* What of the current copy was alone until that time is known by then. */
static void settle_copy(struct why *why, struct why_device *device, uint64_t until_ns)
{
	struct charging charging = {.why = why};
	uint64_t end = device->copy_end_ns < until_ns ? device->copy_end_ns : until_ns;

	if (end <= device->copy_ns)
		return;
	why->at_block = device->copy_block;
	why->at_process = device->copy_process;
	why->copy_alone_ns += end - device->copy_ns;
	charge(&charging, device->copy_key, end - device->copy_ns);
	device->copy_ns = end;
}

void why_settle_copies(struct why *why, struct why_device *device)
{
	settle_copy(why, device, UINT64_MAX);
}

static void note_copy(struct why *why, const struct gpu_event *event, uint32_t caller)
{
	const struct model_gpu *op = event->op;
	struct tally_entry *sum = tally_at(&why->copies, why_key(caller, WHY_COPY, why_copy_detail(op), NONE));

	sum->ns += gpu_ns(op);
	sum->count++;
	sum->more += op->bytes;
	if (op->memcpy_kind != WHY_DTOH)
		return;
	sum = tally_at(&why->reads, (struct tally_key){{caller}});
	sum->count++;
	sum->more += op->bytes;
}

static void follow_copies(struct why *why, struct why_device *device, const struct gpu_event *event, uint64_t start,
			  uint64_t end)
{
	uint32_t caller = event->caller;

	settle_copy(why, device, start);
	if (!is_copy(event->op)) {
		if (end > device->work_until_ns)
			device->work_until_ns = end;
		if (device->work_until_ns > device->copy_ns)
			device->copy_ns = device->work_until_ns;
		return;
	}
	if (event->attributed)
		caller = why_user_frame(&why->threads, why->model, event->attributed->stack, caller);
	note_copy(why, event, caller);
	if (start < device->work_until_ns)
		start = device->work_until_ns;
	if (device->copy_end_ns > device->copy_ns) { /* two at once: the first one has what they share */
		if (end > device->copy_end_ns)
			device->copy_end_ns = end;
	} else if (end > start) {
		device->copy_ns = start;
		device->copy_end_ns = end;
		device->copy_block = block_of(why, event);
		device->copy_process = event->op->process;
		device->copy_key = why_key(caller, WHY_COPY, why_copy_detail(event->op), NONE);
	}
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static struct why_device *device_of(struct why *why, uint32_t number)
{
	size_t known = why->devices.count;
	size_t index = (size_t)(tally_at(&why->device_index, (struct tally_key){{number}}) - why->device_index.entries);

	if (index == known)
		array_push(&why->devices, ((struct why_device){.device = number, .first_ns = UINT64_MAX}));
	return &why->devices.items[index];
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

void why_add_gpu(struct why *why, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint64_t least = later(why->window->start_ns, why->from_ns), most = earlier(why->window->end_ns, why->to_ns);
	uint64_t start = later(earlier(op->start_ns, why->window->end_ns), why->window->start_ns);
	uint64_t end = earlier(op->end_ns, why->window->end_ns), from;
	struct why_device *device;

	if (!gpu_ns(op) || op->end_ns <= why->window->start_ns)
		return;
	device = device_of(why, op->device);
	why->any_gpu = true;
	if (device->first_ns == UINT64_MAX)
		device->first_ns = device->busy_until_ns = start;
	why->at_block = block_of(why, event);
	why->at_process = op->process;
	from = later(device->busy_until_ns, least);
	if (earlier(start, most) > from)
		charge_gap(why, device, event, from, earlier(start, most));
	if (earlier(end, most) > later(start, least))
		follow_copies(why, device, event, later(start, least), earlier(end, most));
	why->at_block = block_of(why, event);
	why->at_process = op->process;
	why_shared_add_gpu(why, (size_t)(device - why->devices.items), event, start, end, is_copy(op));
	device->busy_until_ns = later(device->busy_until_ns, end);
	device->began_ns = op->start_ns;
}
