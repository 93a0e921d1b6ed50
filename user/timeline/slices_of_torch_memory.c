/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocations and frees of PyTorch's allocators: points in time, with Kineto's arguments. */
#include "timeline/frames.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/visit.h"

static void visit_event(struct visit *visit, const struct model_torch_memory *event)
{
	const struct timeline *timeline = visit->timeline;
	struct timeline_stack stack;
	struct draft draft;

	draft_begin(&draft, TIMELINE_TORCH_MEMORY, timeline->thread_tracks[event->thread], event->time_ns,
		    event->time_ns);
	draft.slice.name.text = event->kind == GPT_AGENT_TORCH_MEMORY_OUT ? "[OutOfMemory]" : "[memory]";
	draft_signed(&draft, TIMELINE_ARG_DEVICE_TYPE, event->device_type);
	draft_signed(&draft, TIMELINE_ARG_DEVICE_ID, event->device);
	if (event->kind != GPT_AGENT_TORCH_MEMORY_OUT)
		draft_number(&draft, TIMELINE_ARG_ADDRESS, event->address);
	draft_signed(&draft, TIMELINE_ARG_TORCH_BYTES, event->bytes);
	draft_number(&draft, TIMELINE_ARG_ALLOCATED, event->allocated);
	draft_number(&draft, TIMELINE_ARG_RESERVED, event->reserved);
	if (event->op_name != NONE)
		draft_text(&draft, TIMELINE_ARG_IN_OP, timeline->model->strings[event->op_name]);
	if (event->stack != NONE) {
		stack = visit_frames(visit, event->stack);
		draft_arg(&draft, TIMELINE_ARG_STACK)->stack = &stack;
	}
	visit_slice(visit, &draft.slice);
}

void visit_torch_memories(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < model->torch_memory_count && !visit->ended; i++)
		if (timeline_has_thread(timeline, model->torch_memories[i].thread))
			visit_event(visit, &model->torch_memories[i]);
}
