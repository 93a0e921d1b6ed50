/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tracks of a zoom: finds the tracks of a timeline again in another pass, and writes them for the caller. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/zoom/collect.h"
#include "model/model.h"

#define OF_SAMPLES 0x40000000u /* numbers of tracks that only samples have: after those of the timeline */

/* ---- from a timeline -------------------------------------------------------------------------------------------- */

static uint32_t rank_of(const struct timeline *timeline, uint32_t process)
{
	int64_t rank = process == TIMELINE_NONE ? -1 : timeline->model->processes[process].rank;

	return rank < 0 ? ZOOM_NONE : (uint32_t)rank;
}

static char *group_label(const struct timeline *timeline, const struct timeline_group *group)
{
	switch (group->kind) {
	case TIMELINE_GROUP_GPU:
		return xasprintf("GPU %u %s", group->device, group->name);
	case TIMELINE_GROUP_CUPTI:
		return xstrdup("CUPTI's overhead");
	case TIMELINE_GROUP_PROCESS:
		break;
	}
	if (rank_of(timeline, group->process) != ZOOM_NONE)
		return xasprintf("rank %u: %s (pid %u)", rank_of(timeline, group->process), group->name, group->pid);
	return xasprintf("%s (pid %u)", group->name, group->pid);
}

static struct zoom_track_key key_of(struct zoom *zoom, const struct timeline *timeline,
				    const struct timeline_track *track)
{
	const struct timeline_group *group = &timeline->groups.items[track->group];
	struct zoom_track_key key;

	memset(&key, 0, sizeof(key));
	key.group.kind = group->kind;
	key.group.pid = group->pid;
	key.group.device = group->device;
	key.kind = track->kind;
	key.pid = track->process != TIMELINE_NONE ? timeline->model->processes[track->process].pid : 0;
	key.tid = track->tid;
	key.device = track->device;
	key.stream = track->stream;
	key.row = track->row;
	if (track->kind == TIMELINE_TRACK_RANGES)
		key.domain = texts_id(&zoom->texts, "", track->name ? track->name : "");
	key.started = track->started;
	return key;
}

static bool is_of_group(const struct zoom_track *track, const struct zoom_group_key *group)
{
	return !memcmp(&track->key.group, group, sizeof(*group));
}

/* A track with that key that this pass does not have yet, or a new one. */
static uint32_t find_track(struct collect *collect, const struct zoom_track_key *key)
{
	struct zoom *zoom = collect->zoom;

	for (uint32_t i = 0; i < zoom->tracks.count; i++) {
		const struct zoom_track *track = &zoom->tracks.items[i];

		if (!(track->is_known && !collect->place) && !memcmp(&track->key, key, sizeof(*key)))
			return i;
	}
	array_push(&zoom->tracks, ((struct zoom_track){.key = *key, .kind = key->kind}));
	return (uint32_t)zoom->tracks.count - 1;
}

/* The timeline decides the order of groups; a group that only samples have comes after all others. */
static uint32_t place_of_group(const struct zoom *zoom, const struct zoom_group_key *group, uint32_t index)
{
	uint32_t place = OF_SAMPLES + index;

	for (uint32_t i = (uint32_t)zoom->tracks.count; i-- > 0;)
		if (i != index && is_of_group(&zoom->tracks.items[i], group) &&
		    (zoom->tracks.items[i].group_index < place || zoom->tracks.items[i].is_known))
			place = zoom->tracks.items[i].group_index;
	return place;
}

static void place_track(struct collect *collect, uint32_t index, uint32_t number)
{
	const struct timeline_track *track = &collect->timeline->tracks.items[number];
	struct zoom *zoom = collect->zoom;
	struct zoom_track *kept = &zoom->tracks.items[index];

	kept->on_gpu = collect->timeline->groups.items[track->group].kind == TIMELINE_GROUP_GPU;
	if (collect->place) {
		if (!kept->label) {
			kept->order = kept->owner = OF_SAMPLES + index;
			kept->group_index = place_of_group(zoom, &kept->key.group, index);
		}
		return;
	}
	kept->is_known = true;
	kept->order = number;
	kept->owner = track->thread != TIMELINE_NONE  ? track->thread
		      : track->first != TIMELINE_NONE ? track->first
						      : number;
	kept->group_index = track->group;
	for (size_t i = 0; i < zoom->tracks.count; i++)
		if (!zoom->tracks.items[i].is_known && is_of_group(&zoom->tracks.items[i], &kept->key.group))
			zoom->tracks.items[i].group_index = track->group;
}

static char *thread_name(const struct timeline *timeline, const struct timeline_track *track)
{
	if (track->thread != TIMELINE_NONE)
		track = &timeline->tracks.items[track->thread];
	return track->kind == TIMELINE_TRACK_THREAD && track->name ? xstrdup(track->name) : NULL;
}

void zoom_add_tracks(struct collect *collect)
{
	const struct timeline *timeline = collect->timeline;
	struct zoom *zoom = collect->zoom;

	for (uint32_t i = 0; i < timeline->tracks.count; i++) {
		const struct timeline_track *track = &timeline->tracks.items[i];
		struct zoom_track *kept;
		char label[256];

		if (i >= collect->tracks.count) {
			struct zoom_track_key key = key_of(zoom, timeline, track);

			array_push(&collect->tracks, find_track(collect, &key));
			place_track(collect, collect->tracks.items[i], i);
		}
		kept = &zoom->tracks.items[collect->tracks.items[i]];
		if (collect->place && kept->label)
			continue;
		/* only the end of a long trace gives their names */
		timeline_track_label(timeline, i, label, sizeof(label));
		free(kept->label);
		free(kept->group);
		free(kept->thread);
		kept->label = xstrdup(label);
		kept->thread = thread_name(timeline, track);
		kept->group = group_label(timeline, &timeline->groups.items[track->group]);
		kept->process = track->process;
		kept->rank = rank_of(timeline, timeline->groups.items[track->group].process);
	}
}

uint32_t zoom_memory_track(struct collect *collect, uint32_t kind, uint32_t device, const char *label)
{
	struct zoom *zoom = collect->zoom;
	bool on_gpu = device != TIMELINE_NONE;
	struct zoom_track_key key;
	struct zoom_track *track;
	char *group = NULL;
	uint32_t index;

	memset(&key, 0, sizeof(key));
	key.group.kind = on_gpu ? TIMELINE_GROUP_GPU : ZOOM_TRACK_MEMORY;
	key.group.device = on_gpu ? device : 0;
	key.kind = ZOOM_TRACK_MEMORY;
	key.row = kind;
	for (uint32_t i = 0; i < collect->timeline->groups.count && on_gpu && !group; i++)
		if (collect->timeline->groups.items[i].kind == TIMELINE_GROUP_GPU &&
		    collect->timeline->groups.items[i].device == device)
			group = group_label(collect->timeline, &collect->timeline->groups.items[i]);
	pthread_mutex_lock(&zoom->lock);
	index = find_track(collect, &key);
	track = &zoom->tracks.items[index];
	track->is_known = true;
	track->on_gpu = on_gpu;
	track->process = track->rank = ZOOM_NONE;
	track->order = track->owner = OF_SAMPLES + index;
	track->group_index = place_of_group(zoom, &key.group, index);
	track->label = xstrdup(label);
	track->group = group ? group : on_gpu ? xasprintf("GPU %u", device) : xstrdup("host");
	pthread_mutex_unlock(&zoom->lock);
	return index;
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

/* The depth as far as block starts show: long slices may begin and end inside a block. */
static uint32_t depth_of(const struct zoom *zoom, const struct zoom_track *track)
{
	uint32_t deepest = zoom_sampled_from(zoom) != UINT64_MAX ? (uint32_t)track->sampled.rows.count : 0, depth;

	for (size_t i = 0; i < track->long_slices.count; i++)
		if (track->long_slices.items[i].depth + 1 > deepest)
			deepest = track->long_slices.items[i].depth + 1;
	for (uint32_t i = 0; i < track->read.rows.count; i++) {
		const struct zoom_row *row = track->read.rows.items[i];

		for (size_t block = 0; block < row->blocks.count; block++) {
			depth = i + 1 + zoom_longs_at(track, row->blocks.items[block].first_ns);
			deepest = depth > deepest ? depth : deepest;
		}
		for (uint32_t open = 0; open < row->open_count; open++) {
			depth = i + 1 + zoom_longs_at(track, row->open[open].start_ns);
			deepest = depth > deepest ? depth : deepest;
		}
	}
	return deepest < DEPTH_MAX ? deepest : DEPTH_MAX;
}

/* The time of all slices, added up. */
static uint64_t busy_of(const struct zoom_track *track)
{
	uint64_t busy_ns = 0;

	for (size_t i = 0; i < track->long_slices.count; i++)
		busy_ns += track->long_slices.items[i].slice.end_ns - track->long_slices.items[i].slice.start_ns;
	for (uint32_t i = 0; i < track->read.rows.count; i++) {
		const struct zoom_row *row = track->read.rows.items[i];

		for (size_t block = 0; block < row->blocks.count; block++)
			busy_ns += row->blocks.items[block].busy_ns;
		for (uint32_t open = 0; open < row->open_count; open++)
			busy_ns += row->open[open].end_ns - row->open[open].start_ns;
	}
	return busy_ns;
}

/* GPUs first, by number, each with its gaps first, then processes by rank; rows of a thread stay together. */
static bool stands_before(const struct zoom_track *a, const struct zoom_track *b)
{
	bool a_gaps = a->kind == ZOOM_TRACK_GAPS, b_gaps = b->kind == ZOOM_TRACK_GAPS;

	if (a->on_gpu != b->on_gpu)
		return a->on_gpu;
	if (a->on_gpu && a->key.group.device != b->key.group.device)
		return a->key.group.device < b->key.group.device;
	if (!a->on_gpu && a->rank != b->rank)
		return a->rank < b->rank;
	if (a->group_index == b->group_index && a_gaps != b_gaps)
		return a_gaps;
	if (a->group_index != b->group_index)
		return a->group_index < b->group_index;
	if (a->owner != b->owner)
		return a->owner < b->owner;
	return a->order < b->order;
}

static void put_samples(const struct zoom *zoom, struct sink *out)
{
	uint64_t records = 0;
	char text[32];

	for (size_t i = 0; i < zoom->places.count; i++)
		records += zoom->places.items[i].records;
	snprintf(text, sizeof(text), "%.4f", zoom->records > 0 ? (double)records / zoom->records : 0.);
	sink_print(out, ",\"places\":%" PRIu64 ",\"sampled\":", (uint64_t)zoom->places.count);
	sink_text(out, text);
}

_Static_assert(TIMELINE_TRACK_STREAM == 6 && TIMELINE_TRACK_WAITS == 7 && TIMELINE_TRACK_CUPTI == 8 &&
		       TIMELINE_TRACK_OFF_CPU == 9 && TIMELINE_TRACK_CPU_SAMPLES == 10 && ZOOM_TRACK_MEMORY == 100 &&
		       ZOOM_TRACK_GAPS == 101 && ZOOM_CATEGORY_GAPS == 100 && ZOOM_CATEGORY_COUNTER == 99,
	       "page/rows.js knows rows and categories by these");

void zoom_put_tracks(struct zoom *zoom, struct sink *out)
{
	uint32_t *order, count = 0;
	uint64_t read_ns;
	bool samples;

	zoom_lock_to_ask(zoom);
	samples = zoom_sampled_from(zoom) != UINT64_MAX;
	order = xcalloc(zoom->tracks.count + 1, sizeof(*order));
	for (uint32_t i = 0; i < zoom->tracks.count; i++) {
		struct zoom_track *track = &zoom->tracks.items[i];
		uint32_t at = count;

		zoom_sort_long_slices(track);
		if (track->is_hidden ||
		    (!track->read.rows.count && !track->long_slices.count && !(samples && track->sampled.rows.count)))
			continue;
		for (; at && stands_before(track, &zoom->tracks.items[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
		count++;
	}
	read_ns = zoom->progress.done ? zoom->progress.end_ns : zoom->progress.read_ns;
	sink_print(out, "{\"span\":%" PRIu64 ",\"read\":%" PRIu64, zoom->progress.end_ns - zoom->progress.start_ns,
		   read_ns > zoom->progress.start_ns ? read_ns - zoom->progress.start_ns : 0);
	sink_text(out, zoom->progress.done ? ",\"done\":true" : ",\"done\":false");
	sink_print(out, ",\"slices\":%" PRIu64, zoom->progress.slices);
	if (zoom->progress.is_cut)
		sink_literal(out, ",\"cut\":true");
	if (samples)
		put_samples(zoom, out);
	sink_literal(out, ",\"tracks\":[");
	for (uint32_t i = 0; i < count; i++) {
		const struct zoom_track *track = &zoom->tracks.items[order[i]];

		sink_text(out, i ? ",\n" : "\n");
		sink_print(out, "[%u,%s,%s,%u,%u,%u,%" PRIu64 ",%s]", order[i], track->label, track->group,
			   depth_of(zoom, track), track->kind, track->owner, busy_of(track),
			   track->thread ? track->thread : "");
	}
	sink_literal(out, "]}");
	pthread_mutex_unlock(&zoom->lock);
	free(order);
}
