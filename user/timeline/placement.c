/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/placement.h"

#include <stdlib.h>

#include "base/array.h"
#include "timeline/members.h"

_Static_assert(ROWS_MAX == TIMELINE_ROWS_MAX, "timeline.h says how many");

void placed_begin(struct placed *placed, uint32_t from, uint32_t end)
{
	placed->from = from;
	placed->row_of = array_reserve(placed->row_of, sizeof(*placed->row_of), 0, end - from, &placed->room);
	for (uint32_t i = 0; i < end - from; i++)
		placed->row_of[i] = ROW_NONE;
}

static void learn_nature(struct timeline_placement *placement, uint32_t row, const struct model_gpu *op)
{
	while (row >= placement->natures.count)
		array_push(&placement->natures, ((struct stream_nature){0}));
	if (!placement->natures.items[row].known)
		placement->natures.items[row] = (struct stream_nature){true, op->stream_flags, op->priority};
}

void place_gpu(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->gpu;
	const struct model *model = timeline->model;
	uint32_t from = model->gpu_in_part.from, end = in_part_end(&model->gpu_in_part, model->gpu_count);

	placed_begin(placed, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct model_gpu *op = &model->gpu[i];
		uint32_t row;

		if (!timeline_has_process(timeline, op->process))
			continue;
		if (!op->end_ns || op->end_ns < op->start_ns) {
			placement->omitted.untimed++;
			continue;
		}
		row = slice_rows_place(&placed->rows, (struct tally_key){{op->process, op->device, op->stream}},
				       op->start_ns, op->end_ns);
		placed->row_of[i - from] = row;
		placement->omitted.gpu += row == ROW_NONE;
		placement->omitted.unseen += op->call == NONE && !op->before;
		if (row != ROW_NONE)
			learn_nature(placement, row, op);
	}
}

/*
 * A wait may name a stream whose operations come in later parts, on a track that has a number then.  Streams of the
 * first process with GPU work have their own number anyway.
 */
static void reserve_streams(struct timeline *timeline, const struct model_sync *sync)
{
	const uint32_t streams[] = {sync->stream, sync->recorded_on};

	if (!timeline->totals || sync->process == timeline->first_on_gpu || sync->device == NONE)
		return;
	for (size_t i = 0; i < 2; i++)
		if (streams[i] != NONE)
			slice_rows_reserve(&timeline->placement->gpu.rows,
					   (struct tally_key){{sync->process, sync->device, streams[i]}});
}

void place_syncs(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->syncs;
	const struct model *model = timeline->model;
	uint32_t from = model->syncs_in_part.from, end = in_part_end(&model->syncs_in_part, model->sync_count);

	placed_begin(placed, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct model_sync *sync = &model->syncs[i];

		if (!timeline_has_process(timeline, sync->process))
			continue;
		if (sync->device != NONE)
			placed->row_of[i - from] = slice_rows_place(
				&placed->rows, (struct tally_key){{sync->process, sync->device, sync->stream}},
				sync->start_ns, sync->end_ns);
		placement->omitted.syncs += placed->row_of[i - from] == ROW_NONE;
		reserve_streams(timeline, sync);
	}
}

/* Pushed ones nest, so only the outermost takes a row, and that is always the first. */
static void place_range(struct slice_rows *rows, const struct model_span *range, struct open_range *placed)
{
	struct tally_key key = {{range->thread, range->domain, range->kind == MODEL_SPAN_STARTED}};
	uint32_t first = range->kind == MODEL_SPAN_STARTED ? ROW_NONE : slice_rows_first(rows, key);

	placed->takes_row = first == ROW_NONE || rows->all.items[first].last_end_ns <= range->start_ns;
	placed->row = placed->takes_row ? slice_rows_place(rows, key, range->start_ns, range->end_ns) : first;
}

/* The end of one that is open is UINT64_MAX: as good as the true one, after everything that begins in this part. */
static struct open_range place_new_or_open(struct timeline *timeline, struct timeline_placement *placement,
					   const struct model_span *range)
{
	const struct open_range *before = open_ranges_find(&placement->open_ranges, range);
	struct open_range placed = {.key = range->number, .thread = range->thread, .row = ROW_NONE};

	if (before) {
		if (before->takes_row && before->row != ROW_NONE)
			slice_rows_end(&placement->ranges.rows, before->row, range->end_ns);
		return *before;
	}
	placed.number = placement->next_range++;
	if (timeline_has_thread(timeline, range->thread)) {
		place_range(&placement->ranges.rows, range, &placed);
		placement->omitted.ranges += placed.row == ROW_NONE;
	}
	return placed;
}

void place_ranges(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->ranges;
	const struct model *model = timeline->model;

	placed_begin(placed, 0, model->range_count);
	placement->range_numbers = array_reserve(placement->range_numbers, sizeof(*placement->range_numbers), 0,
						 model->range_count, &placement->range_room);
	open_ranges_next_part(&placement->open_ranges);
	for (uint32_t i = 0; i < model->range_count; i++) {
		struct open_range range = place_new_or_open(timeline, placement, &model->ranges[i]);

		placed->row_of[i] = range.row;
		placement->range_numbers[i] = range.number;
		if (model->ranges[i].open)
			open_ranges_keep(&placement->open_ranges, &range);
	}
}

static int by_start(const void *left, const void *right, void *context)
{
	const struct model_overhead *overheads = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t start_a = overheads[a].start_ns, start_b = overheads[b].start_ns;

	if (start_a != start_b)
		return start_a < start_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

void place_overheads(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->overheads;
	const struct model *model = timeline->model;
	uint32_t from = model->overheads_in_part.from,
		 end = in_part_end(&model->overheads_in_part, model->overhead_count);

	placed_begin(placed, from, end);
	placement->overhead_order.count = 0;
	for (uint32_t i = from; i < end; i++)
		if (timeline_has_process(timeline, model->overheads[i].process) && model->overheads[i].end_ns &&
		    model->overheads[i].end_ns >= model->overheads[i].start_ns)
			array_push(&placement->overhead_order, i);
	if (placement->overhead_order.count)
		qsort_r(placement->overhead_order.items, placement->overhead_order.count, sizeof(uint32_t), by_start,
			model->overheads);
	for (size_t k = 0; k < placement->overhead_order.count; k++) {
		uint32_t index = placement->overhead_order.items[k];
		const struct model_overhead *overhead = &model->overheads[index];

		placed->row_of[index - from] =
			slice_rows_place(&placed->rows, (struct tally_key){{overhead->process, overhead->tid}},
					 overhead->start_ns, overhead->end_ns);
	}
}

void timeline_place_part(struct timeline *timeline)
{
	struct timeline_placement *placement = timeline->placement;

#define PLACE(one, many, ...) place_##many(timeline, placement);
	TIMELINE_PLACED(PLACE)
#undef PLACE
}

struct timeline_placement *timeline_placement_new(void)
{
	return xcalloc(1, sizeof(struct timeline_placement));
}

static void end(struct placed *placed)
{
	slice_rows_free(&placed->rows);
	free(placed->row_of);
	array_free(&placed->tracks);
}

void timeline_placement_free(struct timeline_placement *placement)
{
	if (!placement)
		return;
#define END(one, many, ...) end(&placement->many);
	TIMELINE_PLACED(END)
#undef END
	open_ranges_free(&placement->open_ranges);
	free(placement->range_numbers);
	tally_free(&placement->gpus);
	tally_free(&placement->counters);
	array_free(&placement->natures);
	array_free(&placement->overhead_order);
	array_free(&placement->sample_starts);
	array_free(&placement->known_until);
	free(placement);
}
