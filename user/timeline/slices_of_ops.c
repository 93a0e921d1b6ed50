/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ops of PyTorch, with Kineto's arguments, and the starts of their arrows. */
#include <string.h>

#include "model/op_inputs.h"
#include "timeline/collectives.h"
#include "timeline/frames.h"
#include "timeline/members.h"
#include "timeline/kinds.h"
#include "timeline/visit.h"

static struct timeline_link link_to(struct visit *visit, const struct model_op *op)
{
	const struct timeline *timeline = visit->timeline;
	struct op_link_begin forward;

	if (!op_links_take(&visit->links, timeline->model, op, &forward))
		return (struct timeline_link){0};
	return (struct timeline_link){
		.number = op->number + 1,
		.from_ns = forward.start_ns,
		.from_track = timeline->thread_tracks[forward.thread],
	};
}

/* In Kineto's order. */
static void draft_inputs(struct draft *draft, const char *inputs)
{
	static const struct {
		enum timeline_arg_key key;
		enum op_inputs_part part;
	} args[] = {{TIMELINE_ARG_OP_CONCRETE, OP_INPUTS_CONCRETE},
		    {TIMELINE_ARG_OP_TYPES, OP_INPUTS_TYPES},
		    {TIMELINE_ARG_OP_STRIDES, OP_INPUTS_STRIDES},
		    {TIMELINE_ARG_OP_DIMS, OP_INPUTS_DIMS}};
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];

	if (!op_inputs_split(inputs, strlen(inputs), parts))
		return;
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
		draft_arg(draft, args[i].key)->json =
			(struct timeline_json){parts[args[i].part].text, parts[args[i].part].size};
}

static void visit_op(struct visit *visit, const struct model_op *op)
{
	const struct timeline *timeline = visit->timeline;
	struct collective collective;
	struct timeline_frame line, forward;
	struct timeline_stack stack;
	struct draft draft;

	draft_begin(&draft, op->scope == GPT_AGENT_OP_USER_SCOPE ? TIMELINE_NAMED_OP : TIMELINE_OP,
		    timeline->thread_tracks[op->thread], op->start_ns, op->end_ns);
	draft.slice.name.text = op->name == NONE ? "(name not known)" : timeline->model->strings[op->name];
	draft.slice.op = op->number + 1;
	draft_number(&draft, TIMELINE_ARG_OP_HANDLE, op->handle);
	if (op->sequence >= 0) {
		draft_signed(&draft, TIMELINE_ARG_OP_SEQUENCE, op->sequence);
		draft_number(&draft, TIMELINE_ARG_OP_FORWARD, op->forward_thread);
	} else if (op->forward_thread) { /* torch.profiler reports nothing of these */
		draft_number(&draft, TIMELINE_ARG_OP_UNNUMBERED, op->forward_thread);
	}
	if (op->inputs != NONE)
		draft_inputs(&draft, timeline->model->strings[op->inputs]);
	draft_number(&draft, TIMELINE_ARG_OP_INDEX, op->number);
	draft_collective(&draft, timeline->model, model_collective_of(timeline->model, 1 + op->number), false,
			 &collective);
	draft_line(&draft, timeline->model, TIMELINE_ARG_OP_LINE, op->stack, &line);
	draft_line(&draft, timeline->model, TIMELINE_ARG_FORWARD_LINE, op->forward, &forward);
	if (op->stack != NONE) {
		stack = visit_frames(visit, op->stack);
		draft_arg(&draft, TIMELINE_ARG_STACK)->stack = &stack;
	}
	if (op->truncated)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	draft.slice.link = link_to(visit, op);
	visit_slice(visit, &draft.slice);
}

static bool is_drawn(const struct timeline *timeline, const struct model_op *op)
{
	return !op->continued && !op->overlaps && timeline_has_thread(timeline, op->thread);
}

void visit_ops(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;

	op_links_begin_part(&visit->links);
	for (uint32_t i = 0; i < model->op_count; i++)
		if (is_drawn(timeline, &model->ops[i]))
			op_links_note(&visit->links, model, &model->ops[i]);
	for (uint32_t i = 0; i < model->op_count && !visit->ended; i++)
		if (is_drawn(timeline, &model->ops[i]))
			visit_op(visit, &model->ops[i]);
}
