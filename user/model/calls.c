/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUDA calls of a log.
 *
 * A correlation id names one call of an address space for good: CUPTI counts them up in 32 bits, and a model
 * cannot hold as many calls as that, so ids that come round again are not looked for.  The first record of an
 * id is the outermost call, and is the one kept.
 */
#include "model/calls.h"

#include <string.h>

void calls_init(struct calls *calls, struct process_table *processes, struct stacks *stacks, uint64_t seed)
{
	memset(calls, 0, sizeof(*calls));
	calls->processes = processes;
	calls->stacks = stacks;
	lookup_init(&calls->by_corr, seed);
}

void calls_free(struct calls *calls)
{
	array_free(&calls->early_returns);
	lookup_free(&calls->by_corr);
}

uint32_t calls_find(const struct calls *calls, uint32_t space, uint32_t corr)
{
	uint32_t *call = corr ? lookup_get(&calls->by_corr, space, corr) : NULL;

	return call ? *call : NONE;
}

bool calls_name(struct calls *calls, uint32_t space, uint32_t corr, uint32_t call)
{
	return *lookup_put(&calls->by_corr, space, corr, call) == call;
}

static void set_stack(struct calls *calls, struct model_call *call, uint32_t space, const struct gpt_call *record)
{
	call->stack = stacks_find(calls->stacks, space, record->stack_id);
	call->native = stacks_find_native(calls->stacks, space, record->native_id);
	call->stack_state = record->stack_state <= GPT_STACK_AMBIGUOUS ? record->stack_state : GPT_STACK_UNREADABLE;
	if (call->stack == NONE && (call->stack_state == GPT_STACK_OK || call->stack_state == GPT_STACK_BACKWARD))
		call->stack_state = stacks_is_unreadable(calls->stacks, space, record->stack_id) ? GPT_STACK_UNREADABLE
												 : GPT_STACK_LOST;
}

/* A symbol probe and the callback inside the same call are microseconds apart, but for preemption. */
#define SAME_CALL_NS 1000000

/*
 * Symbol probes go once the agent is ready.  A thread that made no call in between has its last one from before still
 * open to the probes (bpf/call.bpf.c), and calls made by an interpreter all have the same place on the stack.
 */
static bool is_from_before(const struct calls *calls, const struct model_call *open, uint32_t process, uint64_t time_ns)
{
	uint64_t ready_ns = calls->processes->list.items[process].agent_ready_ns;

	return ready_ns && open->start_ns < ready_ns && time_ns > open->start_ns + SAME_CALL_NS;
}

/* The symbol probe saw this call first: it only learns its correlation id, and a stack where it had none. */
static bool merge_into(struct calls *calls, uint32_t index, uint32_t space, const struct gpt_call *record)
{
	struct model_call *call = &calls->list.items[index];

	/* another class: this call's own symbol record was lost, and the open one is an older call */
	if (call->corr || call->class != api_class(record->api))
		return false;
	call->corr = record->corr;
	if (call->stack == NONE && record->stack_id)
		set_stack(calls, call, space, record);
	return true;
}

static uint32_t keep_args(struct calls *calls, const struct gpt_call_args *record)
{
	struct model_args args = {.function = record->function,
				  .stream = record->stream,
				  .bytes = record->bytes,
				  .shared_bytes = record->shared_bytes,
				  .memcpy_kind = record->memcpy_kind};

	memcpy(args.grid, record->grid, sizeof(args.grid));
	memcpy(args.block, record->block, sizeof(args.block));
	array_push(&calls->args, args);
	return (uint32_t)calls->args.count - 1;
}

static void count_call(struct calls *calls, uint32_t thread, uint64_t time_ns)
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

bool calls_add(struct calls *calls, const struct gpt_record *record)
{
	const struct gpt_call *event = (const struct gpt_call *)record;
	bool with_args = record->type == GPT_CALL_ARGS;
	uint32_t process = process_table_find(calls->processes, event->pid);
	uint32_t space = calls->processes->states.items[process].space;
	uint32_t thread = process_table_find_thread(calls->processes, process, event->tid);
	uint32_t *open = &calls->processes->open_calls.items[thread], index = (uint32_t)calls->list.count, *known;
	struct model_call call = {.start_ns = event->time_ns,
				  .thread = thread,
				  .args = NONE,
				  .corr = event->corr,
				  .first_gpu = NONE,
				  .api = event->api,
				  .class = api_class(event->api),
				  .after_loss = record->flags & GPT_CALL_AFTER_LOSS};

	if (event->corr) {
		known = lookup_put(&calls->by_corr, space, event->corr, index);
		if (*known != index) /* the driver's call inside a runtime call that was seen already */
			return true;
		if ((record->flags & GPT_CALL_NESTED_IN_SYMBOL) && *open != NONE &&
		    !is_from_before(calls, &calls->list.items[*open], process, event->time_ns) &&
		    merge_into(calls, *open, space, event)) {
			*known = *open;
			return true;
		}
	}
	set_stack(calls, &call, space, event);
	if (with_args) {
		call.args = keep_args(calls, (const struct gpt_call_args *)record);
		*open = index;
	}
	array_push(&calls->list, call);
	count_call(calls, thread, event->time_ns);
	return true;
}

/* A call and the driver call inside it share an id: the return that names the same call wins, else the first. */
static bool set_return(struct model_call *call, const struct early_return *back)
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

bool calls_add_return(struct calls *calls, uint32_t space, const struct gpt_agent_api *api)
{
	uint32_t call = calls_find(calls, space, api->corr);
	struct early_return early = {.end_ns = api->end_ns,
				     .space = space,
				     .corr = api->corr,
				     .result = api->result,
				     .api = api->api,
				     .flags = api->flags};

	if (!api->corr)
		return false;
	if (call != NONE)
		return set_return(&calls->list.items[call], &early);
	array_push(&calls->early_returns, early);
	return true;
}

void calls_finish(struct calls *calls)
{
	for (size_t i = 0; i < calls->early_returns.count; i++) {
		const struct early_return *early = &calls->early_returns.items[i];
		uint32_t call = calls_find(calls, early->space, early->corr);

		if (call != NONE)
			set_return(&calls->list.items[call], early);
	}
}
