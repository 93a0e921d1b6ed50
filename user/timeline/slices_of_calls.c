/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls, and the starts of arrows to their GPU work. */
#include "timeline/arrows.h"
#include "timeline/rows/calls_of_threads.h"
#include "timeline/frames.h"
#include "timeline/ids.h"
#include "timeline/kinds.h"

/* Adds the call's recorded arguments. */
static void draft_given(struct draft *draft, const struct model_args *args)
{
	if (args->block[0]) {
		draft_triple(draft, TIMELINE_ARG_LAUNCH_GRID, args->grid);
		draft_triple(draft, TIMELINE_ARG_LAUNCH_BLOCK, args->block);
		draft_number(draft, TIMELINE_ARG_LAUNCH_SHARED, args->shared_bytes);
	}
	if (args->bytes)
		draft_number(draft, TIMELINE_ARG_LAUNCH_BYTES, args->bytes);
	if (args->stream)
		draft_number(draft, TIMELINE_ARG_LAUNCH_STREAM, args->stream);
}

static void draft_arrows(struct visit *visit, struct draft *draft, const struct model_call *call)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;

	visit->flows.count = 0;
	for (uint32_t op = call->first_gpu; op != NONE; op = model->gpu[op].next)
		if (is_in_part(&model->gpu_in_part, model->gpu_count, op) && has_arrow(timeline, op))
			array_push(&visit->flows, flow_to_operation(timeline->ids, model, op));
	draft->slice.flows_out = visit->flows.items;
	draft->slice.flow_out_count = (uint32_t)visit->flows.count;
}

static void visit_call(struct visit *visit, uint32_t index)
{
	const struct timeline *timeline = visit->timeline;
	const struct model_call *call = &timeline->model->calls[index];
	bool of_driver = api_is_of_driver(call->api);
	struct timeline_native_stack native;
	struct timeline_stack stack;
	struct timeline_frame forward;
	struct draft draft;

	draft_begin(&draft, of_driver ? TIMELINE_DRIVER_CALL : TIMELINE_RUNTIME_CALL,
		    timeline->thread_tracks[call->thread], call->start_ns,
		    call_end(timeline->model, timeline->calls, index));
	draft.slice.name.text = api_name(call->api);
	draft.slice.op = call->op;
	if (!api_is_named(call->api))
		draft_number(&draft, TIMELINE_ARG_CBID, GPT_API_CBID(call->api));
	draft_number(&draft, TIMELINE_ARG_CORRELATION, correlation_of_call(timeline->ids, call));
	if (timeline->ids->renumbered && call->corr)
		draft_number(&draft, TIMELINE_ARG_CUPTI_CORRELATION, call->corr);
	if (!call->end_ns)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	else if (call->result)
		draft_signed(&draft, TIMELINE_ARG_RESULT, call->result);
	if (call->args != NONE)
		draft_given(&draft, &timeline->model->args[call->args]);
	draft_stack(visit, &draft, call->stack, call->stack_state, &stack);
	if (call->captured)
		draft_arg(&draft, TIMELINE_ARG_CAPTURED)->truth = true;
	draft_line(&draft, timeline->model, TIMELINE_ARG_FORWARD_LINE, call->forward, &forward);
	if (call->native != NONE) {
		native = visit_native_frames(visit, call);
		draft_arg(&draft, TIMELINE_ARG_NATIVE_STACK)->native = &native;
	}
	draft_arrows(visit, &draft, call);
	visit_slice(visit, &draft.slice);
}

void visit_calls(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->calls_in_part, model->call_count);

	for (uint32_t i = model->calls_in_part.from; i < end && !visit->ended; i++)
		if (timeline->thread_tracks[model->calls[i].thread] != TIMELINE_NONE)
			visit_call(visit, i);
}
