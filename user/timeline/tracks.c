/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/tracks.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/totals.h"
#include "timeline/members.h"
#include "timeline/placement.h"

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PINNED 2

/* Copies a text, as the model's own texts live only as long as their part. */
static const char *keep_text(struct timeline *timeline, const char *text)
{
	return *array_push(&timeline->texts, xstrdup(text));
}

static uint32_t add_group(struct timeline *timeline, struct timeline_group group)
{
	group.name = keep_text(timeline, group.name);
	array_push(&timeline->groups, group);
	return (uint32_t)timeline->groups.count - 1;
}

static bool is_active(const struct timeline *timeline, uint32_t process)
{
	const struct model_process *of = &timeline->model->processes[process];

	if (timeline->totals)
		return timeline->totals->processes[process].has_calls ||
		       timeline->totals->processes[process].has_gpu_work;
	return of->calls || of->gpu_ops;
}

static uint32_t first_expected_on_gpu(const struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->model->process_count; i++)
		if (timeline_has_process(timeline, i) && timeline->totals->processes[i].has_gpu_work)
			return i;
	return TIMELINE_NONE;
}

static bool are_several_active(const struct timeline *timeline)
{
	uint32_t active = 0;

	for (uint32_t i = 0; i < timeline->model->process_count; i++)
		active += timeline_has_process(timeline, i) && is_active(timeline, i);
	return active > 1;
}

void timeline_add_processes(struct timeline *timeline, int process)
{
	const struct model *model = timeline->model;

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
	}
	timeline->overhead_group = add_group(timeline, (struct timeline_group){.kind = TIMELINE_GROUP_CUPTI,
									       .process = TIMELINE_NONE,
									       .device = TIMELINE_NONE,
									       .name = "CUPTI overhead"});
	timeline->several = are_several_active(timeline);
	timeline->first_on_gpu = timeline->totals ? first_expected_on_gpu(timeline) : TIMELINE_NONE;
}

/* A track of a kind, before its owner is set. */
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

/* Adds a thread's steps track after its own track. */
static void add_steps(struct timeline *timeline, uint32_t thread, struct timeline_track track)
{
	array_each (steps, &timeline->steps) {
		if (steps->thread != thread)
			continue;
		steps->track = timeline->thread_tracks[thread];
		if (!steps->has_own_track)
			continue;
		track.kind = TIMELINE_TRACK_STEPS;
		track.first = (uint32_t)timeline->tracks.count;
		steps->track = add_track(timeline, track);
	}
}

static void add_threads(struct timeline *timeline)
{
	const struct model *model = timeline->model;

	timeline->thread_tracks = xmalloc(model->thread_count * sizeof(*timeline->thread_tracks));
	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];
		struct timeline_track track;

		timeline->thread_tracks[i] = TIMELINE_NONE;
		if (!timeline_has_process(timeline, thread->process))
			continue;
		track = track_of(TIMELINE_TRACK_THREAD, timeline->process_groups[thread->process], thread->process);
		track.tid = thread->tid;
		track.name = keep_text(timeline, thread->name);
		track.first = (uint32_t)timeline->tracks.count;
		timeline->thread_tracks[i] = add_track(timeline, track);
		track.thread = timeline->thread_tracks[i];
		timeline->has_torch_memory |= model->processes[thread->process].torch_memory_reported;
		if (thread->has_ops) {
			timeline->has_ops = true;
			track.kind = TIMELINE_TRACK_PYTHON;
			track.first = (uint32_t)timeline->tracks.count;
			add_track(timeline, track);
		}
		add_steps(timeline, i, track);
		if (!thread->pyspans)
			continue;
		track.kind = TIMELINE_TRACK_INTERPRETER;
		track.first = (uint32_t)timeline->tracks.count;
		add_track(timeline, track);
	}
}

/* Makes the next row a track: rows become tracks in order of appearance, after the first row of their key. */
static void add_row(struct timeline *timeline, struct placed *placed, struct timeline_track track)
{
	uint32_t index = (uint32_t)placed->tracks.count;
	const struct slice_row *row = &placed->rows.all.items[index];

	array_push(&placed->tracks, (uint32_t)timeline->tracks.count);
	track.number = index;
	track.row = row->number;
	track.first = placed->tracks.items[row->first];
	add_track(timeline, track);
}

/* Rows by (process, tid), for slices that belong to a thread but are not on its track. */
static void add_beside_THREADS(struct timeline *timeline, enum timeline_track_kind kind, struct placed *placed)
{
	for (size_t i = placed->tracks.count; i < placed->rows.all.count; i++) {
		const struct tally_key *key = &placed->rows.all.items[i].key;
		uint32_t group = kind == TIMELINE_TRACK_CUPTI ? timeline->overhead_group
							      : timeline->process_groups[key->part[0]];
		struct timeline_track track = track_of(kind, group, key->part[0]);

		track.tid = key->part[1];
		add_row(timeline, placed, track);
	}
}

/* Rows by thread of the model. */
static void add_beside_THREADS_KNOWN(struct timeline *timeline, enum timeline_track_kind kind, struct placed *placed)
{
	for (size_t i = placed->tracks.count; i < placed->rows.all.count; i++) {
		uint32_t thread = timeline->thread_tracks[placed->rows.all.items[i].key.part[0]];
		const struct timeline_track *of = &timeline->tracks.items[thread];
		struct timeline_track track = track_of(kind, of->group, of->process);

		track.tid = of->tid;
		track.thread = thread;
		add_row(timeline, placed, track);
	}
}

/* Rows by (thread, domain, whether started). */
static void add_beside_RANGES(struct timeline *timeline, enum timeline_track_kind kind, struct placed *placed)
{
	for (size_t i = placed->tracks.count; i < placed->rows.all.count; i++) {
		const struct tally_key *key = &placed->rows.all.items[i].key;
		uint32_t thread = timeline->thread_tracks[key->part[0]];
		const struct timeline_track *of = &timeline->tracks.items[thread];
		struct timeline_track track = track_of(kind, of->group, of->process);

		track.tid = of->tid;
		track.thread = thread;
		track.name = keep_text(timeline, key->part[1] != NONE ? timeline->model->strings[key->part[1]] : "");
		track.started = key->part[2];
		add_row(timeline, placed, track);
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

/* Rows by (process, device, stream). */
static void add_beside_GPUS(struct timeline *timeline, enum timeline_track_kind kind, struct placed *placed)
{
	for (size_t i = placed->tracks.count; i < placed->rows.all.count; i++) {
		const struct tally_key *key = &placed->rows.all.items[i].key;
		struct tally_entry *gpu = tally_at(&timeline->placement->gpus, (struct tally_key){{key->part[1]}});
		struct timeline_track track;

		if (!gpu->count++)
			gpu->more = add_gpu(timeline, key->part[1]);
		track = track_of(kind, (uint32_t)gpu->more, key->part[0]);
		track.device = key->part[1];
		track.stream = key->part[2];
		add_row(timeline, placed, track);
	}
}

/* Properties of a stream that appeared before its operations become known later. */
static void set_natures(struct timeline *timeline)
{
	const struct timeline_placement *placement = timeline->placement;

	for (size_t i = 0; i < placement->natures.count; i++) {
		struct timeline_track *track = &timeline->tracks.items[placement->gpu.tracks.items[i]];

		track->is_default =
			placement->natures.items[i].known && placement->natures.items[i].flags == GPT_AGENT_STREAM_NULL;
		track->priority = placement->natures.items[i].priority;
	}
}

static uint32_t first_placed_on_gpu(const struct timeline *timeline)
{
	const struct slice_rows *rows = &timeline->placement->gpu.rows;
	uint32_t first = TIMELINE_NONE;

	for (size_t i = 0; i < rows->all.count; i++)
		if (rows->all.items[i].key.part[0] < first)
			first = rows->all.items[i].key.part[0];
	return first;
}

/* Adds the tracks that only the first part adds. */
static void begin_tracks(struct timeline *timeline)
{
	add_threads(timeline);
	if (!timeline->totals)
		timeline->first_on_gpu = first_placed_on_gpu(timeline);
}

void timeline_add_tracks(struct timeline *timeline)
{
	struct timeline_placement *placement = timeline->placement;

	if (!timeline->thread_tracks)
		begin_tracks(timeline);
#define ADD(one, many, time, track, beside) add_beside_##beside(timeline, TIMELINE_TRACK_##track, &placement->many);
	TIMELINE_PLACED(ADD)
#undef ADD
	set_natures(timeline);
}

void label_row(const struct timeline *timeline, const struct timeline_track *track, bool of_gpu, char *text,
	       size_t size)
{
	const struct model_process *process = &timeline->model->processes[track->process];
	char of[64] = "", row[32] = "";

	if (of_gpu && timeline->several)
		snprintf(of, sizeof(of), " of %.20s %" PRIu32, process->name, process->pid);
	if (track->row)
		snprintf(row, sizeof(row), " (overlap %" PRIu32 ")", track->row);
	snprintf(text, size, "%s%s", of, row);
}

void timeline_find_busiest(struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t most_calls = 0;

	for (uint32_t i = 0; i < model->thread_count; i++) {
		if (timeline->thread_tracks[i] == TIMELINE_NONE)
			continue;
		if (timeline->busiest == TIMELINE_NONE || model->threads[i].calls > most_calls) {
			timeline->busiest = timeline->thread_tracks[i];
			most_calls = model->threads[i].calls;
		}
	}
}

struct tally_key timeline_counter_key(const struct model_memory *memory)
{
	bool of_host = memory->kind && memory->kind <= MEMORY_PINNED;

	return (struct tally_key){{of_host, of_host ? 0 : memory->device}};
}

void timeline_add_counters(struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->memories_in_part, model->memory_count);

	for (uint32_t i = model->memories_in_part.from; i < end; i++) {
		struct tally_key key = timeline_counter_key(&model->memories[i]);
		struct timeline_counter counter = {.of_host = key.part[0],
						   .device = key.part[0] ? TIMELINE_NONE : key.part[1]};

		if (timeline_has_process(timeline, model->memories[i].process) &&
		    !tally_at(&timeline->placement->counters, key)->count++)
			array_push(&timeline->counters, counter);
	}
}
