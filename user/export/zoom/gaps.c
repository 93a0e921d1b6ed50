/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gaps of GPUs, as a row of each: parts of idle time by what they are charged to.  They are added when all other slices
 * are there; what a reason is called is known once all gaps are, so until then the rows are hidden.
 */
#include <string.h>

#include "export/zoom/store.h"

static uint32_t find_row(const struct zoom *zoom, uint32_t kind, uint32_t device)
{
	for (uint32_t i = 0; i < zoom->tracks.count; i++)
		if (zoom->tracks.items[i].on_gpu && zoom->tracks.items[i].key.group.device == device &&
		    (kind == ZOOM_NONE || zoom->tracks.items[i].kind == kind))
			return i;
	return ZOOM_NONE;
}

/* The row for the gaps of a GPU, beside its other rows; ZOOM_NONE: the timeline does not have that GPU. */
static uint32_t row_of(struct zoom *zoom, uint32_t device)
{
	uint32_t row = find_row(zoom, ZOOM_TRACK_GAPS, device), other = find_row(zoom, ZOOM_NONE, device);
	struct zoom_track track = {.kind = ZOOM_TRACK_GAPS, .on_gpu = true, .is_known = true, .is_hidden = true};

	if (row != ZOOM_NONE || other == ZOOM_NONE)
		return row;
	track.key.group = zoom->tracks.items[other].key.group;
	track.key.kind = ZOOM_TRACK_GAPS;
	track.key.device = device;
	track.group_index = zoom->tracks.items[other].group_index;
	track.process = track.rank = ZOOM_NONE;
	track.group = xstrdup(zoom->tracks.items[other].group);
	track.label = xstrdup("idle");
	array_push(&zoom->tracks, track);
	return (uint32_t)zoom->tracks.count - 1;
}

void zoom_add_gap(struct zoom *zoom, uint32_t device, const struct zoom_gap_part *parts, size_t count)
{
	uint32_t row;

	zoom_let_ask(zoom);
	pthread_mutex_lock(&zoom->lock);
	if (!zoom->gap_labels) {
		zoom->gap_labels = true;
		zoom->first_gap_label = (uint32_t)zoom->labels.count;
	}
	row = row_of(zoom, device);
	for (size_t i = 0; row != ZOOM_NONE && i < count; i++) {
		uint32_t label = zoom->first_gap_label + parts[i].reason;

		while (zoom->labels.count <= label)
			array_push(&zoom->labels, (struct zoom_label){.leads_to = ZOOM_NONE});
		zoom_add(zoom, row,
			 &(struct zoom_slice){.start_ns = parts[i].from_ns, .end_ns = parts[i].to_ns, .label = label});
	}
	pthread_mutex_unlock(&zoom->lock);
}

/* A row with slices. */
static uint32_t row_of_thread(const struct zoom *zoom, uint32_t process, uint32_t tid)
{
	for (uint32_t i = 0; i < zoom->tracks.count; i++) {
		const struct zoom_track *track = &zoom->tracks.items[i];

		if (!track->on_gpu && track->process == process && track->key.tid == tid &&
		    (track->read.rows.count || track->long_slices.count))
			return i;
	}
	return ZOOM_NONE;
}

/* As in zoom_label. */
static uint32_t stack_text(struct zoom *zoom, const struct zoom_reason *as)
{
	struct sink text;
	uint32_t id;

	if (!as->frame_count)
		return texts_id(&zoom->texts, "", "");
	sink_open_memory(&text);
	sink_i64(&text, as->own);
	for (size_t i = 0; i < as->frame_count; i++) {
		sink_char(&text, ',');
		sink_u64(&text, texts_id(&zoom->texts, "", as->frames[i]));
	}
	sink_char(&text, '\0');
	id = texts_id(&zoom->texts, "", text.buffer);
	sink_close(&text);
	return id;
}

void zoom_name_reason(struct zoom *zoom, uint32_t reason, const struct zoom_reason *as)
{
	uint32_t number = zoom->first_gap_label + reason;
	struct zoom_label *label;

	pthread_mutex_lock(&zoom->lock);
	if (zoom->gap_labels && number < zoom->labels.count) {
		label = &zoom->labels.items[number];
		label->name = texts_id(&zoom->texts, "", as->name);
		label->where = texts_id(&zoom->texts, "", as->where);
		label->stack = stack_text(zoom, as);
		label->category = ZOOM_CATEGORY_GAPS + as->color;
		label->leads_to = as->process == ZOOM_NONE ? ZOOM_NONE : row_of_thread(zoom, as->process, as->tid);
	}
	pthread_mutex_unlock(&zoom->lock);
}

void zoom_show_gaps(struct zoom *zoom)
{
	pthread_mutex_lock(&zoom->lock);
	for (size_t i = 0; i < zoom->tracks.count; i++)
		zoom->tracks.items[i].is_hidden = false;
	pthread_mutex_unlock(&zoom->lock);
}

bool zoom_gap_row(struct zoom *zoom, uint32_t device, uint32_t *row)
{
	pthread_mutex_lock(&zoom->lock);
	*row = find_row(zoom, ZOOM_TRACK_GAPS, device);
	pthread_mutex_unlock(&zoom->lock);
	return *row != ZOOM_NONE;
}
