/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorts the marks of a part by time, and keeps a state for each process. */
#include "model/steps/step_backward.h"

#include <string.h>

#include "model/order.h"

enum backward_stack {
	STACK_NOT_LOOKED_AT,
	STACK_FORWARD,
	STACK_BACKWARD, /* the engine's function is on it */
};

void step_backwards_begin(struct step_backwards *all, struct step_candidates *candidates, bool by_calls,
			  const struct model *model)
{
	*all = (struct step_backwards){.candidates = candidates, .by_calls = by_calls};
	for (uint32_t i = 0; i < model->process_count; i++)
		array_push(&all->passes, ((struct backward_pass){.thread = NONE}));
	for (uint32_t i = 0; i < model->thread_count; i++) {
		array_push(&all->nodes_until, 0);
		if (model->threads[i].has_ops)
			all->passes.items[model->threads[i].process].has_ops = true;
	}
}

void step_backwards_free(struct step_backwards *all)
{
	array_free(&all->marks);
	array_free(&all->passes);
	array_free(&all->nodes_until);
	array_free(&all->stacks);
}

/* ---- by ops ------------------------------------------------------------------------------------------------------ */

void step_backwards_add_op(struct step_backwards *all, const struct model *model, const struct model_op *op)
{
	/* includes autograd::engine::evaluate_function around a node, which has the scope of other ops */
	bool is_backward = op->forward_thread != 0;
	uint64_t *nodes_until = &all->nodes_until.items[op->thread];
	struct backward_mark mark = {.start_ns = op->start_ns,
				     .end_ns = op->end_ns,
				     .of = is_backward ? op->forward_thread : op->torch_thread,
				     .process = model->threads[op->thread].process,
				     .thread = op->thread,
				     .is_backward = is_backward};

	/* ops inside a node belong to the pass, including a recomputed forward */
	if (op->start_ns < *nodes_until || !mark.of)
		return;
	if (is_backward)
		*nodes_until = op->end_ns;
	else if (op->scope != GPT_AGENT_OP_FUNCTION || op->sequence < 0)
		return;
	array_push(&all->marks, mark);
}

/* ---- by calls ---------------------------------------------------------------------------------------------------- */

/*
 * Whether torch.autograd calls this function for a pass: in torch/autograd/graph.py from 2.3 on, earlier in
 * __init__.py.
 */
static bool is_engine(const struct model_code *code)
{
	static const char init[] = "torch/autograd/__init__.py";
	size_t length = strlen(code->file);

	if (!strcmp(code->name, "_engine_run_backward"))
		return true;
	return !strcmp(code->name, "backward") && length >= sizeof(init) - 1 &&
	       !strcmp(code->file + length - (sizeof(init) - 1), init);
}

static enum backward_stack look_at(const struct model *model, const struct model_stack *stack)
{
	for (uint32_t i = 0; i < stack->depth; i++)
		if (is_engine(&model->codes[model->frames[model->stack_frames[stack->first + i]].code]))
			return STACK_BACKWARD;
	return STACK_FORWARD;
}

static bool is_in_pass(struct step_backwards *all, const struct model *model, uint32_t stack)
{
	while (all->stacks.count <= stack)
		array_push(&all->stacks, STACK_NOT_LOOKED_AT);
	if (all->stacks.items[stack] == STACK_NOT_LOOKED_AT)
		all->stacks.items[stack] = (uint8_t)look_at(model, &model->stacks[stack]);
	return all->stacks.items[stack] == STACK_BACKWARD;
}

void step_backwards_add_call(struct step_backwards *all, const struct model *model, const struct model_call *call)
{
	const struct model_stack *stack;
	struct backward_mark mark = {.start_ns = call->start_ns,
				     .end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns,
				     .process = model->threads[call->thread].process,
				     .thread = call->thread};

	if (!all->by_calls || all->passes.items[mark.process].has_ops || call->stack == NONE ||
	    !model->stacks[call->stack].depth)
		return;
	stack = &model->stacks[call->stack];
	mark.is_backward = call->stack_state == GPT_STACK_BACKWARD || is_in_pass(all, model, call->stack);
	mark.of = 1 + (uint64_t)model->frames[model->stack_frames[stack->first + stack->depth - 1]].code;
	array_push(&all->marks, mark);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static void end_pass(struct step_backwards *all, const struct model *model, struct backward_pass *pass)
{
	struct step_candidate *candidate = step_candidate_at(all->candidates, STEP_BACKWARD, model, pass->thread);

	candidate->from_stacks = !pass->has_ops;
	step_ends(all->candidates, candidate, pass->end_ns);
	pass->end_ns = 0;
}

static void take_mark(struct step_backwards *all, const struct model *model, const struct backward_mark *mark)
{
	struct backward_pass *pass = &all->passes.items[mark->process];

	if (mark->is_backward && !pass->of)
		pass->of = mark->of;
	if (mark->of != pass->of)
		return;
	if (mark->is_backward) {
		if (mark->end_ns > pass->end_ns)
			pass->end_ns = mark->end_ns;
		return;
	}
	/* only one thread counts: another one that cannot be distinguished ends no pass */
	if (pass->thread == NONE)
		pass->thread = mark->thread;
	if (mark->thread == pass->thread && pass->end_ns && mark->start_ns >= pass->end_ns)
		end_pass(all, model, pass);
}

void step_backwards_end_part(struct step_backwards *all, const struct model *model)
{
	AUTO_FREE struct order_key *keys = xmalloc(all->marks.count * sizeof(*keys));

	for (size_t i = 0; i < all->marks.count; i++)
		keys[i] = (struct order_key){.time_ns = all->marks.items[i].start_ns, .index = (uint32_t)i};
	order_sort(keys, all->marks.count);
	for (size_t i = 0; i < all->marks.count; i++)
		take_mark(all, model, &all->marks.items[keys[i].index]);
	all->marks.count = 0;
}

void step_backwards_finish(struct step_backwards *all, const struct model *model)
{
	for (size_t i = 0; i < all->passes.count; i++)
		if (all->passes.items[i].end_ns && all->passes.items[i].thread != NONE)
			end_pass(all, model, &all->passes.items[i]);
}
