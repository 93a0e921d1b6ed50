/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spans of a source that is read twice: the facts of pass 1, and the parts of pass 2; see spans.h. */
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "model/spans/spans.h"

/* ---- pass 1 ------------------------------------------------------------------------------------------- */

void spans_collect(struct spans *spans)
{
	spans->collecting = true;
}

static void collect_track(struct spans *spans, uint32_t track)
{
	while (spans->fates.kept.count <= track)
		array_push(&spans->fates.kept, 0);
	spans->fates.kept.items[track]++;
}

void spans_finish_collecting(struct spans *spans)
{
	array_each (track, &spans->tracks) {
		for (size_t k = 0; k < track->open.count; k++)
			number_set_add(&spans->fates.lasting, track->open.items[k].at);
	}
	for (size_t i = 0; i < spans->loose.count; i++)
		if (spans->loose.items[i].at != SPAN_NOWHERE)
			number_set_add(&spans->fates.lasting, spans->loose.items[i].at);
}

/* ---- pass 2 ------------------------------------------------------------------------------------------------------ */

void spans_read_again(struct spans *spans, const struct spans *first)
{
	spans->known = &first->fates;
}

enum span_fate spans_next_fate(const struct spans *spans)
{
	if (!spans->known)
		return SPAN_ENDS;
	if (number_set_has(&spans->known->lost, spans->begun))
		return SPAN_LOST;
	if (number_set_has(&spans->known->over, spans->begun))
		return SPAN_OVER;
	return number_set_has(&spans->known->lasting, spans->begun) ? SPAN_LASTS : SPAN_ENDS;
}

/* Adds a span to the list and returns its index. */
static uint64_t keep_span(struct spans *spans, const struct model_span *span, bool lasts)
{
	struct model_span *kept = array_push(&spans->list, *span);
	bool moment = span->kind == MODEL_SPAN_MARK;

	kept->number = spans->numbered++;
	kept->truncated = !moment;
	if (moment)
		kept->end_ns = kept->start_ns;
	else if (lasts)
		kept->end_ns = later_time(kept->start_ns, kept->end_ns);
	return spans->list.count - 1;
}

/* Begins the next span; returns its index, its number in pass 1, or SPAN_NOWHERE. */
static uint64_t begin_next(struct spans *spans, const struct model_span *span)
{
	enum span_fate fate = spans_next_fate(spans);
	uint64_t begin = spans->begun++;

	if (spans->collecting)
		return begin;
	if (span->lost || spans->list.count >= NONE - 1)
		return SPAN_NOWHERE;
	/* the end of a lasting span is already known */
	begin = keep_span(spans, span, fate == SPAN_LASTS);
	return fate == SPAN_LASTS ? SPAN_NOWHERE : begin;
}

bool spans_begin_twice(struct spans *spans, uint32_t track, uint64_t depth, const struct model_span *span)
{
	struct open_span open = {.depth = depth};

	if (spans_next_fate(spans) == SPAN_LOST) {
		spans->begun++;
		return true;
	}
	if (spans->collecting)
		collect_track(spans, track);
	open.at = begin_next(spans, span);
	array_push(&spans->tracks.items[track].open, open);
	return true;
}

uint32_t spans_add_twice(struct spans *spans, const struct model_span *span)
{
	struct loose_span loose = {.at = begin_next(spans, span), .start_ns = span->start_ns};
	uint32_t place;

	if (span->kind == MODEL_SPAN_MARK)
		return NONE;
	if (!spans->loose_free.count) {
		array_push(&spans->loose, loose);
		return (uint32_t)spans->loose.count - 1;
	}
	place = spans->loose_free.items[--spans->loose_free.count];
	spans->loose.items[place] = loose;
	return place;
}

/* Sets the end: not before the start, and not after its upper bound. */
void spans_end_again(struct model_span *span, uint64_t time_ns)
{
	time_ns = later_time(span->start_ns, time_ns);
	if (time_ns >= span->end_ns && span->end_ns != UINT64_MAX)
		return;
	span->end_ns = time_ns;
	span->truncated = false;
}

void spans_add_whole_twice(struct spans *spans, const struct model_span *span, uint64_t end_ns)
{
	uint64_t at = begin_next(spans, span);

	if (!spans->collecting && at != SPAN_NOWHERE)
		spans_end_again(&spans->list.items[at], end_ns);
}

bool spans_end_twice(struct spans *spans, uint32_t added, uint64_t time_ns)
{
	struct loose_span *loose = &spans->loose.items[added];

	if (time_ns < loose->start_ns)
		return false;
	if (!spans->collecting && loose->at != SPAN_NOWHERE)
		spans_end_again(&spans->list.items[loose->at], time_ns);
	loose->at = SPAN_NOWHERE;
	array_push(&spans->loose_free, added);
	return true;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

struct taking {
	uint64_t until_ns;
	bool last;
	size_t threads;
};

static bool belongs_to_part(const struct taking *taking, const struct model_span *span)
{
	return !span->lost && span->thread < taking->threads && (taking->last || span->start_ns < taking->until_ns);
}

static void find_places(struct spans *spans, const struct taking *taking)
{
	uint32_t count = 0;

	free(spans->places);
	spans->places = xcalloc(taking->threads + 1, sizeof(*spans->places));
	for (size_t i = 0; i < spans->list.count; i++)
		if (belongs_to_part(taking, &spans->list.items[i]))
			spans->places[spans->list.items[i].thread].count++;
	for (size_t t = 0; t < taking->threads; t++) {
		spans->places[t].first = count;
		count += spans->places[t].count;
		spans->places[t].count = 0;
	}
	spans->part.count = 0;
	spans->part.items =
		array_reserve(spans->part.items, sizeof(*spans->part.items), 0, count + 1, &spans->part.capacity);
	spans->part.count = count;
}

/* Whether this part is the last that has the span. */
static bool is_over(const struct taking *taking, struct model_span *span)
{
	/* pass 2 was fed different events from pass 1 */
	if (taking->last && span->truncated && span->end_ns == UINT64_MAX)
		span->end_ns = span->start_ns;
	return taking->last || span->end_ns < taking->until_ns;
}

/* Puts a span into the part; returns whether it is over. */
static bool hand_over(struct spans *spans, const struct taking *taking, struct model_span *span)
{
	struct span_place *place = &spans->places[span->thread];
	struct model_span *handed = &spans->part.items[place->first + place->count++];
	bool over = is_over(taking, span);

	*handed = *span;
	handed->open = !over;
	if (!over) {
		handed->end_ns = UINT64_MAX;
		handed->truncated = false;
	}
	span->continued = true;
	return over;
}

static void move_place(const uint32_t *moved, uint64_t *at)
{
	if (*at != SPAN_NOWHERE)
		*at = moved[*at] != NONE ? moved[*at] : SPAN_NOWHERE;
}

static void follow_moved(struct spans *spans, const uint32_t *moved)
{
	for (size_t i = 0; i < spans->tracks.count; i++)
		for (size_t k = 0; k < spans->tracks.items[i].open.count; k++)
			move_place(moved, &spans->tracks.items[i].open.items[k].at);
	for (size_t i = 0; i < spans->loose.count; i++)
		move_place(moved, &spans->loose.items[i].at);
}

void spans_take_part(struct spans *spans, uint64_t until_ns, bool last, size_t threads)
{
	struct taking taking = {.until_ns = until_ns, .last = last, .threads = threads};
	AUTO_FREE uint32_t *moved = xmalloc(spans->list.count * sizeof(*moved));
	uint32_t kept = 0;

	find_places(spans, &taking);
	spans->handed_over = 0;
	for (size_t i = 0; i < spans->list.count; i++) {
		struct model_span *span = &spans->list.items[i];
		bool goes = belongs_to_part(&taking, span) ? hand_over(spans, &taking, span) : span->lost || last;

		moved[i] = goes ? NONE : kept;
		if (goes)
			continue;
		spans->handed_over += span->continued;
		spans->list.items[kept++] = *span;
	}
	spans->list.count = kept;
	follow_moved(spans, moved);
}

bool spans_are_elsewhere(const struct spans *spans, uint32_t thread, uint64_t count)
{
	const struct span_place *place = &spans->places[thread];

	for (uint32_t i = place->first; i < place->first + place->count; i++)
		if (spans->part.items[i].continued || spans->part.items[i].open)
			return true;
	return place->count < count;
}
