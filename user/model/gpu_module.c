/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which module of PyTorch GPU work belongs to. */
#include "model/model.h"

static uint32_t stack_of(const struct model *model, const struct model_call *call)
{
	uint32_t forward = model_forward_of_layer(model, call);

	return forward != NONE ? forward : call->stack;
}

const struct model_module *gpu_module(const struct model *model, const struct model_gpu *op)
{
	uint32_t call = gpu_attributed_call(model, op), stack;
	const struct model_module *module;

	if (call == NONE)
		return NULL;
	stack = stack_of(model, &model->calls[call]);
	module = model_innermost_module(model, stack);
	if (module || call == op->call || op->call == NONE || (stack != NONE && model->stacks[stack].module_missing))
		return module;
	return model_innermost_module(model, model->calls[op->call].stack);
}
