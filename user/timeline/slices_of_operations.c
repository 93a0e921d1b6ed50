/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU operations, and the ends of arrows from their calls. */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/arrows.h"
#include "timeline/collectives.h"
#include "timeline/frames.h"
#include "timeline/ids.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/rows/occupancy.h"
#include "timeline/placement.h"

static void collect_nature(struct timeline_placement *placement, uint32_t row, const struct model_gpu *op)
{
	while (row >= placement->natures.count)
		array_push(&placement->natures, ((struct stream_nature){0}));
	if (!placement->natures.items[row].known)
		placement->natures.items[row] = (struct stream_nature){true, op->stream_flags, op->priority};
}

void place_gpu(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->gpu;
	const struct model *model = timeline->model;
	uint32_t from = model->gpu_in_part.from, end = in_part_end(&model->gpu_in_part, model->gpu_count);

	placed_begin(placed, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct model_gpu *op = &model->gpu[i];
		uint32_t row;

		if (!timeline_has_process(timeline, op->process))
			continue;
		if (!op->end_ns || op->end_ns < op->start_ns) {
			placement->omitted.untimed++;
			continue;
		}
		row = slice_rows_place(&placed->rows, (struct tally_key){{op->process, op->device, op->stream}},
				       op->start_ns, op->end_ns);
		placed->row_of[i - from] = row;
		placement->omitted.gpu += row == ROW_NONE;
		placement->omitted.unseen += op->call == NONE && !op->before && !gpu_is_migration(op);
		if (row != ROW_NONE)
			collect_nature(placement, row, op);
	}
}

/* " (default, priority -5)": unusual properties of a stream. */
static void describe_stream(const struct timeline_track *track, char *text, size_t size)
{
	text[0] = '\0';
	if (track->is_default && track->priority)
		snprintf(text, size, " (default, priority %d)", track->priority);
	else if (track->is_default)
		snprintf(text, size, " (default)");
	else if (track->priority)
		snprintf(text, size, " (priority %d)", track->priority);
}

void label_gpu(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char kind[48], rest[96];

	describe_stream(track, kind, sizeof(kind));
	label_row(timeline, track, true, rest, sizeof(rest));
	snprintf(text, size, "stream %" PRIu32 "%s%s", track->stream, kind, rest);
}

/* Storage to which one operation's arguments point. */
struct pointed_to {
	char name[256];
	uint32_t cluster[3];
	struct timeline_frame captured_at, forward;
	struct collective collective;
	struct timeline_split split;
};

static void draft_kernel(struct draft *draft, const struct model *model, const struct model_gpu *op,
			 struct pointed_to *to)
{
	struct occupancy occupancy = occupancy_of(model, op);

	if (!(op->unknown & MODEL_GPU_NO_REGISTERS))
		draft_number(draft, TIMELINE_ARG_REGISTERS, op->registers);
	if (!(op->unknown & MODEL_GPU_NO_DYNAMIC_SHARED))
		draft_number(draft, TIMELINE_ARG_SHARED, (uint64_t)op->static_shared_bytes + op->dynamic_shared_bytes);
	if (!(op->unknown & MODEL_GPU_NO_STATIC_SHARED))
		draft_number(draft, TIMELINE_ARG_STATIC_SHARED, op->static_shared_bytes);
	draft_fraction(draft, TIMELINE_ARG_BLOCKS_PER_SM, occupancy.blocks_per_sm);
	draft_fraction(draft, TIMELINE_ARG_WARPS_PER_SM, occupancy.warps_per_sm);
	if (!(op->unknown & MODEL_GPU_NO_LAUNCH)) {
		draft_triple(draft, TIMELINE_ARG_GRID, op->grid);
		draft_triple(draft, TIMELINE_ARG_BLOCK, op->block);
	}
	if (op->cluster[0]) {
		for (int i = 0; i < 3; i++)
			to->cluster[i] = op->cluster[i];
		draft_triple(draft, TIMELINE_ARG_CLUSTER, to->cluster);
	}
	if (op->local_bytes)
		draft_number(draft, TIMELINE_ARG_LOCAL, op->local_bytes);
	draft_number(draft, TIMELINE_ARG_OCCUPANCY, occupancy.percent);
	if (op->place != NONE)
		draft_text(draft, TIMELINE_ARG_PLACE, model->strings[op->place]);
}

static void draft_memory(struct draft *draft, const struct model_gpu *op)
{
	if (op->unknown & MODEL_GPU_NO_BYTES)
		return;
	draft_number(draft, TIMELINE_ARG_BYTES, op->bytes);
	if (op->end_ns > op->start_ns)
		draft_fraction(draft, TIMELINE_ARG_BANDWIDTH, (double)op->bytes / (double)(op->end_ns - op->start_ns));
}

/* The call that became a node of the graph, and its innermost line. */
static void draft_captured(struct draft *draft, const struct timeline *timeline, uint32_t call, struct pointed_to *to)
{
	const struct model_call *captured = &timeline->model->calls[call];

	if (captured->number != CALL_OUTSIDE)
		draft_number(draft, TIMELINE_ARG_CAPTURED_BY, correlation_of_call(timeline->ids, captured));
	draft_line(draft, timeline->model, TIMELINE_ARG_CAPTURED_AT, captured->stack, &to->captured_at);
}

static void draft_graph(struct draft *draft, const struct timeline *timeline, const struct model_gpu *op,
			struct pointed_to *to)
{
	if (op->graph) {
		draft_number(draft, TIMELINE_ARG_GRAPH, op->graph);
		draft_number(draft, TIMELINE_ARG_GRAPH_NODE, op->graph_node);
	}
	if (op->captured_by != NONE)
		draft_captured(draft, timeline, op->captured_by, to);
}

/* Adds the forward line of the attributed call, which for a graph's operation is the captured one. */
static void draft_forward(struct draft *draft, const struct model *model, const struct model_gpu *op,
			  struct pointed_to *to)
{
	uint32_t call = gpu_attributed_call(model, op);

	if (call != NONE)
		draft_line(draft, model, TIMELINE_ARG_FORWARD_LINE, model->calls[call].forward, &to->forward);
}

static void draft_layer(struct draft *draft, const struct model *model, const struct model_gpu *op)
{
	const struct model_module *module = gpu_module(model, op);

	if (!module)
		return;
	draft_text(draft, TIMELINE_ARG_LAYER, model_module_label(module));
	if (*module->class)
		draft_text(draft, TIMELINE_ARG_LAYER_CLASS, module->class);
}

/* What a collective's kernel did, beside those of other ranks. */
static void draft_split(struct draft *draft, const struct timeline_splits *splits, const struct model_gpu *op,
			struct timeline_split *split)
{
	if (!splits || op->kind != MODEL_KERNEL ||
	    !splits->find(splits->context, op->process, op->start_ns, op->corr, split))
		return;
	if (split->has_dispatch)
		draft_number(draft, TIMELINE_ARG_DISPATCH, split->dispatch_ns);
	if (split->unknown) {
		draft_text(draft, TIMELINE_ARG_WAITING_UNKNOWN, split->unknown);
		return;
	}
	draft_number(draft, TIMELINE_ARG_WAITING, split->waiting_ns);
	draft_number(draft, TIMELINE_ARG_TRANSFER, split->transfer_ns);
	if (split->error_ns)
		draft_number(draft, TIMELINE_ARG_WAITING_ERROR, split->error_ns);
	if (*split->last_rank)
		draft_text(draft, TIMELINE_ARG_LAST_RANK, split->last_rank);
	if (*split->last_line)
		draft_text(draft, TIMELINE_ARG_LAST_LINE, split->last_line);
}

static void draft_arrow(struct draft *draft, const struct timeline *timeline, uint32_t op)
{
	const struct model *model = timeline->model;
	const struct model_call *call = &model->calls[model->gpu[op].call];

	draft->slice.flow_in = flow_to_operation(timeline->ids, model, op);
	if (is_in_part(&model->calls_in_part, model->call_count, model->gpu[op].call))
		return;
	draft->slice.flow_from_track = timeline->thread_tracks[call->thread];
	draft->slice.flow_from_ns = call->start_ns;
}

static void visit_operation(struct visit *visit, uint32_t index)
{
	static const enum timeline_category categories[MODEL_GPU_KINDS] = {
		[MODEL_KERNEL] = TIMELINE_KERNEL,
		[MODEL_MEMCPY] = TIMELINE_MEMCPY,
		[MODEL_MEMSET] = TIMELINE_MEMSET,
	};
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	const struct model_gpu *op = &model->gpu[index];
	uint32_t track = placed_track(&timeline->placement->gpu, index);
	uint64_t correlation = correlation_of_operation(timeline->ids, model, index);
	struct pointed_to to;
	struct draft draft;

	draft_begin(&draft, categories[op->kind], track, op->start_ns, op->end_ns);
	draft.slice.name.text = gpu_name(model, op, to.name, sizeof(to.name));
	draft.slice.op = op->call == NONE ? 0 : model->calls[op->call].op;
	draft_arg(&draft, TIMELINE_ARG_DEVICE)->gpu = op->device;
	draft_number(&draft, TIMELINE_ARG_CONTEXT, op->context);
	draft_arg(&draft, TIMELINE_ARG_STREAM)->stream = (struct timeline_stream){
		.track = timeline->tracks.items[track].first,
		.stream = op->stream,
	};
	draft_number(&draft, TIMELINE_ARG_CORRELATION, correlation);
	if (op->kind == MODEL_KERNEL)
		draft_kernel(&draft, model, op, &to);
	else
		draft_memory(&draft, op);
	draft_signed(&draft, TIMELINE_ARG_PRIORITY, op->priority);
	if (op->kind != MODEL_MEMSET) { /* gpt_agent_memset has none */
		draft_number(&draft, TIMELINE_ARG_CHANNEL, op->channel);
		draft_number(&draft, TIMELINE_ARG_CHANNEL_TYPE, op->channel_type);
	}
	draft_graph(&draft, timeline, op, &to);
	if (op->kind == MODEL_KERNEL && op->call != NONE)
		draft_collective(&draft, model, model_collective_of_call(model, &model->calls[op->call]), true,
				 &to.collective);
	draft_split(&draft, timeline->among.splits, op, &to.split);
	draft_forward(&draft, model, op, &to);
	draft_layer(&draft, model, op);
	if (op->call != NONE && model->calls[op->call].number == CALL_OUTSIDE)
		draft_text(&draft, TIMELINE_ARG_LAUNCH, "before the slice");
	else if (op->call == NONE)
		draft_text(&draft, TIMELINE_ARG_LAUNCH,
			   gpu_is_migration(op) ? "none: the driver moved managed memory"
			   : !op->before	? "not seen"
			   : model->slice	? "before the slice"
						: "before the trace");
	if (op->corr && correlation != op->corr)
		draft_number(&draft, TIMELINE_ARG_CUPTI_CORRELATION, op->corr);
	draft_number(&draft, TIMELINE_ARG_CUPTI_STREAM, op->stream);
	if (timeline->several)
		draft_number(&draft, TIMELINE_ARG_PROCESS, model->processes[op->process].pid);
	if (has_arrow(timeline, index))
		draft_arrow(&draft, timeline, index);
	visit_slice(visit, &draft.slice);
}

void visit_operations(struct visit *visit)
{
	visit_placed(visit, &visit->timeline->placement->gpu, visit_operation);
}
