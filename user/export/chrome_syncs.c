/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Synchronisations as Kineto draws them: on the GPU's side, those of a stream on a row beside it, those of an
 * event or of everything on rows of the device.  HTA's critical path knows them by these names.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/chrome.h"

/* Kineto's rows: the stream's number and this. */
#define SYNC_STREAM_TID 1000000u

static bool keeps_number(const struct chrome *chrome, const struct track *track)
{
	uint32_t stream = track->key.part[2];

	return stream != NONE && !track->lane && track->key.part[0] == chrome->gpu_process && stream &&
	       stream < CHROME_STREAMS && track->key.part[1] < CHROME_DEVICES;
}

void chrome_number_syncs(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->sync_track = xmalloc(model->sync_count * sizeof(*chrome->sync_track));
	for (uint32_t i = 0; i < model->sync_count; i++) {
		const struct model_sync *sync = &model->syncs[i];

		chrome->sync_track[i] = TRACK_NONE;
		if (!chrome_has_process(chrome, sync->process))
			continue;
		if (sync->device != NONE)
			chrome->sync_track[i] = tracks_place(
				&chrome->sync_rows, (struct tally_key){{sync->process, sync->device, sync->stream}},
				sync->start_ns, sync->end_ns);
		chrome->syncs_not_plotted += chrome->sync_track[i] == TRACK_NONE;
	}
	for (uint32_t i = 0; i < chrome->sync_rows.all.count; i++) {
		struct track *track = &chrome->sync_rows.all.items[i];

		track->tid = keeps_number(chrome, track) ? track->key.part[2] + SYNC_STREAM_TID : CHROME_SYNC_TID + i;
	}
}

/* The number a stream has in this file; one without operations of its own has its row's. */
static uint32_t stream_number(struct chrome *chrome, const struct track *row, uint32_t stream)
{
	struct tally_key key = {{row->key.part[0], row->key.part[1], stream}};
	const struct tally_entry *lanes = tally_at(&chrome->streams.by_key, key);

	if (lanes->more)
		return chrome->streams.all.items[lanes->more - 1].tid;
	return row->key.part[0] == chrome->gpu_process && stream && stream < CHROME_STREAMS
		       ? stream
		       : CHROME_SYNC_TID + stream % CHROME_SYNC_TID;
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

static void put_event(struct chrome *chrome, const struct track *row, const struct model_sync *sync)
{
	bool known = sync->recorded_on != NONE;

	chrome_put_number(chrome->out, "wait_on_stream",
			  known ? (int64_t)stream_number(chrome, row, sync->recorded_on) : -1);
	chrome_put_number(chrome->out, "wait_on_cuda_event_record_corr_id",
			  sync->recorded_by != NONE ? (int64_t)chrome_correlation(chrome, sync->recorded_by) : -1);
	chrome_put_number(chrome->out, "wait_on_cuda_event_id", sync->event);
}

static void put_sync(struct chrome *chrome, uint32_t index)
{
	const struct model_sync *sync = &chrome->model->syncs[index];
	const struct track *row = &chrome->sync_rows.all.items[chrome->sync_track[index]];
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":");
	sink_json(out, sync_name(sync->kind));
	chrome_put_slice(chrome, "", 0, chrome_device_pid(sync->device), row->tid, sync->start_ns, sync->end_ns);
	sink_literal(out, "\"cuda_sync_kind\":");
	sink_json(out, sync_name(sync->kind));
	if (sync->event != NONE)
		put_event(chrome, row, sync);
	chrome_put_number(out, "stream", sync->stream != NONE ? (int64_t)stream_number(chrome, row, sync->stream) : -1);
	chrome_put_number(out, "correlation", (int64_t)chrome_sync_correlation(chrome, index));
	chrome_put_number(out, "device", chrome_device_pid(sync->device));
	chrome_put_number(out, "context", sync->context);
	if (sync->call == NONE)
		sink_literal(out, ",\"call\":\"not seen\"");
	if (sync->result)
		chrome_put_number(out, "result", sync->result);
	sink_literal(out, "}}");
}

void chrome_put_syncs(struct chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->model->sync_count && !chrome->out->error; i++)
		if (chrome->sync_track[i] != TRACK_NONE)
			put_sync(chrome, i);
}

void chrome_name_sync_row(const struct chrome *chrome, const struct track *row, char *text, size_t size)
{
	const struct model_process *process = &chrome->model->processes[row->key.part[0]];
	char of[64] = "", lane[32] = "";

	if (chrome->several)
		snprintf(of, sizeof(of), " of %.20s %" PRIu32, process->name, process->pid);
	if (row->lane)
		snprintf(lane, sizeof(lane), " (overlap %" PRIu32 ")", row->lane);
	if (row->key.part[2] == NONE)
		snprintf(text, size, "waits for events and for all of GPU %" PRIu32 "%s%s", row->key.part[1], of, lane);
	else
		snprintf(text, size, "stream %" PRIu32 " (sync)%s%s", row->key.part[2], of, lane);
}
