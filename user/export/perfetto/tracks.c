/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes, GPUs, their rows and counters as track descriptors. */
#include <stdio.h>

#include "export/perfetto/file.h"

enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_NAME = 6,
	UNIT_BYTES = 3,
};

static uint64_t group_uuid(const struct perfetto *file, uint32_t group)
{
	return uuid_of(file, 1 + (uint64_t)group);
}

/* ---- numbers of processes and threads -------------------------------------------------------------------------------
 */

#define NUMBERS 0x400000u /* PID_MAX_LIMIT: Linux assigns lower ones */

/* The number itself, or, if another timeline of the file has it, one that no process has. */
static uint32_t not_used(struct tally *used, uint32_t number)
{
	while (tally_at(used, (struct tally_key){{number}})->count++)
		number = (number + NUMBERS) & INT32_MAX;
	return number;
}

static void number_groups(struct perfetto *file)
{
	while (file->pids.count < file->timeline->groups.count) {
		const struct timeline_group *group = &file->timeline->groups.items[file->pids.count];
		bool is_process = group->kind == TIMELINE_GROUP_PROCESS;

		array_push(&file->pids,
			   file->used && is_process ? not_used(&file->used->pids, group->pid) : group->pid);
	}
}

static void number_tracks(struct perfetto *file)
{
	while (file->tids.count < file->timeline->tracks.count) {
		const struct timeline_track *track = &file->timeline->tracks.items[file->tids.count];
		bool is_thread = track->kind == TIMELINE_TRACK_THREAD && track->tid;

		array_push(&file->tids, file->used && is_thread ? not_used(&file->used->tids, track->tid) : track->tid);
	}
}

/* ---- descriptors ----------------------------------------------------------------------------------------------------
 */

/* Adds the owner after a name. */
static void put_label(struct sink *packet, const char *label)
{
	if (!label)
		return;
	sink_literal(packet, " (");
	sink_utf8(packet, label);
	sink_char(packet, ')');
}

/* For a process: its owner among several files, else its rank. */
static void put_process_label(struct perfetto *file, const struct timeline_group *group)
{
	AUTO_FREE char *rank = process_rank(&file->timeline->model->processes[group->process]);

	put_label(&file->packet, file->process_labels ? file->process_labels[group->process] : rank);
}

static size_t descriptor_begin(struct perfetto *file, uint64_t uuid, uint64_t parent, size_t *packet)
{
	size_t begin;

	*packet = packet_begin(file);
	proto_number(&file->packet, PACKET_SEQUENCE, sequence_of(file));
	begin = proto_begin(&file->packet, PACKET_TRACK_DESCRIPTOR);
	proto_number(&file->packet, TRACK_UUID, uuid);
	if (parent)
		proto_number(&file->packet, TRACK_PARENT, parent);
	return begin;
}

static void descriptor_end(struct perfetto *file, size_t begin, size_t packet)
{
	proto_end(&file->packet, begin);
	packet_end(file, packet);
}

static void put_group(struct perfetto *file, uint32_t index)
{
	const struct timeline_group *group = &file->timeline->groups.items[index];
	size_t packet, inner, name, begin = descriptor_begin(file, group_uuid(file, index), 0, &packet);
	char text[64];

	switch (group->kind) {
	case TIMELINE_GROUP_PROCESS:
		inner = proto_begin(&file->packet, TRACK_PROCESS);
		proto_number(&file->packet, PROCESS_PID, file->pids.items[index]);
		name = proto_begin(&file->packet, PROCESS_NAME);
		sink_utf8(&file->packet, group->name);
		put_process_label(file, group);
		proto_end(&file->packet, name);
		proto_end(&file->packet, inner);
		break;
	case TIMELINE_GROUP_GPU:
		snprintf(text, sizeof(text), "GPU %u%s", group->device, *group->name ? " " : "");
		inner = proto_begin(&file->packet, TRACK_NAME);
		sink_text(&file->packet, text);
		sink_utf8(&file->packet, group->name);
		put_label(&file->packet, file->gpu_label);
		proto_end(&file->packet, inner);
		break;
	case TIMELINE_GROUP_CUPTI:
		inner = proto_begin(&file->packet, TRACK_NAME);
		sink_literal(&file->packet, "CUPTI's overhead");
		put_label(&file->packet, file->gpu_label);
		proto_end(&file->packet, inner);
		break;
	}
	descriptor_end(file, begin, packet);
}

/* The rows of a thread are children of its track. */
static uint64_t parent_of(const struct perfetto *file, const struct timeline_track *track)
{
	switch (track->kind) {
	case TIMELINE_TRACK_INTERPRETER:
	case TIMELINE_TRACK_STEPS:
	case TIMELINE_TRACK_RANGES:
	case TIMELINE_TRACK_OFF_CPU:
	case TIMELINE_TRACK_CPU_SAMPLES:
		return track->thread != TIMELINE_NONE ? track_uuid(file, track->thread)
						      : group_uuid(file, track->group);
	default:
		return group_uuid(file, track->group);
	}
}

static void put_track(struct perfetto *file, uint32_t index)
{
	const struct timeline_track *track = &file->timeline->tracks.items[index];
	size_t packet, inner, begin = descriptor_begin(file, track_uuid(file, index), parent_of(file, track), &packet);
	char label[256];

	if (track->kind == TIMELINE_TRACK_THREAD && track->tid) {
		inner = proto_begin(&file->packet, TRACK_THREAD);
		proto_number(&file->packet, THREAD_PID, file->pids.items[track->group]);
		proto_number(&file->packet, THREAD_TID, file->tids.items[index]);
		proto_text(&file->packet, THREAD_NAME, track->name);
		proto_end(&file->packet, inner);
	} else {
		timeline_track_label(file->timeline, index, label, sizeof(label));
		proto_text(&file->packet, TRACK_NAME, label);
	}
	descriptor_end(file, begin, packet);
}

static void put_counter(struct perfetto *file, uint32_t index)
{
	const struct timeline_counter *counter = &file->timeline->counters.items[index];
	size_t packet, inner, begin = descriptor_begin(file, counter_uuid(file, index), 0, &packet);
	char text[64];

	snprintf(text, sizeof(text), counter->of_host ? "host memory from CUDA" : "GPU %u memory from CUDA",
		 counter->device);
	inner = proto_begin(&file->packet, TRACK_NAME);
	sink_text(&file->packet, text);
	put_label(&file->packet, file->gpu_label);
	proto_end(&file->packet, inner);
	inner = proto_begin(&file->packet, TRACK_COUNTER);
	proto_number(&file->packet, COUNTER_UNIT, UNIT_BYTES);
	proto_end(&file->packet, inner);
	descriptor_end(file, begin, packet);
}

uint64_t perfetto_gpu_counter(struct perfetto *file, const struct timeline_value *value)
{
	size_t known = file->gpu_counters.count, packet, inner, begin;
	uint32_t number = tally_number(&file->gpu_counters, (struct tally_key){{value->device, value->counter}});
	uint64_t uuid = gpu_counter_uuid(file, number);
	char text[64];

	if (number < known)
		return uuid;
	begin = descriptor_begin(file, uuid, 0, &packet);
	snprintf(text, sizeof(text), "GPU %u %s", value->device, value->name);
	inner = proto_begin(&file->packet, TRACK_NAME);
	sink_text(&file->packet, text);
	put_label(&file->packet, file->gpu_label);
	proto_end(&file->packet, inner);
	inner = proto_begin(&file->packet, TRACK_COUNTER);
	proto_text(&file->packet, COUNTER_UNIT_NAME, value->unit);
	proto_end(&file->packet, inner);
	descriptor_end(file, begin, packet);
	return uuid;
}

void perfetto_put_tracks(struct perfetto *file)
{
	const struct timeline *timeline = file->timeline;

	number_groups(file);
	number_tracks(file);
	for (; file->groups < timeline->groups.count; file->groups++)
		put_group(file, (uint32_t)file->groups);
	for (; file->tracks < timeline->tracks.count; file->tracks++)
		put_track(file, (uint32_t)file->tracks);
	for (; file->counters < timeline->counters.count; file->counters++)
		put_counter(file, (uint32_t)file->counters);
}

void perfetto_put_tracks_again(struct perfetto *file)
{
	file->groups = file->tracks = file->counters = 0;
	perfetto_put_tracks(file);
	for (uint32_t i = 0; i < file->long_rows.count; i++)
		perfetto_put_long_row(file, i);
}

void perfetto_put_long_row(struct perfetto *file, uint32_t row)
{
	uint32_t index = file->long_rows.items[row].track;
	const struct timeline_track *track = &file->timeline->tracks.items[index];
	size_t packet, begin;
	char label[256], text[300];

	timeline_track_label(file->timeline, index, label, sizeof(label));
	snprintf(text, sizeof(text), "%s (long)", label);
	begin = descriptor_begin(
		file, long_row_uuid(file, row),
		track->kind == TIMELINE_TRACK_THREAD ? track_uuid(file, index) : parent_of(file, track), &packet);
	proto_text(&file->packet, TRACK_NAME, text);
	descriptor_end(file, begin, packet);
}
