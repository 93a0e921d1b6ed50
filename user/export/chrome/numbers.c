/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/tally.h"
#include "model/model.h"

/* As CHROME_OVERHEAD_PID. */
#define DEVICE_PID 7000000u	  /* + device, for ids that no GPU has (HTA takes pids below 64 for GPUs) */
#define STREAM_TID 10000000u	  /* + index of the stream's track */
#define ID_STEP 20000000u	  /* added to a pid or tid that was used before */
#define WAITS_TID 500000000u	  /* + index of a track of waits, or + a stream without operations */
#define RANGES_TID 600000000u	  /* + index of a track of NVTX ranges */
#define COMPILER_TID 700000000u	  /* + index of a track of compilations */
#define STREAM_WAITS_TID 1000000u /* + the stream's number: Kineto's tracks for waits */

#define DEVICES 64u
#define STREAMS 1000000u /* streams below keep their number */

/* A number that is not 0 and that nothing before has: `id` itself, or with as many steps added as it takes. */
static uint32_t unique_id(struct tally *used, uint32_t id)
{
	if (!id || id >= CHROME_OVERHEAD_PID)
		id = id % CHROME_OVERHEAD_PID + ID_STEP;
	while (tally_at(used, (struct tally_key){{id}})->count++)
		id += ID_STEP;
	return id;
}

uint32_t chrome_device_pid(uint32_t device)
{
	return device < DEVICES ? device : DEVICE_PID + device % 1000000u;
}

static bool is_device(const struct model *model, uint32_t pid)
{
	for (uint32_t i = 0; i < model->device_count; i++)
		if (model->devices[i].id == pid)
			return true;
	return false;
}

static void number_groups(struct chrome_numbers *numbers, const struct timeline *timeline)
{
	struct tally used = {0};

	numbers->pids = xcalloc(timeline->groups.count, sizeof(*numbers->pids));
	for (uint32_t i = 0; i < timeline->groups.count; i++) {
		const struct timeline_group *group = &timeline->groups.items[i];

		if (group->kind == TIMELINE_GROUP_PROCESS)
			numbers->pids[i] = unique_id(
				&used, is_device(timeline->model, group->pid) ? group->pid + ID_STEP : group->pid);
		else if (group->kind == TIMELINE_GROUP_GPU)
			numbers->pids[i] = chrome_device_pid(group->device);
		else
			numbers->pids[i] = CHROME_OVERHEAD_PID;
	}
	tally_free(&used);
}

static void number_threads(struct chrome_numbers *numbers, const struct timeline *timeline)
{
	static const enum timeline_track_kind kinds[] = {TIMELINE_TRACK_THREAD, TIMELINE_TRACK_INTERPRETER,
							 TIMELINE_TRACK_PYTHON};
	struct tally used = {0};

	/* Threads first: they keep their numbers. */
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (uint32_t i = 0; i < timeline->tracks.count; i++)
			if (timeline->tracks.items[i].kind == kinds[k])
				numbers->rows[i].tid = unique_id(&used, timeline->tracks.items[i].tid);
	tally_free(&used);
}

/* Of several processes one has streams that keep their numbers. */
static uint32_t first_process_on_gpu(const struct timeline *timeline)
{
	uint32_t process = TIMELINE_NONE;

	for (uint32_t i = 0; i < timeline->tracks.count; i++)
		if (timeline->tracks.items[i].kind == TIMELINE_TRACK_STREAM &&
		    timeline->tracks.items[i].process < process)
			process = timeline->tracks.items[i].process;
	return process;
}

static bool keeps_number(const struct chrome_numbers *numbers, const struct timeline_track *track)
{
	return !track->lane && track->process == numbers->gpu_process && track->stream && track->stream < STREAMS &&
	       track->device < DEVICES;
}

/* index, first: of the track and of its lane 0, among the tracks of its kind. */
static void number_track(struct chrome_numbers *numbers, const struct timeline_track *track, struct chrome_row *row,
			 uint32_t index, uint32_t first)
{
	switch (track->kind) {
	case TIMELINE_TRACK_THREAD:
		row->order = row->tid;
		break;
	case TIMELINE_TRACK_INTERPRETER:
	case TIMELINE_TRACK_PYTHON:
		row->order = numbers->rows[track->thread].tid;
		break;
	case TIMELINE_TRACK_COMPILER:
		row->tid = COMPILER_TID + index;
		row->order = track->tid;
		break;
	case TIMELINE_TRACK_RANGES:
		row->tid = RANGES_TID + index;
		row->order = numbers->rows[track->thread].tid;
		break;
	case TIMELINE_TRACK_STREAM:
		row->tid = keeps_number(numbers, track) ? track->stream : STREAM_TID + index;
		row->order = (uint64_t)first * TIMELINE_LANES_MAX + track->lane;
		break;
	case TIMELINE_TRACK_WAITS:
		row->tid = keeps_number(numbers, track) ? track->stream + STREAM_WAITS_TID : WAITS_TID + index;
		row->order = row->tid;
		break;
	case TIMELINE_TRACK_CUPTI:
		row->tid = index + 1;
		break;
	}
}

void chrome_numbers_make(struct chrome_numbers *numbers, const struct timeline *timeline)
{
	uint32_t begin = 0; /* of the tracks of a kind */

	number_groups(numbers, timeline);
	numbers->rows = xcalloc(timeline->tracks.count, sizeof(*numbers->rows));
	number_threads(numbers, timeline);
	numbers->gpu_process = first_process_on_gpu(timeline);
	for (uint32_t i = 0; i < timeline->tracks.count; i++) {
		const struct timeline_track *track = &timeline->tracks.items[i];
		struct chrome_row *row = &numbers->rows[i];

		if (track->kind != timeline->tracks.items[begin].kind)
			begin = i;
		row->pid = numbers->pids[track->group];
		number_track(numbers, track, row, i - begin, track->first - begin);
		row->text_length =
			(uint8_t)snprintf(row->text, sizeof(row->text),
					  "\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":", row->pid, row->tid);
	}
}

void chrome_numbers_free(struct chrome_numbers *numbers)
{
	free(numbers->pids);
	free(numbers->rows);
}

int64_t chrome_stream_number(const struct chrome_numbers *numbers, uint32_t process, struct timeline_stream stream)
{
	if (stream.track != TIMELINE_NONE)
		return numbers->rows[stream.track].tid;
	if (stream.stream == TIMELINE_NONE)
		return -1;
	return process == numbers->gpu_process && stream.stream && stream.stream < STREAMS
		       ? stream.stream
		       : WAITS_TID + stream.stream % WAITS_TID;
}
