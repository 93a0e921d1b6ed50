/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of threads: ops, calls, events of PyTorch's allocators, with their texts and stacks.  A call gives the process
 * of GPU work with the same correlation id.
 */
#include "input/rows/row_enclosing.h"
#include "input/rows/row_feed_state.h"
#include "input/rows/row_owners.h"
#include "input/rows/row_stacks.h"

/* Whether a text has not been passed on this way in this pass; marks it as passed on. */
static bool is_new(struct row_feed *feed, uint32_t text, enum given_as as)
{
	bool was_given;

	if (text >= feed->file->rows.texts.count)
		return false;
	was_given = feed->given[text] & as;
	feed->given[text] |= (uint8_t)as;
	return !was_given;
}

void row_feed_put_text(struct row_feed *feed, struct builder *builder, struct process_image program, uint32_t text,
		       enum given_as as)
{
	if (!feed->owners && !is_new(feed, text, as))
		return;
	builder_wait(builder);
	if (as == GIVEN_OP)
		builder_add_op_text(builder, program, row_feed_key(text), row_feed_text(feed, text));
	else
		builder_add_name(builder, program, row_feed_key(text), row_feed_text(feed, text), (struct text){0});
}

struct process_image row_feed_image(const struct row_feed *feed, struct builder *builder, uint32_t pid)
{
	return builder_process_image(builder, pid ? pid : feed->main_pid);
}

/* own: 1 + a stack of the file, or 0.  The stack of open functions wins, unless the file prefers its own. */
static uint64_t stack_of(struct row_feed *feed, struct builder *builder, const struct row *row, uint32_t own)
{
	uint64_t stack = own && feed->file->prefers_stacks ? 0 : row_stacks_find(feed->stacks, builder, row);

	return stack || !own ? stack : row_stacks_own(feed->stacks, builder, row->pid, own - 1);
}

static uint64_t stack_of_op(struct row_feed *feed, struct builder *builder, const struct row_op *op)
{
	uint64_t stack;

	if (op->scope == GPT_AGENT_OP_USER_SCOPE && !op->stack)
		return row_stacks_around(feed->stacks, builder, &op->row);
	stack = stack_of(feed, builder, &op->row, op->stack);
	return stack || op->scope != GPT_AGENT_OP_BACKWARD_FUNCTION
		       ? stack
		       : row_stacks_backward(feed->stacks, builder, &op->row);
}

/* Adds a sampled stack; returns its number, 0: no stack. */
static uint64_t add_sampled_stack(struct row_feed *feed, struct builder *builder, const struct row *row,
				  enum gpt_stack_of what, uint64_t stack)
{
	struct gpt_stack_at sampled = {.time_ns = row->start_ns, .stack_id = stack, .pid = row->pid, .what = what};

	if (!stack)
		return 0;
	sampled.number = ++feed->sampled;
	builder_add_stack_at(builder, NULL, &sampled);
	return sampled.number;
}

/* PyTorch's number of a thread, 0: not known. */
static uint64_t torch_thread_of(const struct row_feed *feed, const struct row *row)
{
	const uint32_t *number = lookup_get(&feed->file->torch_threads, foreign_epoch(row->pid), row->tid);

	return number ? *number : 0;
}

/* Keys belong to a process image. */
static uint32_t inputs_key(struct row_feed *feed, struct builder *builder, struct process_image program, uint32_t text)
{
	uint32_t *sampled;

	if (text >= feed->file->rows.texts.count)
		return 0;
	sampled = lookup_put(&feed->inputs, program.process + 1, text, NONE);
	if (*sampled == NONE) {
		builder_wait(builder);
		*sampled = builder_add_op_inputs(builder, program, row_feed_key(text) | GPT_AGENT_NAME_OF_INPUTS,
						 row_feed_text(feed, text));
	}
	return *sampled ? row_feed_key(text) | GPT_AGENT_NAME_OF_INPUTS : 0;
}

/* A node without numbers, such as AccumulateGrad, is recognised by the op around it. */
static bool is_node(struct row_feed *feed, const struct row_op *op)
{
	const struct row *row = &op->row;
	const uint32_t *thread = lookup_get(&feed->file->thread_lookup, foreign_epoch(row->pid), row->tid);
	struct evaluation *latest = thread ? &feed->evaluations[*thread] : NULL;
	bool found;

	if (!latest || !feed->file->threads.items[*thread].has_nodes)
		return false;
	if (op->around != ROW_NO_TEXT)
		*latest = (struct evaluation){.end_ns = row->end_ns, .node = op->around};
	found = op->around == ROW_NO_TEXT && row->start_ns < latest->end_ns && row->text == latest->node;
	if (found)
		latest->node = ROW_NO_TEXT;
	return found && op->scope == GPT_AGENT_OP_FUNCTION;
}

void row_feed_op(struct row_feed *feed, struct builder *builder, const struct row_op *op)
{
	const struct row *row = &op->row;
	struct process_image program = builder_process_image(builder, row->pid);
	uint64_t stack = stack_of_op(feed, builder, op);
	struct sender sender = row_feed_sender(program);
	struct gpt_agent_op event = {.hdr = {.size = sizeof(event)},
				     .start_ns = row->start_ns,
				     .end_ns = row->end_ns,
				     .sequence = op->sequence,
				     .thread = torch_thread_of(feed, row),
				     .forward_thread = op->forward_thread,
				     .tid = row->tid,
				     .name = row_feed_key(row->text),
				     .collective_sequence = op->collective_sequence,
				     .scope = op->scope,
				     .flags = op->unfinished ? GPT_AGENT_OP_OPEN : 0};

	if (op->may_be_step && feed->file->drops_steps)
		return;
	row_enclosing_add_op(feed->enclosing, op);
	if (is_node(feed, op))
		event.scope = GPT_AGENT_OP_BACKWARD_FUNCTION;
	row_feed_put_text(feed, builder, program, row->text, GIVEN_OP);
	if (op->collective != ROW_NO_TEXT) {
		event.collective = row_feed_key(op->collective);
		row_feed_put_text(feed, builder, program, op->collective, GIVEN_OP);
	}
	event.inputs = inputs_key(feed, builder, program, op->inputs);
	event.stack = add_sampled_stack(feed, builder, row, GPT_STACK_OF_OP, stack);
	if (!builder_add_agent_op(builder, &sender, &event))
		builder_count_bad(builder, BAD_VALUE, 1);
}

/* Reports which nodes of a graph the call became, before the graph runs. */
static void feed_nodes(struct row_feed *feed, struct builder *builder, const struct row *row)
{
	const struct foreign_file *file = feed->file;
	struct sender sender = row_feed_sender(builder_process_image(builder, row->pid));
	const uint32_t *first;

	if (!file->nodes.count || !row->corr)
		return;
	first = lookup_get(&file->node_calls, foreign_epoch(row->pid), row->corr);
	if (!first)
		first = lookup_get(&file->node_calls, foreign_epoch(0), row->corr);
	for (uint32_t node = first ? *first : NONE; node != NONE; node = file->nodes.items[node].next)
		builder_add_agent_graph_node(
			builder, &sender,
			&(struct gpt_agent_graph_node){.node = file->nodes.items[node].node, .corr = row->corr});
}

static bool is_captured(const struct row_feed *feed, const struct row *row, uint16_t api)
{
	return class_is_work(api_class(api)) && owned_spans_have(&feed->file->captures, row->pid, row->start_ns);
}

void row_feed_call(struct row_feed *feed, struct builder *builder, const struct row_call *call)
{
	const struct row *row = &call->row;
	uint64_t stack = stack_of(feed, builder, row, call->stack);
	uint64_t backward = stack ? 0 : row_stacks_backward(feed->stacks, builder, row);
	struct gpt_call event = {.time_ns = row->start_ns,
				 .stack_id = stack | backward,
				 .pid = row->pid,
				 .tid = row->tid,
				 .corr = row->corr,
				 .api = call->api,
				 .stack_state = stack && !call->inherited ? GPT_STACK_OK
						: stack || backward	  ? GPT_STACK_BACKWARD
									  : GPT_STACK_NOT_RECORDED};
	struct gpt_agent_api back = {
		.start_ns = row->start_ns,
		.end_ns = row->end_ns,
		.corr = row->corr,
		.result = call->result,
		.tid = row->tid,
		.api = call->api,
		.flags = call->captured || is_captured(feed, row, call->api) ? GPT_AGENT_API_CAPTURED : 0};
	struct sender sender;

	row_owners_add_call(feed->owners, row, call->api);
	builder_add_enclosed_call(builder, &event, stack || backward ? NULL : row_enclosing_find(feed->enclosing, row));
	feed_nodes(feed, builder, row);
	sender = row_feed_sender(builder_process_image(builder, row->pid));
	if (row->corr && !call->unfinished && !builder_add_agent_api(builder, &sender, &back))
		builder_count_bad(builder, BAD_VALUE, 1);
}

bool row_feed_memory(struct row_feed *feed, struct builder *builder, const struct row_memory *memory)
{
	struct gpt_agent_torch_memory event = memory->memory;
	struct sender sender;
	uint64_t stack;

	event.time_ns = memory->row.start_ns;
	event.tid = memory->row.tid;
	stack = stack_of(feed, builder, &memory->row, memory->stack);
	if (!stack)
		stack = row_stacks_backward(feed->stacks, builder, &memory->row);
	event.stack = add_sampled_stack(feed, builder, &memory->row, GPT_STACK_OF_MEMORY, stack);
	sender = row_feed_sender(row_feed_image(feed, builder, memory->row.pid));
	return builder_add_agent_torch_memory(builder, &sender, &event);
}
