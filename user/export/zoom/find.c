/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds slices: how many are in a range, the next one by name, a call and its GPU work. */
#include <stdlib.h>
#include <string.h>

#include "export/zoom/store.h"

static uint64_t count_long_slices(const struct zoom_track *track, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < track->long_slices.count; i++)
		count += track->long_slices.items[i].slice.end_ns >= from_ns &&
			 track->long_slices.items[i].slice.start_ns < to_ns;
	return count;
}

uint64_t zoom_count(struct zoom *zoom, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	pthread_mutex_lock(&zoom->lock);
	array_each (track, &zoom->tracks) {
		count += count_long_slices(track, from_ns, to_ns);
		for (size_t depth = 0; depth < track->read.rows.count; depth++) {
			const struct zoom_row *row = track->read.rows.items[depth];

			for (size_t block = 0; block < row->blocks.count; block++)
				if (row->blocks.items[block].end_ns >= from_ns &&
				    row->blocks.items[block].first_ns < to_ns)
					count += row->blocks.items[block].count;
			for (uint32_t open = 0; open < row->open_count; open++)
				count += row->open[open].end_ns >= from_ns && row->open[open].start_ns < to_ns;
		}
	}
	pthread_mutex_unlock(&zoom->lock);
	return count;
}

/* ---- by name ---------------------------------------------------------------------------------------------------- */

struct search {
	struct zoom *zoom;
	const uint8_t *wanted; /* labels: a byte each */
	uint64_t after_ns;
	uint64_t from_ns, to_ns; /* range in which the slices begin */
	struct zoom_hit *hit;
	bool found;
};

static void look_at(struct search *search, const struct zoom_slice *slice, uint32_t track, uint32_t depth)
{
	if (!search->wanted[slice->label] || slice->start_ns <= search->after_ns || slice->start_ns < search->from_ns ||
	    slice->start_ns >= search->to_ns || (search->found && slice->start_ns >= search->hit->start_ns))
		return;
	*search->hit =
		(struct zoom_hit){.track = track,
				  .depth = depth + zoom_longs_at(&search->zoom->tracks.items[track], slice->start_ns),
				  .start_ns = slice->start_ns,
				  .end_ns = slice->end_ns,
				  .label = slice->label};
	search->found = true;
}

static void look_in_row(struct search *search, uint32_t track, uint32_t depth, const struct zoom_row *row)
{
	struct zoom_slice slices[BLOCK_SLICES];

	array_each (block, &row->blocks) {
		uint32_t count;

		if (block->end_ns <= search->after_ns)
			continue;
		if (search->found && block->first_ns >= search->hit->start_ns)
			return;
		count = zoom_unpack(search->zoom, block, slices);
		for (uint32_t slice = 0; slice < count; slice++)
			look_at(search, &slices[slice], track, depth);
	}
	for (uint32_t i = 0; i < row->open_count; i++)
		look_at(search, &row->open[i], track, depth);
}

static void look_in_layer(struct search *search, uint32_t track, const struct zoom_layer *layer, uint64_t from_ns,
			  uint64_t to_ns)
{
	search->from_ns = from_ns;
	search->to_ns = to_ns;
	for (uint32_t depth = 0; depth < layer->rows.count; depth++)
		look_in_row(search, track, depth, layer->rows.items[depth]);
}

bool zoom_find(struct zoom *zoom, const char *text, uint64_t after_ns, struct zoom_hit *hit)
{
	struct search search = {.zoom = zoom, .after_ns = after_ns, .hit = hit};
	uint64_t sampled_ns;
	AUTO_FREE uint8_t *wanted = NULL;
	bool any = false;

	zoom_lock_to_ask(zoom);
	wanted = xcalloc(zoom->labels.count + 1, 1);
	for (size_t i = 0; i < zoom->labels.count; i++) {
		const struct zoom_label *label = &zoom->labels.items[i];

		wanted[i] = strcasestr(texts_at(&zoom->texts, label->name), text) ||
			    strcasestr(texts_at(&zoom->texts, label->where), text);
		any = any || wanted[i];
	}
	search.wanted = wanted;
	sampled_ns = zoom_sampled_from(zoom);
	for (uint32_t track = 0; any && track < zoom->tracks.count; track++) {
		struct zoom_track *at = &zoom->tracks.items[track];

		if (at->is_hidden)
			continue;
		zoom_sort_long_slices(at);
		look_in_layer(&search, track, &at->read, 0, sampled_ns);
		if (sampled_ns != UINT64_MAX)
			look_in_layer(&search, track, &at->sampled, sampled_ns, UINT64_MAX);
		array_each (one, &at->long_slices) {
			if (wanted[one->slice.label] && one->slice.start_ns > after_ns &&
			    (!search.found || one->slice.start_ns < hit->start_ns)) {
				*hit = (struct zoom_hit){.track = track,
							 .depth = one->depth,
							 .start_ns = one->slice.start_ns,
							 .end_ns = one->slice.end_ns,
							 .label = one->slice.label};
				search.found = true;
			}
		}
	}
	pthread_mutex_unlock(&zoom->lock);
	return search.found;
}

/* ---- by number -------------------------------------------------------------------------------------------------- */

struct link {
	struct zoom *zoom;
	uint64_t number;
	struct zoom_hit *hit;
	bool found;
};

static void look_for_number(struct link *link, uint32_t track, uint32_t depth, const struct zoom_slice *slices,
			    uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct zoom_slice *slice = &slices[i];

		if (slice->number != link->number || (link->found && slice->start_ns >= link->hit->start_ns))
			continue;
		*link->hit = (struct zoom_hit){
			.track = track,
			.depth = depth + zoom_longs_at(&link->zoom->tracks.items[track], slice->start_ns),
			.start_ns = slice->start_ns,
			.end_ns = slice->end_ns,
			.label = slice->label};
		link->found = true;
	}
}

bool zoom_find_linked(struct zoom *zoom, uint64_t number, bool on_gpu, struct zoom_hit *hit)
{
	struct link link = {.zoom = zoom, .number = number, .hit = hit};
	struct zoom_slice slices[BLOCK_SLICES];

	zoom_lock_to_ask(zoom);
	for (uint32_t track = 0; number && track < zoom->tracks.count; track++) {
		struct zoom_track *at = &zoom->tracks.items[track];

		if (at->on_gpu != on_gpu || at->kind == ZOOM_TRACK_MEMORY || at->kind == ZOOM_TRACK_GAPS)
			continue;
		zoom_sort_long_slices(at);
		for (uint32_t depth = 0; depth < at->read.rows.count; depth++) {
			const struct zoom_row *row = at->read.rows.items[depth];

			for (size_t i = 0; i < row->blocks.count; i++)
				if (row->blocks.items[i].least_number <= number &&
				    row->blocks.items[i].most_number >= number)
					look_for_number(&link, track, depth, slices,
							zoom_unpack(zoom, &row->blocks.items[i], slices));
			look_for_number(&link, track, depth, row->open, row->open_count);
		}
	}
	pthread_mutex_unlock(&zoom->lock);
	return link.found;
}

void zoom_put_hit_label(struct zoom *zoom, const struct zoom_hit *hit, struct sink *out)
{
	const struct zoom_label *label;

	zoom_lock_to_ask(zoom);
	label = &zoom->labels.items[hit->label];
	sink_literal(out, ",\"name\":");
	sink_json(out, texts_at(&zoom->texts, label->name));
	sink_literal(out, ",\"where\":");
	sink_json(out, texts_at(&zoom->texts, label->where));
	pthread_mutex_unlock(&zoom->lock);
}
