/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for the GPU as Kineto draws them: on the GPU's side, those of a stream on a track beside it, those for an event
 * or for everything on tracks of the device.  HTA's critical path knows them by these names.
 */
#include "timeline/ids.h"
#include "timeline/kinds.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

static const char *sync_name(uint8_t kind)
{
	static const char *const names[] = {
		[GPT_AGENT_SYNC_EVENT] = "Event Sync",
		[GPT_AGENT_SYNC_STREAM_WAITS_EVENT] = "Stream Wait Event",
		[GPT_AGENT_SYNC_STREAM] = "Stream Sync",
		[GPT_AGENT_SYNC_CONTEXT] = "Context Sync",
	};

	return names[kind];
}

static void draft_stream(struct draft *draft, enum timeline_arg_key key, struct placed *operations,
			 const struct model_sync *sync, uint32_t stream)
{
	uint32_t row = stream == NONE ? ROW_NONE
				      : slice_rows_first(&operations->rows,
							 (struct tally_key){{sync->process, sync->device, stream}});

	draft_arg(draft, key)->stream = (struct timeline_stream){
		.track = row == ROW_NONE ? TIMELINE_NONE : operations->tracks.items[row],
		.stream = stream,
	};
}

static void visit_sync(struct visit *visit, uint32_t index)
{
	const struct timeline *timeline = visit->timeline;
	struct timeline_placement *placement = timeline->placement;
	const struct model *model = timeline->model;
	const struct model_sync *sync = &model->syncs[index];
	struct draft draft;

	draft_begin(&draft, TIMELINE_SYNC, placed_track(&placement->syncs, index), sync->start_ns, sync->end_ns);
	draft.slice.name.text = sync_name(sync->kind);
	draft_text(&draft, TIMELINE_ARG_SYNC_KIND, draft.slice.name.text);
	if (sync->event != NONE) {
		draft_stream(&draft, TIMELINE_ARG_EVENT_STREAM, &placement->gpu, sync, sync->recorded_on);
		draft_number(&draft, TIMELINE_ARG_EVENT_RECORD,
			     sync->recorded_by != NONE
				     ? correlation_of_call(timeline->ids, &model->calls[sync->recorded_by])
				     : 0);
		draft_number(&draft, TIMELINE_ARG_EVENT, sync->event);
	}
	draft_stream(&draft, TIMELINE_ARG_STREAM, &placement->gpu, sync, sync->stream);
	draft_number(&draft, TIMELINE_ARG_CORRELATION, correlation_of_sync(timeline->ids, model, index));
	draft_arg(&draft, TIMELINE_ARG_DEVICE)->gpu = sync->device;
	draft_number(&draft, TIMELINE_ARG_CONTEXT, sync->context);
	if (sync->call == NONE)
		draft_text(&draft, TIMELINE_ARG_CALL, "not seen");
	if (sync->result)
		draft_signed(&draft, TIMELINE_ARG_RESULT, sync->result);
	visit_slice(visit, &draft.slice);
}

void visit_syncs(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->syncs_in_part, model->sync_count);

	for (uint32_t i = model->syncs_in_part.from; i < end && !visit->ended; i++)
		if (placed_row(&timeline->placement->syncs, i) != ROW_NONE)
			visit_sync(visit, i);
}
