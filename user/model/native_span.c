/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frames of a native stack between Python and the launch, without the CUDA call and its inner frames (the callback
 * into gputrace's agent), and without the interpreter and its callers.  The frame of the CUDA call is missing if its
 * library keeps no frame pointers; the agent's frames are left out in any case.
 */
#include "model/model.h"

#include <string.h>

static bool is_interpreter(const char *name)
{
	/* the eval loop and the ways into it, CPython 3.8 to 3.13 (Python/ceval.c, Objects/call.c) */
	return !strncmp(name, "_PyEval_", 8) || !strncmp(name, "PyEval_", 7) || !strncmp(name, "_PyFunction_", 12);
}

/* Functions of the agent, with and without a symbol in its file. */
static bool is_agent(const char *name)
{
	return !strncmp(name, "gputrace_agent_", 15) || !strcmp(name, "[libgputrace-agent.so]");
}

void model_native_span(const struct model *model, const struct model_call *call, uint32_t *first, uint32_t *end)
{
	const struct model_native *native = &model->natives[call->native];
	const uint32_t *frames = &model->native_frames[native->first];
	const char *api = api_name(call->api);

	*first = 0;
	*end = native->depth;
	for (uint32_t i = 0; i < native->depth; i++)
		if (!strcmp(model->strings[frames[i]], api) || is_agent(model->strings[frames[i]]))
			*first = i + 1;
	for (uint32_t i = *first; i < *end; i++)
		if (is_interpreter(model->strings[frames[i]]))
			*end = i;
}
