/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs starts with ends.  A span that began before the trace has no start and is left out; see spans.h. */
#include "model/spans/spans.h"

#include <stdlib.h>
#include <string.h>

void spans_free(struct spans *spans)
{
	for (size_t i = 0; i < spans->tracks.count; i++)
		array_free(&spans->tracks.items[i].open);
	array_free(&spans->tracks);
	number_set_free(&spans->fates.lost);
	number_set_free(&spans->fates.lasting);
	number_set_free(&spans->fates.over);
	array_free(&spans->fates.kept);
	array_free(&spans->fates.ends);
	array_free(&spans->loose);
	array_free(&spans->loose_free);
	array_free(&spans->part);
	free(spans->places);
}

static struct span_track *track_of(struct spans *spans, uint32_t track)
{
	while (spans->tracks.count <= track)
		array_push(&spans->tracks, ((struct span_track){0}));
	return &spans->tracks.items[track];
}

uint64_t spans_next_depth(struct spans *spans, uint32_t track)
{
	return SPAN_DEPTH_OUTERMOST - track_of(spans, track)->open.count;
}

uint64_t spans_last_depth(struct spans *spans, uint32_t track)
{
	return spans_next_depth(spans, track) + 1;
}

static struct open_span *innermost_span(struct span_track *track)
{
	return track->open.count ? &track->open.items[track->open.count - 1] : NULL;
}

static bool is_read_twice(const struct spans *spans)
{
	return spans->collecting || spans->known;
}

static void lose_span(struct spans *spans, struct span_track *track, const struct open_span *open)
{
	if (open->at == SPAN_NOWHERE)
		return;
	spans->lost++;
	if (spans->collecting) {
		number_set_add(&spans->fates.lost, open->at);
		spans->fates.kept.items[track - spans->tracks.items]--;
	} else {
		spans->list.items[open->at].lost = true;
	}
}

/* Spans below the depth are over, but their end was not seen. */
static void lose_below(struct spans *spans, struct span_track *track, uint64_t depth)
{
	struct open_span *open;

	while ((open = innermost_span(track)) && open->depth < depth) {
		lose_span(spans, track, open);
		track->open.count--;
	}
}

/* Never before the start, even in a damaged source. */
static void set_end(struct model_span *span, uint64_t time_ns)
{
	span->end_ns = time_ns > span->start_ns ? time_ns : span->start_ns;
}

uint32_t spans_add(struct spans *spans, const struct model_span *span)
{
	struct model_span *added;

	if (is_read_twice(spans))
		return spans_add_twice(spans, span);
	added = array_push(&spans->list, *span);
	added->end_ns = added->start_ns;
	added->truncated = span->kind != MODEL_SPAN_MARK;
	return (uint32_t)spans->list.count - 1;
}

void spans_add_whole(struct spans *spans, const struct model_span *span, uint64_t end_ns)
{
	if (is_read_twice(spans))
		spans_add_whole_twice(spans, span, end_ns);
	else
		spans_end_at(spans, spans_add(spans, span), end_ns);
}

bool spans_begin(struct spans *spans, uint32_t track_index, uint64_t depth, const struct model_span *span)
{
	struct span_track *track = track_of(spans, track_index);

	/* a span at the same depth is over, too */
	lose_below(spans, track, depth < SPAN_DEPTH_OUTERMOST ? depth + 1 : depth);
	if (is_read_twice(spans))
		return spans_begin_twice(spans, track_index, depth, span);
	if (spans->list.count >= NONE - 1)
		return false;
	array_push(&track->open, ((struct open_span){.depth = depth, .at = spans_add(spans, span)}));
	return true;
}

static void end_span(struct spans *spans, const struct open_span *open, uint64_t time_ns)
{
	struct model_span *span;

	if (spans->collecting || open->at == SPAN_NOWHERE)
		return;
	span = &spans->list.items[open->at];
	if (spans->known) {
		spans_end_again(span, time_ns);
		return;
	}
	set_end(span, time_ns);
	span->truncated = false;
}

static bool is_of_kind(const struct spans *spans, const struct open_span *open, enum model_span_kind kind)
{
	return spans->collecting || open->at == SPAN_NOWHERE || spans->list.items[open->at].kind == kind;
}

void spans_end(struct spans *spans, uint32_t track_index, uint64_t depth, enum model_span_kind kind, uint64_t time_ns)
{
	struct span_track *track = track_of(spans, track_index);
	const struct open_span *open;

	lose_below(spans, track, depth);
	open = innermost_span(track);
	if (!open || open->depth != depth || !is_of_kind(spans, open, kind))
		return;
	end_span(spans, open, time_ns);
	track->open.count--;
}

bool spans_end_at(struct spans *spans, uint32_t added, uint64_t time_ns)
{
	struct model_span *span;

	if (is_read_twice(spans))
		return spans_end_twice(spans, added, time_ns);
	span = &spans->list.items[added];
	if (time_ns < span->start_ns)
		return false;
	span->end_ns = time_ns;
	span->truncated = false;
	return true;
}

void spans_close_track(struct spans *spans, uint32_t track_index, uint64_t time_ns)
{
	struct span_track *track = track_of(spans, track_index);

	while (track->open.count) {
		uint64_t at = track->open.items[--track->open.count].at;

		if (!spans->collecting && at != SPAN_NOWHERE)
			set_end(&spans->list.items[at], time_ns);
	}
}

struct span_place *spans_order_by_thread(struct spans *spans, size_t threads)
{
	struct span_place *places = xcalloc(threads + 1, sizeof(*places));
	struct model_span *ordered = xmalloc(spans->list.count * sizeof(*ordered));
	uint32_t kept = 0;

	for (size_t i = 0; i < spans->list.count; i++)
		places[spans->list.items[i].thread].count += !spans->list.items[i].lost;
	for (size_t t = 0; t < threads; t++) {
		places[t].first = kept;
		kept += places[t].count;
		places[t].count = 0;
	}
	array_each (span, &spans->list) {
		struct span_place *place = &places[span->thread];

		if (span->lost)
			continue;
		ordered[place->first + place->count] = *span;
		ordered[place->first + place->count++].number = spans->numbered++;
	}
	free(spans->list.items);
	spans->list.items = ordered;
	spans->list.count = spans->list.capacity = kept;
	return places;
}
