/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On which Python stack GPU work is put, where there are two to choose from: that of the call to backward() and that of
 * the forward op which made the node; and of a graph's operation that of its launch and that of the call which was
 * captured.
 */
#ifndef GPUTRACE_ANALYZE_ATTRIBUTION_H
#define GPUTRACE_ANALYZE_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

enum graph_attribution {
	GRAPHS_DEFAULT, /* lines: the captured one has it, and the total of both stacks; folded stacks: the launch's */
	GRAPHS_REPLAY,
	GRAPHS_CAPTURE, /* where that was seen and had Python frames */
};

/* All zero: the default. */
struct attribution {
	bool forward; /* work of backward nodes is put on forward ops, where they are known */
	enum graph_attribution graphs;
};

/* How the option for forward lines applies to a call. */
enum backward_place {
	BACKWARD_NOT,	     /* it is of no node, or of Python that a node runs */
	BACKWARD_ON_FORWARD, /* the stack of the forward op is known */
	BACKWARD_ON_CALLER,  /* it is not */
	BACKWARD_PLACES,
};

/* call: NULL: not seen. */
static inline enum backward_place backward_place(const struct model_call *call)
{
	if (!call)
		return BACKWARD_NOT;
	if (call->forward != NONE)
		return BACKWARD_ON_FORWARD;
	return call->node != NONE || call->stack_state == GPT_STACK_BACKWARD ? BACKWARD_ON_CALLER : BACKWARD_NOT;
}

/* The stack of a call; model.stacks, NONE. */
static inline uint32_t attributed_stack(const struct attribution *attribution, const struct model_call *call)
{
	return attribution->forward && call->forward != NONE ? call->forward : call->stack;
}

/* The call whose line an operation is put on; model.calls, NONE. */
static inline uint32_t attributed_call(const struct attribution *attribution, const struct model *model,
				       const struct model_gpu *op)
{
	return attribution->graphs == GRAPHS_REPLAY ? op->call : gpu_attributed_call(model, op);
}

#endif
