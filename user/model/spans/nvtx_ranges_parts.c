/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges of a source that is read twice.  Pass 1 collects owners, ends of programs and losses, so that pass 2
 * knows at a range's start whether it is left out, and the latest possible end.  First come look-ups used by both
 * passes.
 */
#include <stdlib.h>

#include "base/distance.h"
#include "base/order.h"
#include "model/spans/nvtx_ranges.h"

/* The end of the owner's program, or of the trace. */
uint64_t ranges_last_moment(const struct ranges *ranges, const struct range_owner *owner, uint64_t end_ns)
{
	const struct model_process *process = &ranges->processes->list.items[owner->program.process];
	const uint32_t *exec = lookup_get(&ranges->epoch_execs, owner->program.epoch, 0);
	uint64_t last = exec ? ranges->execs.items[*exec] : process->exit_ns;

	return last && last < end_ns ? last : end_ns;
}

uint32_t ranges_thread_of(struct ranges *ranges, const struct range_owner *owner)
{
	const uint32_t *thread = lookup_get(&ranges->tids, owner->program.epoch, owner->tid);

	return thread ? *thread : process_table_find_thread(ranges->processes, owner->program.process, owner->tid);
}

/* The first loss that had not ended when a range began, NULL: none. */
const struct range_loss *ranges_loss_after(const struct ranges *ranges, uint32_t epoch, uint64_t start_ns)
{
	const struct range_loss *all = ranges->losses.items;
	size_t low = count_while(ranges->losses.count, i,
				 all[i].epoch < epoch || (all[i].epoch == epoch && all[i].to_ns < start_ns));

	return low < ranges->losses.count && all[low].epoch == epoch ? &all[low] : NULL;
}

/* Of a range that was open when the trace began only what follows is in it. */
void ranges_cut_before(struct model_span *range, uint64_t start_ns)
{
	if (range->start_ns >= start_ns)
		return;
	range->lost |= range->kind == MODEL_SPAN_MARK || range->end_ns <= start_ns;
	range->before = true;
	range->start_ns = start_ns;
}

void ranges_free_readings(struct ranges *ranges)
{
	array_free(&ranges->passes.starters);
	array_free(&ranges->passes.threads);
	array_free(&ranges->passes.begins);
	lookup_free(&ranges->passes.by_owner);
}

/* ---- pass 1 ------------------------------------------------------------------------------------------- */

void ranges_collect(struct ranges *ranges, const struct model *model)
{
	ranges->passes.model = model;
	ranges->passes.latest_thread = NONE;
	spans_collect(&ranges->spans);
}

/* The owner is nearly always the previous start's. */
static bool is_latest(const struct range_passes *passes, const struct range_owner *owner)
{
	return passes->latest_thread != NONE && passes->latest.program.epoch == owner->program.epoch &&
	       passes->latest.tid == owner->tid;
}

static void remember_owner(struct range_passes *passes, const struct range_owner *owner, uint32_t thread)
{
	passes->latest = *owner;
	passes->latest_thread = thread;
}

void ranges_collect_begin(struct ranges *ranges, const struct range_owner *owner, const struct model_span *span)
{
	struct range_passes *passes = &ranges->passes;
	uint32_t count = (uint32_t)passes->threads.count, found;

	if (span->kind == MODEL_SPAN_MARK && span->start_ns < passes->model->start_ns)
		return;
	if (!is_latest(passes, owner)) {
		found = *lookup_put(&passes->by_owner, owner->program.epoch, owner->tid, count);
		if (found == count)
			array_push(&passes->threads, ((struct range_thread){.owner = *owner}));
		remember_owner(passes, owner, found);
	}
	if (span->start_ns < passes->model->start_ns)
		passes->threads.items[passes->latest_thread].before++;
	else
		passes->threads.items[passes->latest_thread].begins++;
}

void ranges_collect_start(struct ranges *ranges, uint32_t added)
{
	struct range_passes *passes = &ranges->passes;

	while (passes->starters.count <= added)
		array_push(&passes->starters, NONE);
	passes->starters.items[added] = passes->latest_thread;
}

/* A range that ended before the trace began is none of it. */
static void collect_over(struct ranges *ranges, uint32_t thread, uint64_t number)
{
	number_set_add(&ranges->spans.fates.over, number);
	ranges->passes.threads.items[thread].before--;
}

void ranges_collect_pop(struct ranges *ranges, const struct range_owner *owner, uint32_t track, uint64_t time_ns)
{
	const struct spans *spans = &ranges->spans;
	const struct span_track *of = track < spans->tracks.count ? &spans->tracks.items[track] : NULL;
	const uint32_t *thread;

	if (time_ns > ranges->passes.model->start_ns || !of || !of->open.count)
		return;
	thread = lookup_get(&ranges->passes.by_owner, owner->program.epoch, owner->tid);
	if (thread)
		collect_over(ranges, *thread, of->open.items[of->open.count - 1].at);
}

void ranges_collect_end(struct ranges *ranges, uint32_t added, uint64_t time_ns)
{
	const struct loose_span *loose = &ranges->spans.loose.items[added];

	if (time_ns <= ranges->passes.model->start_ns && time_ns >= loose->start_ns && loose->at != SPAN_NOWHERE)
		collect_over(ranges, ranges->passes.starters.items[added], loose->at);
}

void ranges_finish_collecting(struct ranges *ranges, uint64_t end_ns)
{
	struct range_passes *passes = &ranges->passes;

	spans_finish_collecting(&ranges->spans);
	array_each (of, &passes->threads) {
		of->last_ns = ranges_last_moment(ranges, &of->owner, end_ns);
		if (of->last_ns > passes->model->start_ns)
			of->begins += of->before;
		if (!of->begins)
			continue;
		of->thread = ranges_thread_of(ranges, &of->owner);
		while (passes->begins.count <= of->thread)
			array_push(&passes->begins, 0);
		passes->begins.items[of->thread] += of->begins;
	}
}

/* ---- pass 2 ------------------------------------------------------------------------------------------------------ */

void ranges_read_again(struct ranges *ranges, const struct ranges *first)
{
	ranges->passes.first = first;
	ranges->passes.latest_thread = NONE;
	spans_read_again(&ranges->spans, &first->spans);
}

static const struct range_thread *known_thread(struct ranges *ranges, const struct range_owner *owner)
{
	const struct range_passes *first = &ranges->passes.first->passes;
	const uint32_t *found;

	if (!is_latest(&ranges->passes, owner)) {
		found = lookup_get(&first->by_owner, owner->program.epoch, owner->tid);
		if (!found)
			return NULL;
		remember_owner(&ranges->passes, owner, *found);
	}
	return &first->threads.items[ranges->passes.latest_thread];
}

/* Sets a range's thread, whether it is left out, and its latest possible end. */
void ranges_know_begin(struct ranges *ranges, const struct range_owner *owner, struct model_span *span)
{
	const struct ranges *first = ranges->passes.first;
	const struct range_thread *of = known_thread(ranges, owner);
	enum span_fate fate = spans_next_fate(&ranges->spans);
	uint64_t start_ns = first->passes.model->start_ns;
	bool lasts = fate == SPAN_LASTS, is_mark = span->kind == MODEL_SPAN_MARK;
	const struct range_loss *loss;

	span->lost = !of || fate == SPAN_OVER || (is_mark && span->start_ns < start_ns);
	if (span->lost)
		return;
	span->thread = of->thread;
	span->end_ns = lasts ? of->last_ns : UINT64_MAX;
	loss = is_mark || (span->kind == MODEL_SPAN_STARTED && !lasts)
		       ? NULL
		       : ranges_loss_after(first, owner->program.epoch, span->start_ns);
	if (loss) {
		span->lost = span->start_ns >= loss->from_ns;
		span->end_ns = earlier_time(span->end_ns, loss->from_ns);
	}
	ranges_cut_before(span, start_ns);
}

/* Enclosing ranges come first. */
DEFINE_ORDER(by_nesting, struct model_span,
	     least_first(a->start_ns, b->start_ns) ?: most_first(a->end_ns, b->end_ns) ?:
	     least_first(a->number, b->number))

/* The order of starts is mostly right already. */
static bool is_nested(const struct model_span *spans, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (by_nesting(&spans[i - 1], &spans[i]) > 0)
			return false;
	return true;
}

void ranges_take_part(struct ranges *ranges, uint64_t until_ns, bool last, size_t threads)
{
	spans_take_part(&ranges->spans, until_ns, last, threads);
	for (size_t i = 0; i < threads; i++) {
		const struct span_place *place = &ranges->spans.places[i];

		if (!is_nested(ranges->spans.part.items + place->first, place->count))
			qsort(ranges->spans.part.items + place->first, place->count, sizeof(struct model_span),
			      by_nesting);
	}
}

uint64_t ranges_of_thread(const struct ranges *ranges, uint32_t thread)
{
	const struct range_passes *first = &ranges->passes.first->passes;

	return thread < first->begins.count ? first->begins.items[thread] : 0;
}
