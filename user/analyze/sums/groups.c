/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/groups.h"

void group_add_kernel(struct group *kernels, const struct gpu_event *event)
{
	if (event->op->kind == MODEL_KERNEL)
		group_add_gpu(kernels, (const uint32_t[2]){event->op->label}, event->caller, event->op);
	else
		kernels->ns += gpu_ns(event->op);
}

void group_add_api_time(struct group *times, const struct call_event *event)
{
	const struct model_call *call = event->call;
	bool timed = call->end_ns >= call->start_ns && call->end_ns;

	group_add(times, (const uint32_t[2]){call->api}, event->caller, NONE, timed ? call->end_ns - call->start_ns : 0,
		  timed);
}

void group_add_jit(struct group *jit, const struct jit_event *event)
{
	const struct model_jit *one = event->jit;

	group_add(jit, (const uint32_t[2]){one->operation, one->entry}, event->caller, NONE,
		  one->end_ns - one->start_ns, 0);
}

void group_add_failure(struct group *failures, const struct call_event *event)
{
	const struct model_call *call = event->call;

	if (call_failed(call))
		group_add(failures, (const uint32_t[2]){(uint32_t)call->result, call->api}, event->caller, NONE, 0,
			  call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH);
}
