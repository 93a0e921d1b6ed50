/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Estimates where nothing was read.  How much was recorded at any time is known for all (zoom_expect_records); what it
 * was comes from the nearest place that was read.
 */

#include "export/zoom/store.h"

static double bin_length(const struct zoom *zoom)
{
	return (double)(zoom->expected_to_ns - zoom->expected_from_ns) / ZOOM_BINS;
}

static uint64_t bin_begin(const struct zoom *zoom, uint32_t bin)
{
	return zoom->expected_from_ns + (uint64_t)(bin * bin_length(zoom));
}

static uint32_t bin_at(const struct zoom *zoom, uint64_t time_ns)
{
	double bin;

	if (time_ns <= zoom->expected_from_ns || zoom->expected_to_ns <= zoom->expected_from_ns)
		return 0;
	bin = (double)(time_ns - zoom->expected_from_ns) / bin_length(zoom);
	return bin < ZOOM_BINS - 1 ? (uint32_t)bin : ZOOM_BINS - 1;
}

void zoom_expect_records(struct zoom *zoom, uint64_t from_ns, uint64_t to_ns, uint64_t records)
{
	uint32_t first, last;

	pthread_mutex_lock(&zoom->lock);
	first = bin_at(zoom, from_ns);
	last = bin_at(zoom, to_ns);
	for (uint32_t bin = first; bin <= last; bin++)
		zoom->density[bin] += (double)records / (last - first + 1);
	zoom->records += (double)records;
	pthread_mutex_unlock(&zoom->lock);
}

/* The place whose middle is nearest. */
static const struct zoom_place *nearest_place(const struct zoom *zoom, uint64_t time_ns)
{
	const struct zoom_place *best = NULL;
	uint64_t least = UINT64_MAX;

	array_each (place, &zoom->places) {
		uint64_t middle_ns = place->from_ns + (place->to_ns - place->from_ns) / 2;
		uint64_t far = middle_ns > time_ns ? middle_ns - time_ns : time_ns - middle_ns;

		if (far < least) {
			least = far;
			best = place;
		}
	}
	return best;
}

static const struct zoom_summary *summary_of(const struct zoom_row *row, uint32_t place)
{
	return array_find(&row->summaries, item, item->place == place);
}

/* The contents of a row per nanosecond of a bin, if it is as at that place. */
struct rate {
	double count, busy;
	uint32_t label;
};

static bool find_rate(const struct zoom *zoom, const struct zoom_row *row, uint32_t bin, struct rate *rate)
{
	double length = bin_length(zoom), place_length, ratio;
	const struct zoom_place *place = nearest_place(zoom, bin_begin(zoom, bin) + (uint64_t)(length / 2));
	const struct zoom_summary *summary = place ? summary_of(row, place->number) : NULL;

	if (!summary || zoom->density[bin] <= 0 || !place->records)
		return false;
	place_length = place->to_ns > place->from_ns ? (double)(place->to_ns - place->from_ns) : 1;
	ratio = zoom->density[bin] / length / ((double)place->records / place_length);
	*rate = (struct rate){.count = (double)summary->count / place_length * ratio,
			      .busy = (double)summary->busy_ns / place_length * ratio,
			      .label = summary->label};
	if (rate->busy > 1)
		rate->busy = 1;
	return true;
}

struct putting {
	void (*put)(void *context, const struct zoom_estimate *estimate);
	void *context;
};

static void put_stretch(const struct putting *putting, const struct rate *rate, uint64_t from_ns, uint64_t to_ns)
{
	double length = (double)(to_ns - from_ns), count = rate->count * length;

	/* less than half a slice counts as nothing, unless one fills most of the time */
	if (to_ns > from_ns && (count >= 0.5 || rate->busy >= 0.5))
		putting->put(putting->context, &(struct zoom_estimate){.start_ns = from_ns,
								       .end_ns = to_ns,
								       .busy_ns = (uint64_t)(rate->busy * length),
								       .count = count < 1 ? 1 : (uint64_t)(count + 0.5),
								       .label = rate->label});
}

void zoom_estimate(const struct zoom *zoom, const struct zoom_row *row, uint64_t from_ns, uint64_t to_ns,
		   void (*put)(void *context, const struct zoom_estimate *estimate), void *context)
{
	const struct putting putting = {put, context};
	struct rate rate;

	if (zoom->expected_to_ns <= zoom->expected_from_ns)
		return;
	for (uint32_t bin = bin_at(zoom, from_ns); bin < ZOOM_BINS && bin_begin(zoom, bin) < to_ns; bin++) {
		uint64_t begin_ns = bin_begin(zoom, bin), end_ns = bin_begin(zoom, bin + 1);

		begin_ns = begin_ns > from_ns ? begin_ns : from_ns;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		if (begin_ns >= end_ns || !find_rate(zoom, row, bin, &rate))
			continue;
		/* a place that was read is drawn as it is */
		for (size_t i = 0; i < zoom->places.count && zoom->places.items[i].from_ns < end_ns; i++) {
			const struct zoom_place *place = &zoom->places.items[i];

			if (place->to_ns < begin_ns)
				continue;
			if (place->from_ns > begin_ns)
				put_stretch(&putting, &rate, begin_ns, place->from_ns);
			begin_ns = place->to_ns;
		}
		if (begin_ns < end_ns)
			put_stretch(&putting, &rate, begin_ns, end_ns);
	}
}
