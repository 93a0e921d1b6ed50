/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUDA calls of a log.
 *
 * A correlation id permanently names one call of an address space: CUPTI's 32-bit counter wraps only after more calls
 * than a model can hold, so reused ids are not handled.  The first call with an id is the outermost one, and is the one
 * kept.
 */
#include "model/tables/calls.h"

#include <stdlib.h>
#include <string.h>

#include "model/order.h"
#include "model/lateness.h"

void calls_free(struct calls *calls)
{
	array_free(&calls->early_returns);
	corr_index_free(&calls->by_corr);
	free(calls->places);
}

uint32_t calls_find(struct calls *calls, uint32_t epoch, uint32_t corr)
{
	return corr ? corr_index_get(&calls->by_corr, epoch, corr) : NONE;
}

bool calls_name(struct calls *calls, uint32_t epoch, uint32_t corr, uint32_t call)
{
	return *corr_index_put(&calls->by_corr, epoch, corr, call) == call;
}

static void set_stack(struct calls *calls, struct model_call *call, uint32_t epoch, const struct gpt_call *from)
{
	call->stack = stacks_find(calls->stacks, epoch, from->stack_id);
	call->native = stacks_find_native(calls->stacks, epoch, from->native_id);
	call->stack_state = stack_state_known(from->stack_state);
	if (call->stack == NONE && (call->stack_state == GPT_STACK_OK || call->stack_state == GPT_STACK_BACKWARD))
		call->stack_state = stacks_is_unreadable(calls->stacks, epoch, from->stack_id) ? GPT_STACK_UNREADABLE
											       : GPT_STACK_LOST;
}

static uint32_t enclosing_of(struct calls *calls, struct new_enclosing *enclosing)
{
	if (!enclosing)
		return NONE;
	if (enclosing->string == NONE)
		enclosing->string = string_intern(calls->strings, enclosing->label.bytes, enclosing->label.size);
	return enclosing->string;
}

/* A symbol probe and the callback inside the same call are microseconds apart, unless the thread is preempted. */
#define SAME_CALL_NS 1000000

/*
 * Symbol probes are removed once the agent is ready.  For a thread that made no call in between, the probes still
 * consider its last earlier call open (bpf/call.bpf.c), and all calls of an interpreter have the same stack address.
 */
static bool is_from_before(const struct calls *calls, const struct model_call *open, uint32_t process, uint64_t time_ns)
{
	uint64_t ready_ns = calls->processes->list.items[process].agent_ready_ns;

	return ready_ns && open->start_ns < ready_ns && time_ns > open->start_ns + SAME_CALL_NS;
}

/* A longer call may have been handed over already. */
static bool is_surely_that(const struct model_call *open, const struct gpt_call *event)
{
	return event->hdr.flags & GPT_CALL_SURELY_NESTED && event->time_ns - open->start_ns < LATENESS_DEFER_NS;
}

/* The symbol probe saw this call first: only adds its correlation id, and a stack if it had none. */
static bool merge_into(struct calls *calls, uint32_t index, uint32_t epoch, const struct gpt_call *from)
{
	struct model_call *call = &calls->list.items[index];

	/* another class: this call's own symbol record was lost, and the open one is an older call */
	if (call->corr || call->class != api_class(from->api))
		return false;
	call->corr = from->corr;
	if (call->stack == NONE && from->stack_id)
		set_stack(calls, call, epoch, from);
	return true;
}

void calls_count(struct calls *calls, uint32_t thread, uint64_t time_ns)
{
	struct model_thread *caller = &calls->processes->threads.items[thread];
	struct model_process *process = &calls->processes->list.items[caller->process];

	caller->calls++;
	process->calls++;
	if (process->calls == 1 || time_ns < process->first_call_ns)
		process->first_call_ns = time_ns;
	if (time_ns > process->last_call_ns)
		process->last_call_ns = time_ns;
}

/* Whether the call is already known, or is merged into a known one; `index` is its index if not. */
static bool is_known(struct calls *calls, const struct gpt_call *event, struct process_image caller, uint32_t open,
		     uint32_t index)
{
	uint32_t *known = corr_index_put(&calls->by_corr, caller.epoch, event->corr, index);

	if (*known != index) /* the driver call inside a runtime call seen before */
		return true;
	if (!(event->hdr.flags & GPT_CALL_NESTED_IN_SYMBOL) || open == NONE ||
	    (!is_surely_that(&calls->list.items[open], event) &&
	     is_from_before(calls, &calls->list.items[open], caller.process, event->time_ns)) ||
	    !merge_into(calls, open, caller.epoch, event))
		return false;
	*known = open;
	return true;
}

static struct model_args args_of(const struct gpt_call_args *call)
{
	struct model_args args = {.function = call->function,
				  .stream = call->stream,
				  .bytes = call->bytes,
				  .shared_bytes = call->shared_bytes,
				  .memcpy_kind = call->memcpy_kind};

	memcpy(args.grid, call->grid, sizeof(args.grid));
	memcpy(args.block, call->block, sizeof(args.block));
	return args;
}

void calls_add(struct calls *calls, const struct gpt_call *event, struct new_enclosing *enclosing)
{
	struct process_image caller = process_table_image(calls->processes, event->pid);
	uint32_t thread = process_table_find_thread(calls->processes, caller.process, event->tid);
	uint32_t *open = &calls->processes->open_calls.items[thread], index = (uint32_t)calls->list.count;
	struct model_call *call;

	if (event->corr && is_known(calls, event, caller, *open, index))
		return;
	calls->list.items = array_reserve(calls->list.items, sizeof(*call), index, 1, &calls->list.capacity);
	call = &calls->list.items[calls->list.count++];
	*call = (struct model_call){.start_ns = event->time_ns,
				    .thread = thread,
				    .node = NONE,
				    .forward = NONE,
				    .around = NONE,
				    .args = NONE,
				    .enclosing = enclosing_of(calls, enclosing),
				    .corr = event->corr,
				    .first_gpu = NONE,
				    .api = event->api,
				    .class = api_class(event->api),
				    .after_loss = event->hdr.flags & GPT_CALL_AFTER_LOSS};
	set_stack(calls, call, caller.epoch, event);
	if (event->hdr.type == GPT_CALL_ARGS) {
		call->args = (uint32_t)calls->args.count;
		array_push(&calls->args, args_of((const struct gpt_call_args *)event));
		*open = index;
	}
	calls_count(calls, thread, event->time_ns);
}

/* A call and the driver call inside it share an id: the return that names the same call wins, else the first. */
static bool set_return(struct model_call *call, const struct gpt_agent_api *back)
{
	if (back->end_ns < call->start_ns)
		return false;
	if (!call->end_ns || back->api == call->api) {
		call->end_ns = back->end_ns;
		call->result = back->result;
		call->captured = back->flags & GPT_AGENT_API_CAPTURED;
	}
	return true;
}

bool calls_add_return(struct calls *calls, uint32_t epoch, const struct gpt_agent_api *back)
{
	uint32_t call = calls_find(calls, epoch, back->corr);

	if (!back->corr)
		return false;
	if (call != NONE)
		return set_return(&calls->list.items[call], back);
	array_push(&calls->early_returns, ((struct early_return){.back = *back, .epoch = epoch}));
	return true;
}

void calls_finish(struct calls *calls)
{
	size_t waiting = 0;

	for (size_t i = 0; i < calls->early_returns.count; i++) {
		const struct early_return early = calls->early_returns.items[i];
		uint32_t call = calls_find(calls, early.epoch, early.back.corr);

		if (call != NONE)
			set_return(&calls->list.items[call], &early.back);
		else
			calls->early_returns.items[waiting++] = early;
	}
	calls->early_returns.count = waiting;
}

/*
 * Concurrent threads' calls are reported slightly out of order: a late one moves back by a few places.  Beyond this
 * distance all are sorted.
 */
#define BACK_MAX 64

/* The place of a call among the preceding ones, which are sorted. */
static size_t place_before(const struct model_call *list, size_t at)
{
	size_t place = at;

	while (place > 0 && at - place <= BACK_MAX && list[place - 1].start_ns > list[at].start_ns)
		place--;
	return place;
}

static void put_back(struct model_call *list, uint32_t *was, size_t at, size_t place)
{
	struct model_call call = list[at];
	uint32_t old = was[at];

	memmove(list + place + 1, list + place, (at - place) * sizeof(*list));
	memmove(was + place + 1, was + place, (at - place) * sizeof(*was));
	list[place] = call;
	was[place] = old;
}

/* Sorts all calls; the one at was[i] moves to i. */
static void sort_all(struct model_call *list, uint32_t *was, size_t count)
{
	AUTO_FREE struct order_key *keys = xmalloc(count * sizeof(*keys));
	AUTO_FREE uint32_t *before = xmalloc(count * sizeof(*before));

	memcpy(before, was, count * sizeof(*before));
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct order_key){.time_ns = list[i].start_ns, .index = (uint32_t)i};
	order_sort(keys, count);
	for (size_t i = 0; i < count; i++)
		was[i] = before[keys[i].index];
	order_apply(keys, count, list, sizeof(*list));
}

/* Sorts from `at` on; the preceding calls are sorted. */
static void sort_from(struct model_call *list, uint32_t *was, size_t at, size_t count)
{
	for (; at < count; at++) {
		size_t place = place_before(list, at);

		if (at - place > BACK_MAX) {
			sort_all(list, was, count);
			return;
		}
		if (place < at)
			put_back(list, was, at, place);
	}
}

void calls_sort(struct calls *calls)
{
	size_t complete = calls->complete, count = calls->list.count - complete, in_order = 0;
	struct model_call *list = count ? calls->list.items + complete : NULL;
	uint32_t *was;

	while (in_order < count && (!in_order || list[in_order - 1].start_ns <= list[in_order].start_ns))
		in_order++;
	if (in_order < count) {
		was = xmalloc(count * sizeof(*was));
		for (size_t i = 0; i < count; i++)
			was[i] = (uint32_t)i;
		sort_from(list, was, in_order, count);
		calls->places = xmalloc((complete + count) * sizeof(*calls->places));
		for (size_t i = 0; i < complete; i++)
			calls->places[i] = (uint32_t)i;
		for (size_t i = 0; i < count; i++)
			calls->places[complete + was[i]] = (uint32_t)(complete + i);
		free(was);
	}
	for (size_t i = 0; i < count; i++)
		list[i].number = calls->handed_over + i;
}

void calls_move(struct calls *calls, const uint32_t *places)
{
	uint32_t *open = calls->processes->open_calls.items;

	corr_index_move(&calls->by_corr, places);
	for (size_t i = 0; i < calls->processes->open_calls.count; i++)
		if (open[i] != NONE)
			open[i] = places[open[i]];
}

uint32_t calls_place(struct calls *calls, uint32_t epoch, uint32_t corr)
{
	return calls_place_of(calls, calls_find(calls, epoch, corr));
}

uint64_t calls_start(const struct calls *calls, uint32_t place)
{
	return place != NONE ? calls->list.items[place].start_ns : 0;
}
