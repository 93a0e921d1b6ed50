/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/numbers.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/model.h"

/* Numbers above those of Linux, as CHROME_OVERHEAD_PID. */
#define DEVICE_PID 7000000u	   /* + device, for ids that no GPU has (HTA takes pids below 64 for GPUs) */
#define STREAM_TID 10000000u	   /* + index of the stream's track */
#define ID_STEP 20000000u	   /* added to a pid or tid that was used before */
#define WAITS_TID 500000000u	   /* + index of a track of waits, or + a stream without operations */
#define RANGES_TID 600000000u	   /* + index of a track of NVTX ranges */
#define COMPILER_TID 700000000u	   /* + index of a track of compilations */
#define OFF_CPU_TID 800000000u	   /* + index of a track of waits off the CPU */
#define CPU_SAMPLES_TID 900000000u /* + index of a track of samples */
#define STREAM_WAITS_TID 1000000u  /* + the stream's number: Kineto's tracks for waits */

#define DEVICES 64u
#define STREAMS 1000000u /* streams below keep their number */

/* A number that is not 0 and not used yet: `id` itself, or with as many steps added as needed. */
static uint32_t unique_id(struct tally *used, uint32_t id)
{
	if (!id || id >= CHROME_OVERHEAD_PID)
		id = id % CHROME_OVERHEAD_PID + ID_STEP;
	while (tally_at(used, (struct tally_key){{id}})->count++)
		id += ID_STEP;
	return id;
}

uint32_t chrome_device_pid(const struct chrome_numbers *numbers, uint32_t device)
{
	device += numbers->first_device;
	return device < DEVICES ? device : DEVICE_PID + device % 1000000u;
}

uint32_t chrome_overhead_pid(const struct chrome_numbers *numbers)
{
	return CHROME_OVERHEAD_PID + (numbers->used ? numbers->used->members % 1000000u : 0);
}

/*
 * The devices of the file's other timelines are unknown, and so are all if a file of another tool has no list of them:
 * all numbers of GPUs are reserved for them. A log has its GPUs before their work.
 */
static bool is_device(const struct chrome_numbers *numbers, const struct model *model, uint32_t pid)
{
	if (numbers->used || (model_is_foreign(model) && !model->device_count))
		return pid < DEVICES;
	return any_of(model->device_count, i, model->devices[i].id == pid);
}

static void number_group(struct chrome_numbers *numbers, const struct timeline *timeline,
			 const struct timeline_group *group, struct tally *used)
{
	uint32_t pid = chrome_overhead_pid(numbers);

	if (group->kind == TIMELINE_GROUP_PROCESS)
		pid = unique_id(used,
				is_device(numbers, timeline->model, group->pid) ? group->pid + ID_STEP : group->pid);
	else if (group->kind == TIMELINE_GROUP_GPU)
		pid = chrome_device_pid(numbers, group->device);
	array_push(&numbers->pids, pid);
}

/* Threads and the tracks beside them exist from the start. */
static void number_threads(struct chrome_numbers *numbers, const struct timeline *timeline)
{
	static const enum timeline_track_kind kinds[] = {TIMELINE_TRACK_THREAD, TIMELINE_TRACK_INTERPRETER,
							 TIMELINE_TRACK_PYTHON, TIMELINE_TRACK_STEPS};
	struct tally own = {0}, *used = numbers->used ? &numbers->used->tids : &own;

	/* Threads first: they keep their numbers. */
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (uint32_t i = 0; i < timeline->tracks.count; i++)
			if (timeline->tracks.items[i].kind == kinds[k])
				numbers->rows.items[i].tid = unique_id(used, timeline->tracks.items[i].tid);
	tally_free(&own);
}

static bool keeps_number(const struct chrome_numbers *numbers, const struct timeline_track *track)
{
	return !track->row && track->process == numbers->gpu_process && track->stream && track->stream < STREAMS &&
	       track->device < DEVICES;
}

static void number_track(const struct chrome_numbers *numbers, const struct timeline *timeline, uint32_t index,
			 struct chrome_row *row)
{
	const struct timeline_track *track = &timeline->tracks.items[index];

	switch (track->kind) {
	case TIMELINE_TRACK_THREAD:
		row->order = row->tid;
		break;
	case TIMELINE_TRACK_INTERPRETER:
	case TIMELINE_TRACK_PYTHON:
	case TIMELINE_TRACK_STEPS:
		row->order = numbers->rows.items[track->thread].tid;
		break;
	case TIMELINE_TRACK_COMPILER:
		row->tid = COMPILER_TID + track->number;
		row->order = track->tid;
		break;
	case TIMELINE_TRACK_RANGES:
		row->tid = RANGES_TID + track->number;
		row->order = numbers->rows.items[track->thread].tid;
		break;
	case TIMELINE_TRACK_OFF_CPU:
		row->tid = OFF_CPU_TID + track->number;
		row->order = numbers->rows.items[track->thread].tid;
		break;
	case TIMELINE_TRACK_CPU_SAMPLES:
		row->tid = CPU_SAMPLES_TID + track->number;
		row->order = numbers->rows.items[track->thread].tid;
		break;
	case TIMELINE_TRACK_STREAM:
		row->tid = keeps_number(numbers, track) ? track->stream : STREAM_TID + track->number;
		row->order = (uint64_t)timeline->tracks.items[track->first].number * TIMELINE_ROWS_MAX + track->row;
		break;
	case TIMELINE_TRACK_WAITS:
		row->tid = keeps_number(numbers, track) ? track->stream + STREAM_WAITS_TID : WAITS_TID + track->number;
		row->order = row->tid;
		break;
	case TIMELINE_TRACK_CUPTI:
		row->tid = track->number + 1;
		break;
	}
}

static void finish_row(struct chrome_numbers *numbers, const struct timeline *timeline, uint32_t index)
{
	struct chrome_row *row = &numbers->rows.items[index];

	row->pid = numbers->pids.items[timeline->tracks.items[index].group];
	number_track(numbers, timeline, index, row);
	row->text_length = (uint8_t)snprintf(row->text, sizeof(row->text),
					     "\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":", row->pid, row->tid);
}

static void add_numbers(struct chrome_numbers *numbers, const struct timeline *timeline, struct tally *used)
{
	size_t first = numbers->rows.count;

	while (numbers->pids.count < timeline->groups.count)
		number_group(numbers, timeline, &timeline->groups.items[numbers->pids.count], used);
	while (numbers->rows.count < timeline->tracks.count)
		array_push(&numbers->rows, ((struct chrome_row){0}));
	if (!first)
		number_threads(numbers, timeline);
	for (size_t i = first; i < timeline->tracks.count; i++)
		finish_row(numbers, timeline, (uint32_t)i);
}

void chrome_numbers_make(struct chrome_numbers *numbers, const struct timeline *timeline)
{
	struct tally own = {0};

	numbers->gpu_process = timeline->first_on_gpu;
	add_numbers(numbers, timeline, numbers->used ? &numbers->used->pids : &own);
	tally_free(&own);
}

void chrome_numbers_add(struct chrome_numbers *numbers, const struct timeline *timeline)
{
	add_numbers(numbers, timeline, NULL); /* processes exist from the start */
}

void chrome_numbers_free(struct chrome_numbers *numbers)
{
	array_free(&numbers->pids);
	array_free(&numbers->rows);
}

int64_t chrome_stream_number(const struct chrome_numbers *numbers, uint32_t process, struct timeline_stream stream)
{
	if (stream.track != TIMELINE_NONE)
		return numbers->rows.items[stream.track].tid;
	if (stream.stream == TIMELINE_NONE)
		return -1;
	return process == numbers->gpu_process && stream.stream && stream.stream < STREAMS
		       ? stream.stream
		       : WAITS_TID + stream.stream % WAITS_TID;
}
