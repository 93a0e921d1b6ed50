/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs starts and ends, and ends ranges that never ended; see nvtx_ranges.h. */
#include "model/spans/nvtx_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "model/order.h"

void ranges_free(struct ranges *ranges)
{
	spans_free(&ranges->spans);
	array_free(&ranges->latest);
	array_free(&ranges->owners);
	array_free(&ranges->execs);
	array_free(&ranges->losses);
	lookup_free(&ranges->by_thread);
	lookup_free(&ranges->by_id);
	lookup_free(&ranges->tids);
	lookup_free(&ranges->epoch_execs);
	ranges_free_readings(ranges);
}

/* Ended ids are removed in batches of at least this many. */
#define IDS_FORGOTTEN_AT_ONCE 4096

static uint32_t track_of(struct ranges *ranges, uint32_t epoch, const struct new_range *event)
{
	uint32_t *track = lookup_put(&ranges->by_thread, epoch, (uint64_t)event->tid << 16 | event->domain,
				     (uint32_t)ranges->latest.count);

	if (*track == ranges->latest.count)
		array_push(&ranges->latest, 0);
	return *track;
}

static uint32_t name_of(struct ranges *ranges, const struct new_range *event)
{
	uint32_t name;

	if (event->known_name && *event->known_name != NONE)
		return *event->known_name;
	name = string_intern(ranges->strings, event->name.bytes, event->name.size);
	if (event->known_name)
		*event->known_name = name;
	return name;
}

/* Writes in place: copying just written data would stall. */
static void set_span(struct ranges *ranges, const struct new_range *event, enum model_span_kind kind,
		     struct model_span *span)
{
	*span = (struct model_span){.start_ns = event->time_ns, .name = NONE, .domain = NONE, .kind = (uint8_t)kind};
	if (ranges->spans.collecting)
		return;
	span->name = name_of(ranges, event);
	if (event->domain_name.size)
		span->domain = string_intern(ranges->strings, event->domain_name.bytes, event->domain_name.size);
}

/* Adds the owner of a span that is about to begin. */
static void add_owner(struct ranges *ranges, const struct range_owner *owner, struct model_span *span)
{
	if (ranges->spans.collecting)
		ranges_collect_begin(ranges, owner, span);
	else if (ranges->spans.known)
		ranges_know_begin(ranges, owner, span);
	else
		array_push(&ranges->owners, *owner);
}

/*
 * False: the time is before the previous event's on the same thread, which means damage; the event then gets the
 * previous event's time.
 */
static bool go_on(uint64_t *latest_ns, uint64_t time_ns)
{
	bool in_order = time_ns >= *latest_ns;

	if (in_order)
		*latest_ns = time_ns;
	return in_order;
}

static uint32_t add_range(struct ranges *ranges, const struct range_owner *owner, const struct new_range *range,
			  enum model_span_kind kind)
{
	struct model_span span;

	set_span(ranges, range, kind, &span);
	add_owner(ranges, owner, &span);
	return spans_add(&ranges->spans, &span);
}

static bool push_range(struct ranges *ranges, struct process_image program, const struct new_range *range)
{
	struct range_owner owner = {.program = program, .tid = range->tid};
	uint32_t track = track_of(ranges, program.epoch, range);
	bool in_order = go_on(&ranges->latest.items[track], range->time_ns);
	struct model_span span;

	set_span(ranges, range, MODEL_SPAN_PUSHED, &span);
	span.start_ns = ranges->latest.items[track];
	add_owner(ranges, &owner, &span);
	if (!spans_begin(&ranges->spans, track, spans_next_depth(&ranges->spans, track), &span)) {
		ranges->owners.count = ranges->spans.list.count;
		return false;
	}
	return in_order;
}

static bool pop_range(struct ranges *ranges, struct process_image program, const struct new_range *range)
{
	uint32_t track = track_of(ranges, program.epoch, range);
	bool in_order = go_on(&ranges->latest.items[track], range->time_ns);

	if (ranges->spans.collecting)
		ranges_collect_pop(ranges, &(struct range_owner){.program = program, .tid = range->tid}, track,
				   ranges->latest.items[track]);
	spans_end(&ranges->spans, track, spans_last_depth(&ranges->spans, track), MODEL_SPAN_PUSHED,
		  ranges->latest.items[track]);
	return in_order;
}

static bool start_range(struct ranges *ranges, struct process_image program, const struct new_range *range)
{
	struct range_owner owner = {.program = program, .tid = range->tid};
	uint32_t added = add_range(ranges, &owner, range, MODEL_SPAN_STARTED);

	if (ranges->spans.collecting)
		ranges_collect_start(ranges, added);
	*lookup_put(&ranges->by_id, program.epoch, range->id, added) = added;
	return true;
}

/* Forgets an ended id; memory is released in batches. */
static void forget_id(struct ranges *ranges, uint32_t *added)
{
	*added = NONE;
	if (++ranges->passes.ids_ended < IDS_FORGOTTEN_AT_ONCE || ranges->passes.ids_ended < ranges->by_id.count / 2)
		return;
	lookup_shrink(&ranges->by_id);
	ranges->passes.ids_ended = 0;
}

static bool end_range(struct ranges *ranges, struct process_image program, const struct new_range *range)
{
	uint32_t *added = lookup_get(&ranges->by_id, program.epoch, range->id);
	struct spans *spans = &ranges->spans;

	if (!added || *added == NONE)
		return true;
	if (!spans->collecting && !spans->known)
		return !spans->list.items[*added].truncated || spans_end_at(spans, *added, range->time_ns);
	if (spans->collecting)
		ranges_collect_end(ranges, *added, range->time_ns);
	if (!spans_end_at(spans, *added, range->time_ns))
		return false;
	forget_id(ranges, added);
	return true;
}

static bool add_whole(struct ranges *ranges, struct process_image program, const struct new_range *range)
{
	struct range_owner owner = {.program = program, .tid = range->tid};
	struct model_span span;

	set_span(ranges, range, MODEL_SPAN_STARTED, &span);
	add_owner(ranges, &owner, &span);
	spans_add_whole(&ranges->spans, &span, range->end_ns);
	return true;
}

bool ranges_add(struct ranges *ranges, struct process_image program, const struct new_range *range)
{
	struct range_owner owner = {.program = program, .tid = range->tid};

	switch (range->what) {
	case GPT_AGENT_RANGE_MARK:
		add_range(ranges, &owner, range, MODEL_SPAN_MARK);
		return true;
	case GPT_AGENT_RANGE_PUSHED:
		return push_range(ranges, program, range);
	case GPT_AGENT_RANGE_POPPED:
		return pop_range(ranges, program, range);
	case GPT_AGENT_RANGE_STARTED:
		return start_range(ranges, program, range);
	case GPT_AGENT_RANGE_ENDED:
		return end_range(ranges, program, range);
	default:
		return add_whole(ranges, program, range);
	}
}

void ranges_lose(struct ranges *ranges, struct process_image program, uint64_t count, uint64_t from_ns, uint64_t to_ns)
{
	struct range_loss loss = {.from_ns = from_ns, .to_ns = to_ns, .epoch = program.epoch};

	ranges->lost += count < UINT32_MAX ? count : UINT32_MAX;
	array_push(&ranges->losses, loss);
}

void ranges_collect_tid(struct ranges *ranges, uint32_t epoch, uint32_t tid, uint32_t thread)
{
	*lookup_put(&ranges->tids, epoch, tid, thread) = thread;
}

void ranges_process_execs(struct ranges *ranges, uint32_t pid, uint64_t time_ns)
{
	struct process_image program = process_table_image(ranges->processes, pid);

	*lookup_put(&ranges->epoch_execs, program.epoch, 0, 0) = (uint32_t)ranges->execs.count;
	array_push(&ranges->execs, time_ns);
}

static int compare_ranges(const void *left, const void *right, void *list)
{
	const struct order_key *a = left, *b = right;
	const struct model_span *of_a = (const struct model_span *)list + a->index;
	const struct model_span *of_b = (const struct model_span *)list + b->index;

	/* enclosing ranges come first */
	return least_first(of_a->thread, of_b->thread) ?: least_first(of_a->start_ns, of_b->start_ns) ?:
	       most_first(of_a->end_ns, of_b->end_ns) ?: least_first(a->index, b->index);
}

static void sort_ranges(struct ranges *ranges)
{
	size_t count = ranges->spans.list.count;
	AUTO_FREE struct order_key *keys = xmalloc(count * sizeof(*keys));

	for (size_t i = 0; i < count; i++)
		keys[i] = (struct order_key){.index = (uint32_t)i};
	if (count)
		qsort_r(keys, count, sizeof(*keys), compare_ranges, ranges->spans.list.items);
	order_apply(keys, count, ranges->spans.list.items, sizeof(ranges->spans.list.items[0]));
	for (size_t i = 0; i < count; i++) {
		struct model_thread *thread = &ranges->processes->threads.items[ranges->spans.list.items[i].thread];

		if (!thread->ranges++)
			thread->first_range = (uint32_t)i;
	}
}

DEFINE_ORDER(by_epoch, struct range_loss, least_first(a->epoch, b->epoch) ?: least_first(a->to_ns, b->to_ns))

/*
 * After a loss, a pop may have been paired with the wrong push.  A range open before the loss is only known to have
 * been open until then; nothing is known about a range that began during it (false).  After the loss pairs are right
 * again: an unbalanced pop ends a range that was open before.
 */
static bool truncate_at_loss(const struct ranges *ranges, const struct range_owner *owner, struct model_span *range)
{
	const struct range_loss *loss = ranges_loss_after(ranges, owner->program.epoch, range->start_ns);

	if (!loss || range->end_ns < loss->from_ns || range->kind == MODEL_SPAN_MARK ||
	    (range->kind == MODEL_SPAN_STARTED && !range->truncated))
		return true;
	if (range->start_ns >= loss->from_ns)
		return false;
	range->end_ns = loss->from_ns;
	range->truncated = true;
	return true;
}

/* Ends what never ended; false: it was over before the trace began. */
static bool end_open_range(const struct ranges *ranges, size_t index, uint64_t start_ns, uint64_t end_ns)
{
	struct model_span *range = &ranges->spans.list.items[index];

	if (range->truncated)
		range->end_ns = ranges_last_moment(ranges, &ranges->owners.items[index], end_ns);
	if (range->end_ns < range->start_ns)
		range->end_ns = range->start_ns;
	return range->start_ns >= start_ns || (range->kind != MODEL_SPAN_MARK && range->end_ns > start_ns);
}

/* Threads are numbered in the order of their first starts, also of ranges that were over, if they have others. */
static void find_threads(struct ranges *ranges, uint64_t start_ns, uint64_t end_ns)
{
	struct lookup owners;

	lookup_init(&owners, ranges->by_id.seed);
	for (size_t i = 0; i < ranges->spans.list.count; i++) {
		const struct range_owner *owner = &ranges->owners.items[i];

		ranges->spans.list.items[i].lost = !end_open_range(ranges, i, start_ns, end_ns);
		if (!ranges->spans.list.items[i].lost)
			lookup_put(&owners, owner->program.epoch, owner->tid, 0);
	}
	for (size_t i = 0; i < ranges->spans.list.count; i++) {
		const struct range_owner *owner = &ranges->owners.items[i];

		if (ranges->spans.list.items[i].kind != MODEL_SPAN_MARK ||
		    ranges->spans.list.items[i].start_ns >= start_ns)
			if (lookup_get(&owners, owner->program.epoch, owner->tid))
				ranges->spans.list.items[i].thread = ranges_thread_of(ranges, owner);
	}
	lookup_free(&owners);
}

void ranges_finish(struct ranges *ranges, uint64_t start_ns, uint64_t end_ns)
{
	size_t kept = 0;

	array_sort(&ranges->losses, by_epoch);
	if (ranges->spans.collecting) {
		ranges_finish_collecting(ranges, end_ns);
		return;
	}
	find_threads(ranges, start_ns, end_ns);
	for (size_t i = 0; i < ranges->spans.list.count; i++) {
		struct model_span range = ranges->spans.list.items[i];

		if (range.lost || !truncate_at_loss(ranges, &ranges->owners.items[i], &range))
			continue;
		ranges_cut_before(&range, start_ns);
		if (range.lost)
			continue;
		range.number = kept;
		ranges->spans.list.items[kept++] = range;
	}
	ranges->spans.list.count = kept;
	sort_ranges(ranges);
}
