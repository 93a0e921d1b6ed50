/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The properties of a row are packed into the keys of two tallies. */
#include "analyze/sums/stack_sums.h"

#include "analyze/events/operation_pack.h"

#define BACKWARD (NONE - 1)  /* in place of a thread: the stack is of the call to backward() */
#define ENCLOSED (NONE - 2)  /* in place of a thread: in place of the stack is a string, the range or op around it */
#define NOT_KNOWN (1u << 30) /* with a thread: there may be frames, but they are not known */
#define NODE (1u << 31)	     /* with a string: the stack is of the forward op that made this node */

#define CAPTURED (NONE - 1) /* in place of the captured frame: the stack is of the captured call */

void stack_sums_init(struct stack_sums *all, const struct model *model, const struct attribution *attribution)
{
	*all = (struct stack_sums){.model = model, .attribution = attribution};
}

void stack_sums_free(struct stack_sums *all)
{
	tally_free(&all->places);
	tally_free(&all->sums);
}

/* The thread under which a call without a stack is put. */
static uint32_t thread_place(uint32_t thread, uint8_t stack_state)
{
	bool none = stack_state == GPT_STACK_NO_PYTHON || stack_state == GPT_STACK_NO_THREAD ||
		    stack_state == GPT_STACK_EMPTY;

	return none ? thread : thread | NOT_KNOWN;
}

/* The innermost frame that the captured call of a graph's node counts for; model.frames, NONE. */
static uint32_t captured_frame(const struct stack_sums *all, const struct model_call *captured)
{
	const struct model *model = all->model;
	uint32_t stack = captured ? attributed_stack(all->attribution, captured) : NONE;

	return stack == NONE || !model->stacks[stack].depth ? NONE : model->stack_frames[model->stacks[stack].first];
}

/* op: NULL if the operation is not known; captured: a frame of model.frames, CAPTURED, NONE. */
static void add_operation(struct stack_sums *all, struct tally_key place, uint32_t api, const struct model_gpu *op,
			  uint32_t captured, uint64_t value)
{
	struct tally_key key = {{0, api, OPERATION_NONE, NONE}};
	struct tally_entry *sum;

	if (op) {
		key.part[2] = operation_pack_label(op);
		key.part[3] = captured;
	}
	key.part[0] = tally_number(&all->places, place);
	sum = tally_at(&all->sums, key);
	sum->ns += value;
	sum->count++;
}

static struct tally_key place_of(const struct stack_sums *all, const struct model_call *call)
{
	const struct model *model = all->model;
	uint32_t stack = attributed_stack(all->attribution, call), from = NONE;

	if (all->attribution->forward && call->forward != NONE)
		from = NODE | call->node;
	else if (call->stack_state == GPT_STACK_BACKWARD)
		from = BACKWARD;
	else if (stack == NONE && call->enclosing != NONE)
		from = ENCLOSED, stack = call->enclosing;
	else if (stack == NONE)
		from = thread_place(call->thread, call->stack_state);
	return (struct tally_key){{model->threads[call->thread].process, stack, from, call->native}};
}

/* Whether an operation counts for the captured call, which then has a stack. */
static bool is_on_captured(const struct stack_sums *all, const struct gpu_event *event)
{
	return all->attribution->graphs == GRAPHS_CAPTURE && event->captured && event->attributed == event->captured;
}

void stack_sums_add_gpu(struct stack_sums *all, const struct gpu_event *event)
{
	struct tally_key unseen = {{event->op->process, NONE, NONE, NONE}};
	bool on_captured = is_on_captured(all, event);
	const struct model_call *call = on_captured ? event->captured : event->launch;
	uint32_t captured = on_captured ? CAPTURED : captured_frame(all, event->captured), api;
	uint64_t ns = gpu_ns(event->op);

	if (!ns)
		return;
	if (event->launch)
		api = event->launch->api;
	else
		api = gpu_is_migration(event->op) ? STACK_CALL_DRIVER
		      : event->op->before	  ? STACK_CALL_BEFORE
						  : STACK_CALL_UNSEEN;
	add_operation(all, call ? place_of(all, call) : unseen, api, event->op, captured, ns);
}

void stack_sums_add_call(struct stack_sums *all, const struct call_event *event)
{
	if (call_is_work(event->call))
		add_operation(all, place_of(all, event->call), event->call->api, event->operation,
			      captured_frame(all, event->captured), 1);
}

void stack_sums_add_sample(struct stack_sums *all, const struct sample_event *event)
{
	const struct model_sample *sample = event->sample;
	uint32_t from = NONE;

	if (sample->stack_state == GPT_STACK_BACKWARD)
		from = BACKWARD;
	else if (sample->stack == NONE)
		from = thread_place(sample->thread, sample->stack_state);
	add_operation(all, (struct tally_key){{event->process, sample->stack, from, sample->native}}, STACK_CALL_NONE,
		      NULL, NONE, sample_ns(sample));
}

struct stack_row stack_sums_row(const struct stack_sums *all, size_t index)
{
	const struct tally_entry *sum = &all->sums.entries[index];
	const uint32_t *place = all->places.entries[sum->key.part[0]].key.part;
	uint32_t captured = sum->key.part[3], from = place[2];
	struct stack_row row = {.process = place[0],
				.stack = place[1],
				.thread = NONE,
				.enclosing = NONE,
				.node = NONE,
				.native = place[3],
				.api = sum->key.part[1],
				.captured_frame = captured == CAPTURED ? NONE : captured,
				.is_captured = captured == CAPTURED,
				.value = sum->ns,
				.count = sum->count};

	if (from == BACKWARD) {
		row.is_backward = true;
	} else if (from == ENCLOSED) {
		row.enclosing = place[1];
		row.stack = NONE;
	} else if (from != NONE && from & NODE) {
		row.is_backward = true;
		row.node = from & ~NODE;
	} else if (from != NONE) {
		row.thread = from & ~NOT_KNOWN;
		row.is_unknown = from & NOT_KNOWN;
	}
	row.has_operation = sum->key.part[2] != OPERATION_NONE;
	row.operation = operation_unpack(sum->key.part[2]);
	return row;
}
