/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Charges a gap when the operation that ends it comes. */
#include "analyze/why/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/why/idle_internal.h"
#include "base/distance.h"

/* Hardware needs this much between two operations. */
#define GAP_LEAST_NS 5000u

/* Up to this gap, a late launch is the price of launching: from Python some 10 us, from an op of PyTorch 20 to 100. */
#define LAUNCH_MOST_NS 200000u
#define LAUNCH_KERNEL_NS 100000u /* the kernel must be shorter than this, too */

/* Time from a launch to the start of its kernel on an idle GPU. */
#define LAUNCH_BEGINS_NS 10000u
#define LATENCY_MOST_NS 20000u /* the same from the return of the launching call, if the driver is slow */

/* If a process has a single step, it is not known what is usual. */
static void look_at_steps(struct idle *idle, const struct steps *steps, const struct model *model)
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
		idle->step_count += track->list.count - first;
	}
	if (!idle->step_count || to_ns <= from_ns)
		return;
	idle->from_ns = from_ns;
	idle->to_ns = to_ns;
}

void idle_init(struct idle *idle, const struct model *model, const struct window *window, const struct steps *steps,
	       struct step_blocks *blocks)
{
	*idle = (struct idle){.model = model,
			      .window = window,
			      .counted = *window,
			      .reach = *window,
			      .blocks = blocks,
			      .to_ns = UINT64_MAX};
	why_threads_init(&idle->threads, model);
	ran_threads_init(&idle->ran, model->thread_count);
	compiles_init(&idle->compiles, model);
	if (steps)
		look_at_steps(idle, steps, model);
}

void idle_free(struct idle *idle)
{
	why_threads_free(&idle->threads);
	ran_threads_free(&idle->ran);
	compiles_free(&idle->compiles);
	tally_free(&idle->device_index);
	array_free(&idle->devices);
	array_free(&idle->names);
	tally_free(&idle->kernels);
	tally_free(&idle->regions);
	tally_free(&idle->calls);
	tally_free(&idle->whats);
	tally_free(&idle->whose);
	tally_free(&idle->likes);
	tally_free(&idle->passes);
	array_free(&idle->sampled);
	array_free(&idle->unknown);
	tally_free(&idle->charges);
	array_free(&idle->pieces);
	array_free(&idle->parts);
	array_free(&idle->resolved);
	array_free(&idle->resolved_from);
	tally_free(&idle->idle_blocks);
	idle_steps_free(&idle->steps);
	free(idle->rows);
}

/*
 * The thread whose time it is: the launching thread.  Threads of a backward pass start only when they get work, so
 * until its own first launch such a thread's time is the forward thread's.
 */
static uint32_t thread_of(struct idle *idle, const struct gpu_event *event, uint64_t from_ns)
{
	const struct model_call *launch = event->launch;
	struct why_thread *own = why_thread(&idle->threads, launch->thread);
	uint32_t forward = idle->threads.forward[event->op->process];
	const struct why_recent *before = why_thread_before(own, launch->start_ns, false);

	if (launch->stack_state != GPT_STACK_BACKWARD || forward == NONE || (before && before->start_ns > from_ns))
		return launch->thread;
	return forward;
}

/* The kernel must be shorter than the time from the start of the operation before to its own. */
static bool is_price_of_launch(const struct idle_device *device, const struct gpu_event *event, uint64_t gap_ns)
{
	return gap_ns < LAUNCH_MOST_NS && event->op->kind == MODEL_KERNEL && event->launch->class == GPT_CLASS_LAUNCH &&
	       gpu_ns(event->op) < LAUNCH_KERNEL_NS && gpu_ns(event->op) < event->op->start_ns - device->began_ns;
}

/* ns: of the spans. */
static void charge_price_of_launch(struct idle_charging *charging, const struct idle_device *device,
				   const struct gpu_event *event, struct idle_spans *spans, uint64_t ns)
{
	if (charging->looked_at) {
		charging->idle->launch_kernel_ns += gpu_ns(event->op);
		charging->idle->launch_interval_ns += event->op->start_ns - device->began_ns;
	}
	idle_charge_spans(charging, why_key(WHY_PLACE_NEXT, WHY_LAUNCH, 0, NONE), spans, ns);
}

/*
 * Charges what is not known yet.  lead: number in whats of what to charge if samples do not say either, NONE.  from:
 * place of the call before, for the words where nothing else is known.
 */
static void charge_unknown(struct idle_charging *charging, uint32_t thread, uint32_t lead, uint32_t from,
			   struct idle_spans *spans, uint64_t ns)
{
	charging->culprit = thread;
	charging->once = true;
	idle_charge_spans(charging, why_key(WHY_PLACE_NEXT, WHY_UNSAMPLED, lead, from), spans, ns);
	charging->culprit = NONE;
	charging->once = false;
}

/* Time in the spans that nothing else explains, to be charged to earlier waits. */
struct lead {
	struct idle_charging *charging;
	struct idle_spans *spans;
	uint32_t thread; /* for defer_lead: samples may still explain its time */
};

static void take_lead(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	const struct lead *lead = context;

	idle_charge_spans(lead->charging, key, lead->spans, to_ns - from_ns);
}

static void defer_lead(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	const struct lead *lead = context;

	charge_unknown(lead->charging, lead->thread, tally_number(&lead->charging->idle->whats, key), NONE, lead->spans,
		       to_ns - from_ns);
}

/* Charges remaining time to earlier waits, as far as they go. */
static uint64_t charge_leads(struct idle_charging *charging, struct why_thread *thread, const struct why_gap *gap,
			     struct idle_spans *spans, uint64_t rest)
{
	struct lead lead = {.charging = charging, .spans = spans};
	uint64_t sum;

	charging->after = true;
	sum = why_thread_leads(thread, gap, rest, take_lead, &lead);
	charging->after = false;
	return sum;
}

/* A gap that a late launch ended, up to the launch. */
struct lateness {
	struct idle_charging *charging;
	uint32_t thread;
	uint64_t from_ns, to_ns;
	struct why_rests rests; /* times in which nothing is known of the thread without samples */
};

/* Charges what the thread did in a DataLoader's next or a collective, as far as that is known. */
static void blame_known(struct idle_charging *charging, uint32_t thread, struct tally_key key,
			const struct ran_span *span)
{
	struct why_rests unknown = {0};
	uint64_t ns = idle_blame(charging, thread, &key, span, &unknown);
	struct idle_spans spans = idle_spans_of(&unknown);

	idle_charge_spans(charging, key, &spans, ns);
	array_free(&unknown);
}

/* Charges what is known of the thread without samples, unless samples can say more. */
static void take_late(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	struct lateness *late = context;
	const struct ran_threads *ran = &late->charging->idle->ran;
	struct ran_span span = {.from_ns = from_ns, .to_ns = to_ns, .least_ns = from_ns, .most_ns = to_ns};

	if (ran_is_known(ran) && (key.part[1] == WHY_DATA || key.part[1] == WHY_PEER)) {
		blame_known(late->charging, late->thread, key, &span);
		return;
	}
	if (key.part[0] == WHY_PLACE_NEXT) {
		uint32_t place;

		span.least_ns = late->from_ns;
		span.most_ns = late->to_ns;
		place = ran_nearest_place(ran, late->thread, &span);
		if (place != CALLER_UNSEEN) {
			key.part[0] = place;
			key.part[3] = key.part[1] == WHY_COMPILE ? key.part[3] : 0;
		}
	}
	span.least_ns = from_ns;
	span.most_ns = to_ns;
	idle_blame_own(late->charging, late->thread, key, &span);
}

/* When the launching call returned, in a gap that ends at to: until then its thread may be late. */
static uint64_t returned_ns(const struct gpu_event *event, uint64_t to)
{
	return earlier_time(later_time(event->launch->start_ns, event->launch->end_ns), to);
}

/*
 * In the launching call, time spent in the call counts; after it, only what no launch can get past.  rests: gets the
 * time in the call that remains; begun: the time after it.
 */
static void charge_from_launch(struct lateness *late, const struct gpu_event *event, uint64_t from, uint64_t to,
			       struct why_rests *rests, struct why_rests *begun)
{
	struct why_threads *threads = &late->charging->idle->threads;
	struct why_thread *thread = why_thread(threads, late->thread);
	enum why_rank in_call = late->thread == event->launch->thread ? WHY_RANK_CALL : WHY_RANK_COMPILE;
	uint64_t returned = later_time(returned_ns(event, to), from);

	why_thread_pieces(threads, thread, NULL, from, returned, in_call, take_late, late, rests);
	why_thread_pieces(threads, thread, NULL, returned, to, WHY_RANK_COMPILE, take_late, late, begun);
}

/* Divides times about which nothing else is known by samples and waits; returns how much these do not explain. */
static uint64_t blame_rests(const struct lateness *late, struct why_rests *unknown)
{
	uint64_t unknown_ns = 0;

	for (size_t i = 0; i < late->rests.count; i++) {
		const struct why_rest *rest = &late->rests.items[i];
		const struct ran_span span = {.from_ns = rest->from_ns,
					      .to_ns = rest->to_ns,
					      .least_ns = rest->from_ns,
					      .most_ns = rest->to_ns};

		unknown_ns += idle_blame(late->charging, late->thread, NULL, &span, unknown);
	}
	return unknown_ns;
}

/* Only lateness of a thread that runs Python is charged to Python. */
static enum why_cause cause_of_late(const struct gpu_event *event)
{
	switch (event->launch->stack_state) {
	case GPT_STACK_NO_PYTHON:
	case GPT_STACK_NO_THREAD:
		return WHY_PROGRAM;
	default:
		return WHY_PYTHON;
	}
}

static void charge_rest(struct idle_charging *charging, const struct gpu_event *event, const struct why_recent *before,
			struct idle_spans *spans, uint64_t ns)
{
	idle_charge_spans(charging,
			  why_key(WHY_PLACE_NEXT, cause_of_late(event), before ? before->place : CALLER_UNSEEN, NONE),
			  spans, ns);
}

static uint64_t sum_of(const struct why_rests *rests)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < rests->count; i++)
		ns += rests->items[i].to_ns - rests->items[i].from_ns;
	return ns;
}

/* Charges the rest of a gap, with samples or waits: these until the launch returned, then the GPU. */
static void charge_by_samples(const struct lateness *late, struct why_thread *thread, const struct why_gap *gap,
			      const struct why_rests *begun)
{
	struct idle_charging *charging = late->charging;
	struct why_rests unknown = {0};
	struct idle_spans spans, after = idle_spans_of(begun);
	struct lead lead = {.charging = charging, .spans = &spans, .thread = late->thread};
	const struct why_recent *before = why_thread_before(thread, gap->launch_ns, false);
	uint64_t rest, own_ns;

	own_ns = idle_own_ns(charging->idle, late->thread, &late->rests);
	if (own_ns && why_thread_leads(thread, gap, own_ns, NULL, NULL) == own_ns)
		charging->hidden = gap;
	rest = blame_rests(late, &unknown);
	charging->hidden = NULL;
	spans = idle_spans_of(&unknown);
	rest -= why_thread_leads(thread, gap, rest, defer_lead, &lead);
	charge_unknown(charging, late->thread, NONE, before ? before->place : CALLER_UNSEEN, &spans, rest);
	idle_charge_spans(charging, why_key(WHY_PLACE_NEXT, WHY_GPU, 0, NONE), &after, sum_of(begun));
	array_free(&unknown);
}

static void append_rests(struct why_rests *to, const struct why_rests *from)
{
	for (size_t i = 0; i < from->count; i++)
		array_push(to, from->items[i]);
}

/* Charges the rest of a gap, without samples and waits: earlier waits until the launch returned, then the GPU. */
static void charge_by_calls(struct lateness *late, const struct idle_device *device, const struct gpu_event *event,
			    const struct why_gap *gap, const struct why_rests *begun)
{
	struct idle_charging *charging = late->charging;
	struct why_thread *thread = why_thread(&charging->idle->threads, late->thread);
	const struct why_recent *before = why_thread_before(thread, event->launch->start_ns, false);
	uint64_t rest = sum_of(&late->rests), begun_ns = sum_of(begun),
		 latency_ns = earlier_time(begun_ns, LATENCY_MOST_NS);
	struct idle_spans spans;

	append_rests(&late->rests, begun);
	spans = idle_spans_of(&late->rests);
	rest -= charge_leads(charging, thread, gap, &spans, rest);
	if (rest && is_price_of_launch(device, event, charging->to_ns - charging->from_ns)) {
		charge_price_of_launch(charging, device, event, &spans, rest + latency_ns);
		begun_ns -= latency_ns;
	} else {
		charge_rest(charging, event, before, &spans, rest);
	}
	idle_charge_spans(charging, why_key(WHY_PLACE_NEXT, WHY_GPU, 0, NONE), &spans, begun_ns);
}

static void charge_late(struct idle_charging *charging, const struct idle_device *device, const struct gpu_event *event)
{
	struct idle *idle = charging->idle;
	uint64_t from = charging->from_ns, to = charging->to_ns, launched = earlier_time(event->launch->start_ns, to);
	struct lateness late = {
		.charging = charging, .thread = thread_of(idle, event, from), .from_ns = from, .to_ns = launched};
	struct why_thread *thread = why_thread(&idle->threads, late.thread);
	const struct why_gap gap = {device->first_ns, from, event->launch->start_ns};
	struct why_rests begun = {0};

	charging->late = late.thread;
	why_thread_pieces(&idle->threads, thread, idle->threads.peers[event->op->process], from, launched,
			  WHY_RANK_PEER, take_late, &late, &late.rests);
	charge_from_launch(&late, event, launched, to, &late.rests, &begun);
	if (ran_is_known(&idle->ran) && !is_price_of_launch(device, event, to - from))
		charge_by_samples(&late, thread, &gap, &begun);
	else
		charge_by_calls(&late, device, event, &gap, &begun);
	array_free(&begun);
	array_free(&late.rests);
}

/* Time in a call that copies, before anything is on its way to the GPU. */
static uint64_t charge_begun_copy(struct idle_charging *charging, const struct gpu_event *event, uint64_t from,
				  uint64_t to)
{
	const struct model_call *launch = event->launch;
	uint64_t end = launch && launch->end_ns < to ? launch->end_ns : to;

	if (!launch || launch->class != GPT_CLASS_MEMCPY || event->op->memcpy_kind != WHY_HTOD || end <= from)
		return 0;
	idle_charge(charging, why_key(WHY_PLACE_NEXT, WHY_COPY, why_copy_detail(event->op), NONE), from, end);
	why_thread_uses(why_thread(&charging->idle->threads, launch->thread), from, end);
	return end - from;
}

/*
 * For a call that only a file of another tool names, it is not known when it gave its work to the GPU: its time counts
 * until it returns.
 */
static void charge_begun(struct idle_charging *charging, const struct gpu_event *event, uint64_t from, uint64_t to,
			 struct why_rests *rests)
{
	struct lateness late = {.charging = charging, .thread = event->launch->thread, .from_ns = from, .to_ns = to};
	struct why_threads *threads = &charging->idle->threads;

	if (api_is_named(event->launch->api))
		charge_from_launch(&late, event, from, to, rests, rests);
	else
		why_thread_pieces(threads, why_thread(threads, late.thread), NULL, from, to, WHY_RANK_COMPILE,
				  take_late, &late, rests);
}

/* No launch was late: charges what the launching call did, and the GPU's own time. */
static void charge_in_time(struct idle_charging *charging, const struct gpu_event *event, uint64_t from, uint64_t to)
{
	enum why_cause cause = event->launch ? WHY_GPU : gpu_is_migration(event->op) ? WHY_MANAGED : WHY_UNSEEN;
	uint64_t copy_ns = charge_begun_copy(charging, event, from, to);
	struct why_rests rests = {0};
	struct idle_spans spans;

	if (event->launch && !copy_ns)
		charge_begun(charging, event, from, to, &rests);
	else
		array_push(&rests, ((struct why_rest){from + copy_ns, to}));
	spans = idle_spans_of(&rests);
	idle_charge_spans(
		charging,
		why_key(WHY_PLACE_NEXT, cause, cause == WHY_MANAGED ? why_managed_detail(event->op) : 0, NONE), &spans,
		sum_of(&rests));
	array_free(&rests);
}

static void charge_gap(struct idle *idle, const struct idle_device *device, const struct gpu_event *event,
		       uint64_t from, uint64_t to)
{
	const struct model_call *launch = event->launch;
	uint64_t inside_ns = idle_ns_inside(idle, from, to);
	struct idle_charging charging = {.idle = idle,
					 .from_ns = from,
					 .to_ns = to,
					 .device = device->device,
					 .late = launch ? launch->thread : NONE,
					 .launch_place = event->launch_caller,
					 .process = event->op->process,
					 .block = idle_block_of(idle, event),
					 .looked_at = idle_looks_at(idle, from) && inside_ns,
					 .inner = WHY_CAUSES,
					 .culprit = NONE,
					 .via = NONE,
					 .like = idle_like(idle, event, to - from)};
	struct why_rest all = {from, to};
	struct idle_spans spans = {.next = &all, .count = 1};
	uint64_t rest = to - from;

	idle->gaps++;
	if (charging.looked_at)
		idle->looked_idle_ns += inside_ns;
	if (charging.looked_at && charging.block != STEP_BLOCK_NONE)
		tally_at(&idle->idle_blocks, (struct tally_key){{charging.block}})->ns += inside_ns;
	if (launch) {
		charging.launch_place = caller_place(idle->model, launch->stack, event->launch_caller);
		charging.launch_pass = call_pass(idle->model, launch);
	}
	if (launch && rest >= GAP_LEAST_NS && launch->start_ns > from) {
		charge_late(&charging, device, event);
	} else if (launch && launch->start_ns + LAUNCH_BEGINS_NS > from && is_price_of_launch(device, event, rest)) {
		uint64_t price_to = earlier_time(returned_ns(event, to) + LATENCY_MOST_NS, to);

		charge_price_of_launch(&charging, device, event, &spans, price_to - from);
		idle_charge_spans(&charging, why_key(WHY_PLACE_NEXT, WHY_GPU, 0, NONE), &spans, to - price_to);
	} else if (rest < GAP_LEAST_NS) {
		charging.launch_place = NONE;
		idle_charge_spans(&charging, why_key(NONE, WHY_SHORT, 0, NONE), &spans, rest);
	} else {
		charge_in_time(&charging, event, from, to);
	}
	idle_settle_gap(&charging);
}

/* Splits a gap where the time looked at begins or ends. */
static void charge_gaps(struct idle *idle, const struct idle_device *device, const struct gpu_event *event,
			uint64_t from, uint64_t to)
{
	const uint64_t borders[] = {idle->from_ns, idle->to_ns};

	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++)
		if (borders[i] > from && borders[i] < to) {
			charge_gap(idle, device, event, from, borders[i]);
			from = borders[i];
		}
	charge_gap(idle, device, event, from, to);
}

static struct idle_device *device_of(struct idle *idle, uint32_t number)
{
	size_t known = idle->devices.count;
	size_t index = tally_number(&idle->device_index, (struct tally_key){{number}});

	if (index == known)
		array_push(&idle->devices, ((struct idle_device){.device = number, .first_ns = UINT64_MAX}));
	return &idle->devices.items[index];
}

void idle_add_gpu(struct idle *idle, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	const struct window *reach = &idle->reach;
	uint64_t start = later_time(earlier_time(op->start_ns, reach->end_ns), reach->start_ns);
	uint64_t end = earlier_time(op->end_ns, reach->end_ns);
	struct idle_device *device;

	if (!gpu_ns(op) || op->end_ns <= reach->start_ns)
		return;
	device = device_of(idle, op->device);
	if (device->first_ns == UINT64_MAX)
		device->first_ns = device->busy_until_ns = start;
	if (start > device->busy_until_ns)
		charge_gaps(idle, device, event, device->busy_until_ns, start);
	device->busy_until_ns = later_time(device->busy_until_ns, end);
	device->began_ns = op->start_ns;
}
