/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Python stack that GPU work counts for, where there are two candidates: for a backward node the stack of the call
 * to backward() or of the forward op that made the node; for an operation of a graph the stack of the graph's launch or
 * of the captured call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

enum graph_attribution {
	GRAPHS_DEFAULT, /* lines: own time on the captured line, totals for both stacks; folded stacks: the launch's
			   stack */
	GRAPHS_REPLAY,
	GRAPHS_CAPTURE, /* the captured call's, where it was seen and had Python frames */
};

/* All zero is the default. */
struct attribution {
	bool forward; /* work of backward nodes counts for forward ops, where they are known */
	enum graph_attribution graphs;
};

/* How the option for forward lines applies to a call. */
enum backward_place {
	BACKWARD_NOT,	     /* the call is not of a backward node, nor of Python that a node runs */
	BACKWARD_ON_FORWARD, /* the stack of the forward op is known */
	BACKWARD_ON_CALLER,  /* the stack of the forward op is not known */
	BACKWARD_PLACES,
};

/* call: NULL if it was not seen. */
static inline enum backward_place backward_place(const struct model_call *call)
{
	if (!call)
		return BACKWARD_NOT;
	if (call->forward != NONE)
		return BACKWARD_ON_FORWARD;
	return call->node != NONE || call->stack_state == GPT_STACK_BACKWARD ? BACKWARD_ON_CALLER : BACKWARD_NOT;
}

/* In which pass a call was made, for the layer to which its work belongs; a number in keys of sums. */
enum call_pass {
	PASS_FORWARD,  /* or in none */
	PASS_BACKWARD, /* of a node whose forward op's stack is not known */
	PASS_IN_NODE,  /* by Python code that a node runs: a forward that is computed again; or its op is not known */
	PASS_OF_FORWARD_OP, /* of a node; and more than this: plus the forward op's stack (model.stacks) */
};

/* call: NULL if it was not seen. */
static inline uint32_t call_pass(const struct model *model, const struct model_call *call)
{
	uint32_t forward = call ? model_forward_of_layer(model, call) : NONE;

	if (forward != NONE)
		return PASS_OF_FORWARD_OP + forward;
	if (backward_place(call) == BACKWARD_ON_CALLER)
		return PASS_BACKWARD;
	return call && call->in_node ? PASS_IN_NODE : PASS_FORWARD;
}

/* The same of memory of PyTorch; forward: model_torch_memory.forward.  A node may run Python code that calls modules.
 */
static inline uint32_t memory_pass(const struct model *model, uint32_t stack_index, uint32_t forward)
{
	const struct model_stack *stack = model_known_stack(model, stack_index);

	if (forward == NONE || (stack && (stack->module_count || stack->module_missing)))
		return PASS_FORWARD;
	return forward == FORWARD_UNKNOWN ? PASS_BACKWARD : PASS_OF_FORWARD_OP + forward;
}

/* The stack that a call counts for; model.stacks, NONE. */
static inline uint32_t attributed_stack(const struct attribution *attribution, const struct model_call *call)
{
	return attribution->forward && call->forward != NONE ? call->forward : call->stack;
}

/* The call on whose line an operation counts; model.calls, NONE. */
static inline uint32_t attributed_call(const struct attribution *attribution, const struct model *model,
				       const struct model_gpu *op)
{
	return attribution->graphs == GRAPHS_REPLAY ? op->call : gpu_attributed_call(model, op);
}

/* The same of calls; NULL: not seen. */
static inline const struct model_call *attributed_of(const struct attribution *attribution,
						     const struct model_call *launch, const struct model_call *captured)
{
	bool is_captured = attribution->graphs != GRAPHS_REPLAY && captured && captured->stack != NONE;

	return is_captured ? captured : launch;
}
