/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for the GPU, drawn as in Kineto, on the GPU's side: waits for a stream on a track next to it, waits for an
 * event or for everything on tracks of the device.  HTA's critical path recognises these names.
 */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/ids.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

/*
 * A wait may name a stream whose operations, and so its track's number, come only in later parts.  Streams of the first
 * process with GPU work keep their own numbers anyway.
 */
static void reserve_streams(struct timeline *timeline, const struct model_sync *sync)
{
	const uint32_t streams[] = {sync->stream, sync->recorded_on};

	if (!timeline->totals || sync->process == timeline->first_on_gpu || sync->device == NONE)
		return;
	for (size_t i = 0; i < 2; i++)
		if (streams[i] != NONE)
			slice_rows_reserve(&timeline->placement->gpu.rows,
					   (struct tally_key){{sync->process, sync->device, streams[i]}});
}

void place_syncs(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->syncs;
	const struct model *model = timeline->model;
	uint32_t from = model->syncs_in_part.from, end = in_part_end(&model->syncs_in_part, model->sync_count);

	placed_begin(placed, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct model_sync *sync = &model->syncs[i];

		if (!timeline_has_process(timeline, sync->process))
			continue;
		if (sync->device != NONE)
			placed->row_of[i - from] = slice_rows_place(
				&placed->rows, (struct tally_key){{sync->process, sync->device, sync->stream}},
				sync->start_ns, sync->end_ns);
		placement->omitted.syncs += placed->row_of[i - from] == ROW_NONE;
		reserve_streams(timeline, sync);
	}
}

void label_syncs(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, true, rest, sizeof(rest));
	if (track->stream == TIMELINE_NONE)
		snprintf(text, size, "waits for events and for all of GPU %" PRIu32 "%s", track->device, rest);
	else
		snprintf(text, size, "stream %" PRIu32 " (sync)%s", track->stream, rest);
}

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
			     correlation_if_shown(timeline->ids, model, sync->recorded_by));
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
	visit_placed(visit, &visit->timeline->placement->syncs, visit_sync);
}
