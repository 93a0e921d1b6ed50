/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Places of a long trace that are read by themselves, before the whole trace is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "export/zoom/collect.h"
#include "model/trace.h"

/*
 * Cuts a slice to the place: if it is open at the place's edges, it is known to be so only inside.  A GPU has what was
 * recorded in the place, which ran then or a little before.  False: nothing of the slice is known to be there.
 */
static bool cut_slice(const struct zoom *zoom, const struct zoom_place *place, const struct zoom_track *track,
		      struct zoom_slice *slice)
{
	uint64_t from_ns = track->on_gpu ? zoom->expected_from_ns : place->from_ns;
	uint64_t to_ns = track->on_gpu ? zoom->expected_to_ns : place->to_ns;

	if (slice->start_ns > to_ns || slice->end_ns < from_ns)
		return false;
	if (slice->start_ns < from_ns)
		slice->start_ns = from_ns;
	if (slice->end_ns > to_ns)
		slice->end_ns = to_ns;
	return slice->end_ns >= slice->start_ns;
}

static void begin_part(void *context)
{
	struct collect *collect = context;

	pthread_mutex_lock(&collect->zoom->lock);
	zoom_add_tracks(collect);
	pthread_mutex_unlock(&collect->zoom->lock);
}

static bool see_slice(void *context, const struct timeline_slice *slice)
{
	struct collect *collect = context;
	struct zoom *zoom = collect->zoom;
	uint32_t track = collect->tracks.items[slice->track];
	struct zoom_slice kept = {.start_ns = slice->start_ns, .end_ns = slice->end_ns};
	uint32_t label = zoom_label_of(collect, slice);

	/* this thread is the only writer, so it reads without the lock */
	if (slice->category != TIMELINE_TORCH_MEMORY &&
	    cut_slice(zoom, collect->place, &zoom->tracks.items[track], &kept)) {
		kept.label = label;
		kept.number = zoom_number_of(slice);
		zoom_wait(collect, track, &kept);
	}
	return !atomic_load_explicit(&zoom->stopped, memory_order_relaxed);
}

static bool see_memory(void *context, const struct timeline_memory *memory)
{
	struct collect *collect = context;

	(void)memory;
	return !atomic_load_explicit(&collect->zoom->stopped, memory_order_relaxed);
}

DEFINE_ORDER(by_begin, struct zoom_place, least_first(a->from_ns, b->from_ns))

/* Adds everything at once: threads that ask see the whole place or nothing of it. */
static void add_place(struct collect *collect)
{
	struct zoom *zoom = collect->zoom;
	struct zoom_place place = *collect->place;

	nesting_sort(&collect->waiting);
	pthread_mutex_lock(&zoom->lock);
	place.number = zoom->next_place++;
	for (size_t i = 0; i < collect->waiting.slices.count; i++) {
		const struct nested *waiting = nesting_at(&collect->waiting, i);
		const struct waiting_slice *rest = &collect->waiting_rest.items[nesting_place(&collect->waiting, i)];

		zoom_add_sampled(zoom, waiting->track,
				 &(struct zoom_slice){.start_ns = waiting->start_ns,
						      .end_ns = waiting->end_ns,
						      .number = rest->number,
						      .label = rest->label},
				 place.number);
	}
	for (size_t i = 0; i < zoom->tracks.count; i++)
		zoom_end_sampled(zoom, &zoom->tracks.items[i]);
	array_push(&zoom->places, place);
	array_sort(&zoom->places, by_begin);
	pthread_mutex_unlock(&zoom->lock);
}

int zoom_sample(struct zoom *zoom, struct trace *trace, int process, const struct zoom_place *place)
{
	struct collect collect;
	const struct timeline_visitor visitor = {
		.context = &collect, .part = begin_part, .slice = see_slice, .memory = see_memory};
	int error;

	if (!zoom_collect_begin(&collect, zoom, trace, process))
		return trace->error;
	collect.place = place;
	error = timeline_visit(collect.timeline, &visitor);
	if (!error && atomic_load(&zoom->stopped))
		error = -ECANCELED;
	if (!error)
		add_place(&collect);
	zoom_collect_end(&collect);
	return error;
}

void zoom_show_samples(struct zoom *zoom)
{
	pthread_mutex_lock(&zoom->lock);
	zoom->shows_samples = zoom->places.count > 0;
	pthread_mutex_unlock(&zoom->lock);
}

void zoom_drop_samples(struct zoom *zoom)
{
	zoom->shows_samples = false;
	zoom->places.count = 0;
	for (size_t i = 0; i < zoom->tracks.count; i++) {
		zoom_free_layer(&zoom->tracks.items[i].sampled);
		memset(&zoom->tracks.items[i].sampled, 0, sizeof(zoom->tracks.items[i].sampled));
	}
}
