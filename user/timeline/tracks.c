/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/tracks.h"

#include "timeline/members.h"
#include "timeline/placement.h"

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PINNED 2

static uint32_t add_group(struct timeline *timeline, struct timeline_group group)
{
	array_push(&timeline->groups, group);
	return (uint32_t)timeline->groups.count - 1;
}

void timeline_add_processes(struct timeline *timeline, int process)
{
	const struct model *model = timeline->model;
	uint32_t active = 0;

	timeline->process_groups = xmalloc(model->process_count * sizeof(*timeline->process_groups));
	for (uint32_t i = 0; i < model->process_count; i++) {
		timeline->process_groups[i] = TIMELINE_NONE;
		if (process >= 0 && (uint32_t)process != i)
			continue;
		timeline->process_groups[i] =
			add_group(timeline, (struct timeline_group){.kind = TIMELINE_GROUP_PROCESS,
								    .process = i,
								    .device = TIMELINE_NONE,
								    .pid = model->processes[i].pid,
								    .name = model->processes[i].name});
		active += model->processes[i].calls || model->processes[i].gpu_ops;
	}
	timeline->several = active > 1;
}

/* What a track of a kind is before it is known whose it is. */
static struct timeline_track track_of(enum timeline_track_kind kind, uint32_t group, uint32_t process)
{
	return (struct timeline_track){.kind = kind,
				       .group = group,
				       .process = process,
				       .thread = TIMELINE_NONE,
				       .device = TIMELINE_NONE,
				       .stream = TIMELINE_NONE};
}

static uint32_t add_track(struct timeline *timeline, struct timeline_track track)
{
	array_push(&timeline->tracks, track);
	return (uint32_t)timeline->tracks.count - 1;
}

static void add_threads(struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t most_calls = 0;

	timeline->busiest = TIMELINE_NONE;
	timeline->thread_tracks = xmalloc(model->thread_count * sizeof(*timeline->thread_tracks));
	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];
		struct timeline_track track;

		timeline->thread_tracks[i] = TIMELINE_NONE;
		if (!timeline_has_process(timeline, thread->process))
			continue;
		track = track_of(TIMELINE_TRACK_THREAD, timeline->process_groups[thread->process], thread->process);
		track.tid = thread->tid;
		track.name = thread->name;
		track.first = (uint32_t)timeline->tracks.count;
		timeline->thread_tracks[i] = add_track(timeline, track);
		if (timeline->busiest == TIMELINE_NONE || thread->calls > most_calls) {
			timeline->busiest = timeline->thread_tracks[i];
			most_calls = thread->calls;
		}
		if (!thread->pyspans)
			continue;
		track.kind = TIMELINE_TRACK_INTERPRETER;
		track.first = (uint32_t)timeline->tracks.count;
		track.thread = timeline->thread_tracks[i];
		add_track(timeline, track);
	}
}

/* The track of a lane; `placed` knows where its tracks begin. */
static struct timeline_track lane_track(enum timeline_track_kind kind, const struct placed *placed, uint32_t index,
					uint32_t group, uint32_t process)
{
	const struct lane *lane = &placed->lanes.all.items[index];
	struct timeline_track track = track_of(kind, group, process);

	track.lane = lane->number;
	track.first = placed->first_track + lane->first;
	return track;
}

/* Lanes by (process, tid), of slices that are bound to a thread but not on its track. */
static void add_beside_threads(struct timeline *timeline, enum timeline_track_kind kind, struct placed *placed)
{
	placed->first_track = (uint32_t)timeline->tracks.count;
	for (uint32_t i = 0; i < placed->lanes.all.count; i++) {
		const struct tally_key *key = &placed->lanes.all.items[i].key;
		uint32_t group = kind == TIMELINE_TRACK_CUPTI ? (uint32_t)timeline->groups.count - 1
							      : timeline->process_groups[key->part[0]];
		struct timeline_track track = lane_track(kind, placed, i, group, key->part[0]);

		track.tid = key->part[1];
		add_track(timeline, track);
	}
}

static void add_ranges(struct timeline *timeline, struct placed *placed)
{
	placed->first_track = (uint32_t)timeline->tracks.count;
	for (uint32_t i = 0; i < placed->lanes.all.count; i++) {
		uint32_t thread = timeline->thread_tracks[placed->lanes.all.items[i].key.part[0]];
		const struct timeline_track *of = &timeline->tracks.items[thread];
		struct timeline_track track = lane_track(TIMELINE_TRACK_RANGES, placed, i, of->group, of->process);

		track.tid = of->tid;
		track.thread = thread;
		add_track(timeline, track);
	}
}

static uint32_t add_gpu(struct timeline *timeline, uint32_t device)
{
	struct timeline_group group = {
		.kind = TIMELINE_GROUP_GPU, .process = TIMELINE_NONE, .device = device, .name = ""};

	for (uint32_t i = timeline->model->device_count; i-- > 0;)
		if (timeline->model->devices[i].id == device)
			group.name = timeline->model->devices[i].name;
	return add_group(timeline, group);
}

/* Lanes by (process, device, stream); gpus: by device, in `more` its group. */
static void add_beside_gpus(struct timeline *timeline, enum timeline_track_kind kind, struct placed *placed,
			    struct tally *gpus)
{
	placed->first_track = (uint32_t)timeline->tracks.count;
	for (uint32_t i = 0; i < placed->lanes.all.count; i++) {
		const struct tally_key *key = &placed->lanes.all.items[i].key;
		struct tally_entry *gpu = tally_at(gpus, (struct tally_key){{key->part[1]}});
		struct timeline_track track;

		if (!gpu->count++)
			gpu->more = add_gpu(timeline, key->part[1]);
		track = lane_track(kind, placed, i, (uint32_t)gpu->more, key->part[0]);
		track.device = key->part[1];
		track.stream = key->part[2];
		add_track(timeline, track);
	}
}

void timeline_add_tracks(struct timeline *timeline)
{
	struct timeline_placement *placement = timeline->placement;
	struct tally gpus = {0};

	add_threads(timeline);
	add_beside_threads(timeline, TIMELINE_TRACK_COMPILER, &placement->jits);
	add_ranges(timeline, &placement->ranges);
	add_beside_gpus(timeline, TIMELINE_TRACK_STREAM, &placement->operations, &gpus);
	add_beside_gpus(timeline, TIMELINE_TRACK_WAITS, &placement->syncs, &gpus);
	tally_free(&gpus);
	add_group(timeline, (struct timeline_group){.kind = TIMELINE_GROUP_CUPTI,
						    .process = TIMELINE_NONE,
						    .device = TIMELINE_NONE,
						    .name = "CUPTI overhead"});
	add_beside_threads(timeline, TIMELINE_TRACK_CUPTI, &placement->overheads);
}

struct tally_key timeline_counter_key(const struct model_memory *memory)
{
	bool of_host = memory->kind && memory->kind <= MEMORY_PINNED;

	return (struct tally_key){{of_host, of_host ? 0 : memory->device}};
}

void timeline_add_counters(struct timeline *timeline)
{
	const struct model *model = timeline->model;
	struct tally seen = {0};

	for (uint32_t i = 0; i < model->memory_count; i++) {
		struct tally_key key = timeline_counter_key(&model->memories[i]);
		struct timeline_counter counter = {.of_host = key.part[0],
						   .device = key.part[0] ? TIMELINE_NONE : key.part[1]};

		if (timeline_has_process(timeline, model->memories[i].process) && !tally_at(&seen, key)->count++)
			array_push(&timeline->counters, counter);
	}
	tally_free(&seen);
}
