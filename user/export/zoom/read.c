/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pass over a trace: slices arrive kind by kind, wait for the end of their part, and are kept in nesting order. */
#include <errno.h>

#include "export/zoom/collect.h"
#include "model/model.h"
#include "model/trace.h"

#define AT_ONCE 4096u /* slices that are added before other threads may ask */

static void add_long_slices(struct collect *collect)
{
	struct zoom *zoom = collect->zoom;

	for (size_t i = 0; i < zoom->tracks.count; i++)
		zoom_forget_open(&zoom->tracks.items[i]);
	for (size_t i = 0; i < collect->long_slices.count; i++)
		zoom_add_long_slice(zoom, collect->long_slices.items[i].track, &collect->long_slices.items[i].slice,
				    collect->long_slices.items[i].is_open);
	collect->long_slices.count = 0;
}

static void add_waiting(struct collect *collect)
{
	struct zoom *zoom = collect->zoom;
	size_t count = collect->waiting.slices.count;

	nesting_sort(&collect->waiting);
	pthread_mutex_lock(&zoom->lock);
	add_long_slices(collect);
	if (collect->end_ns > zoom->progress.end_ns)
		zoom->progress.end_ns = collect->end_ns;
	pthread_mutex_unlock(&zoom->lock);
	for (size_t i = 0; i < count;) {
		size_t end = i + AT_ONCE < count ? i + AT_ONCE : count;

		zoom_let_ask(zoom);
		pthread_mutex_lock(&zoom->lock);
		for (; i < end; i++) {
			const struct nested *waiting = nesting_at(&collect->waiting, i);
			const struct waiting_slice *rest =
				&collect->waiting_rest.items[nesting_place(&collect->waiting, i)];

			zoom_add(zoom, waiting->track,
				 &(struct zoom_slice){.start_ns = waiting->start_ns,
						      .end_ns = waiting->end_ns,
						      .number = rest->number,
						      .label = rest->label});
		}
		pthread_mutex_unlock(&zoom->lock);
	}
	nesting_clear(&collect->waiting);
	collect->waiting_rest.count = 0;
}

static void begin_part(void *context)
{
	struct collect *collect = context;
	struct zoom *zoom = collect->zoom;
	const struct timeline *timeline = collect->timeline;

	add_waiting(collect);
	pthread_mutex_lock(&zoom->lock);
	collect->part_from_ns = collect->next_from_ns;
	collect->next_from_ns = timeline->more ? timeline->model->until_ns : UINT64_MAX;
	zoom->progress.read_ns = collect->part_from_ns;
	zoom->progress.start_ns = timeline->start_ns;
	if (timeline->end_ns > zoom->progress.end_ns)
		zoom->progress.end_ns = timeline->end_ns;
	zoom_add_tracks(collect);
	pthread_mutex_unlock(&zoom->lock);
}

static bool see_slice(void *context, const struct timeline_slice *slice)
{
	struct collect *collect = context;
	struct zoom *zoom = collect->zoom;
	uint32_t track = collect->tracks.items[slice->track];
	struct zoom_slice kept = {.start_ns = slice->start_ns, .end_ns = slice->end_ns};
	bool is_long = slice->start_ns < collect->part_from_ns &&
		       (slice->category == TIMELINE_PYTHON || slice->category == TIMELINE_RANGE ||
			slice->category == TIMELINE_OFF_CPU || slice->category == TIMELINE_CPU_SAMPLE);

	if (slice->category == TIMELINE_TORCH_MEMORY) {
		zoom_see_torch_memory(collect, slice);
		return true;
	}
	if (kept.end_ns < kept.start_ns)
		kept.end_ns = kept.start_ns;
	kept.label = zoom_label_of(collect, slice);
	kept.number = zoom_number_of(slice);
	if (kept.end_ns > collect->end_ns)
		collect->end_ns = kept.end_ns;
	if (is_long) {
		array_push(&collect->long_slices, ((struct waiting_long_slice){.slice = kept, .track = track}));
	} else {
		zoom_wait(collect, track, &kept);
	}
	return !atomic_load_explicit(&zoom->stopped, memory_order_relaxed);
}

static void see_open(void *context, const struct timeline_slice *slice)
{
	struct collect *collect = context;
	struct waiting_long_slice open = {.slice = {.start_ns = slice->start_ns, .end_ns = slice->end_ns},
					  .track = collect->tracks.items[slice->track],
					  .is_open = true};

	open.slice.label = zoom_label_of(collect, slice);
	if (open.slice.end_ns >= open.slice.start_ns)
		array_push(&collect->long_slices, open);
}

static bool see_memory(void *context, const struct timeline_memory *memory)
{
	struct collect *collect = context;

	zoom_see_cuda_memory(collect, memory);
	return !atomic_load_explicit(&collect->zoom->stopped, memory_order_relaxed);
}

static bool see_counter(void *context, const struct timeline_value *value)
{
	struct collect *collect = context;

	zoom_see_gpu_counter(collect, value);
	return !atomic_load_explicit(&collect->zoom->stopped, memory_order_relaxed);
}

/* Whether the trace is cut, according to its receipt. */
static bool is_cut(const struct model *last)
{
	const struct model_receipt *receipt = last ? &model_source(last)->receipt : NULL;

	return receipt && (receipt->truncated || !receipt->end_reason);
}

int zoom_read(struct zoom *zoom, struct trace *trace, int process)
{
	struct collect collect;
	const struct timeline_visitor visitor = {.context = &collect,
						 .part = begin_part,
						 .slice = see_slice,
						 .memory = see_memory,
						 .counter = see_counter,
						 .open = see_open};
	int error;

	if (!zoom_collect_begin(&collect, zoom, trace, process))
		return trace->error;
	error = timeline_visit(collect.timeline, &visitor);
	zoom_end_memory(&collect, collect.timeline->end_ns);
	add_waiting(&collect);
	pthread_mutex_lock(&zoom->lock);
	zoom_add_tracks(&collect);
	if (!error && atomic_load(&zoom->stopped))
		error = -ECANCELED;
	if (!error) {
		zoom->progress.read_ns = UINT64_MAX;
		zoom->progress.done = true;
		zoom->progress.is_cut = is_cut(trace->part);
		zoom_drop_samples(zoom);
	}
	pthread_mutex_unlock(&zoom->lock);
	zoom_collect_end(&collect);
	return error;
}
