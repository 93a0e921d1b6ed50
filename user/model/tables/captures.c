/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture lasts from the end of the call that begins it to the start of the call that ends it; see captures.h. */
#include "model/tables/captures.h"

enum step {
	NEITHER,
	BEGINS,
	ENDS,
};

static enum step step_of(uint16_t api)
{
	static const struct {
		uint16_t api, step;
	} steps[] = {
#define CALL(domain, symbol, what, cbid, twin_cbid)                                                                    \
	{GPT_API(GPT_DOMAIN_##domain, cbid), what}, {GPT_API(GPT_DOMAIN_##domain, twin_cbid), what},
		GPT_CUDA_CAPTURE_CALLS(CALL)
#undef CALL
	};

	return value_of_first(sizeof(steps) / sizeof(steps[0]), i, steps[i].api == api, steps[i].step, NEITHER);
}

uint64_t captures_end_thread(struct captures *captures, uint32_t process, uint64_t until_ns)
{
	struct owned_span capture = {.owner = process, .start_ns = captures->since_ns, .end_ns = until_ns};

	/* a capture that never ended has no known launches */
	if (captures->since_ns && until_ns != UINT64_MAX)
		array_push(&captures->list, capture);
	return captures->since_ns;
}

void captures_note(struct captures *captures, const struct api_activity *activity)
{
	struct owned_span capture = {
		.owner = activity->process, .start_ns = captures->since_ns, .end_ns = activity->start_ns};

	switch (step_of(activity->api)) {
	case BEGINS:
		captures->since_ns = activity->result ? 0 : activity->end_ns;
		break;
	case ENDS:
		if (captures->since_ns)
			array_push(&captures->list, capture);
		captures->since_ns = 0;
		break;
	case NEITHER:
		break;
	}
}

void captures_mark(struct captures *captures, const struct process_table *processes, struct calls *calls)
{
	if (!captures->list.count)
		return;
	owned_spans_merge(&captures->list);
	array_each (call, &calls->list) {
		if ((call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH) && call->corr && call->end_ns &&
		    owned_spans_have(&captures->list, processes->threads.items[call->thread].process, call->start_ns))
			call->captured = true;
	}
}
