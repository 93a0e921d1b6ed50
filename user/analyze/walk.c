/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Merges the arrays of a part by the start of their events. */
#include "analyze/walk.h"

#include <stdlib.h>

#include "model/order.h"

/* ---- the next event of each kind ----------------------------------------------------------------------------- */

/* When the next event of a kind starts. */
static uint64_t next_ns(const struct walk *walk, enum walk_kind kind)
{
	const struct model *part = walk->part;
	uint32_t next = walk->next[kind];
	uint64_t time_ns;

	if (next == walk->end[kind])
		return UINT64_MAX;
	switch (kind) {
#define EVENTS(kind, one, many, time)                                                                                  \
	case WALK_##kind:                                                                                              \
		return part->many[next].time;
#define OTHER(...)
		EVENT_ROWS(EVENTS, OTHER)
#undef OTHER
#undef EVENTS
	case WALK_TORCH_MEMORY:
		return part->torch_memories[next].time_ns;
	case WALK_RANGE:
		return part->ranges[walk->ranges[next]].start_ns;
	case WALK_OP:
		return part->ops[walk->ops[next]].start_ns;
	case WALK_CROSSING:
		time_ns = walk->crossings.items[next].op.start_ns;
		break;
	case WALK_SPAN:
		time_ns = part->pyspans[walk->spans[next]].start_ns;
		break;
	default:
		time_ns = part->processes[walk->exits[next]].exit_ns;
		break;
	}
	/* these are of the whole trace */
	return time_ns < walk->until_ns ? time_ns : UINT64_MAX;
}

/* Takes the next event of a kind; returns its index. */
static uint32_t take_event(struct walk *walk, enum walk_kind kind)
{
	uint32_t index = walk->next[kind]++;

	walk->next_ns[kind] = next_ns(walk, kind);
	return index;
}

/*
 * The kind whose turn it is, and until when: up to the next event of another kind; at the same time the earlier kind
 * wins.
 */
static enum walk_kind next_kind(const struct walk *walk, uint64_t *until_ns)
{
	enum walk_kind next = 0, second = WALK_KINDS;

	for (enum walk_kind kind = 1; kind < WALK_KINDS; kind++) {
		if (walk->next_ns[kind] < walk->next_ns[next]) {
			second = next;
			next = kind;
		} else if (second == WALK_KINDS || walk->next_ns[kind] < walk->next_ns[second]) {
			second = kind;
		}
	}
	*until_ns = walk->next_ns[second];
	if (next < second && *until_ns < UINT64_MAX)
		++*until_ns;
	return next;
}

static void feed_all(struct walk *walk)
{
	for (;;) {
		uint64_t until_ns;
		enum walk_kind kind = next_kind(walk, &until_ns);

		if (walk->next_ns[kind] == UINT64_MAX)
			return;
		do
			walk_feed(walk, kind, take_event(walk, kind));
		while (walk->next_ns[kind] < until_ns);
	}
}

/* ---- orders -------------------------------------------------------------------------------------------------- */

/* Returns the indices by time, those of equal time in their own order; frees the keys. */
static uint32_t *sort_indices(struct order_key *keys, uint32_t count)
{
	uint32_t *indices = xmalloc(count * sizeof(*indices));

	order_sort(keys, count);
	for (uint32_t i = 0; i < count; i++)
		indices[i] = keys[i].index;
	free(keys);
	return indices;
}

static void sort_exits(struct walk *walk, const struct model *model)
{
	struct order_key *exits = xmalloc(model->process_count * sizeof(*exits));

	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].exit_ns)
			exits[walk->exit_count++] = (struct order_key){model->processes[i].exit_ns, i};
	walk->exits = sort_indices(exits, walk->exit_count);
}

/* The model has spans by thread, in the order of their starts; what is inside an import follows it. */
static void sort_spans(struct walk *walk, const struct model *model)
{
	uint32_t thread = NONE;
	uint64_t import_end_ns = 0;
	struct order_key *spans;

	if (!analyses_want_span(walk->all))
		return;
	spans = xmalloc(model->pyspan_count * sizeof(*spans));
	for (uint32_t i = 0; i < model->pyspan_count; i++) {
		const struct model_span *span = &model->pyspans[i];

		if (span->thread != thread)
			import_end_ns = 0;
		thread = span->thread;
		if (span->kind == MODEL_SPAN_IMPORT && span->start_ns < import_end_ns)
			continue;
		if (span->kind == MODEL_SPAN_IMPORT)
			import_end_ns = span->end_ns;
		spans[walk->span_count++] = (struct order_key){span->start_ns, i};
	}
	walk->spans = sort_indices(spans, walk->span_count);
}

/* Sorts the ranges that begin in this part; feeds the ends of those that began in earlier parts. */
static void begin_ranges(struct walk *walk)
{
	const struct model *part = walk->part;
	struct order_key *ranges;
	uint32_t count = 0;

	walk->next[WALK_RANGE] = walk->end[WALK_RANGE] = 0;
	if (!analyses_want_range(walk->all) || !part->range_count)
		return;
	ranges = xmalloc(part->range_count * sizeof(*ranges));
	for (uint32_t i = 0; i < part->range_count; i++) {
		const struct model_span *range = &part->ranges[i];

		if (!range->continued)
			ranges[count++] = (struct order_key){range->start_ns, i};
		else if (!range->open)
			analyses_end_range(walk->all, &(struct range_event){.range = range});
	}
	walk->ranges = sort_indices(ranges, count);
	walk->end[WALK_RANGE] = count;
}

/* Sorts the ops that begin in this part; of those with the same start the outer ones stay first. */
static void begin_ops(struct walk *walk)
{
	const struct model *part = walk->part;
	struct order_key *ops;
	uint32_t count = 0;

	walk->next[WALK_OP] = walk->end[WALK_OP] = 0;
	if (!analyses_want_op(walk->all) || !part->op_count)
		return;
	ops = xmalloc(part->op_count * sizeof(*ops));
	for (uint32_t i = 0; i < part->op_count; i++)
		if (!part->ops[i].continued)
			ops[count++] = (struct order_key){part->ops[i].start_ns, i};
	walk->ops = sort_indices(ops, count);
	walk->end[WALK_OP] = count;
}

/* Inserts the operations that this part found by their start; those that start with the slice are mostly in order. */
static void add_crossings(struct walk *walk)
{
	if (!analyses_want_crossing(walk->all))
		return;
	for (uint32_t i = 0; i < walk->part->crossing_count; i++) {
		const struct model_crossing *crossing = &walk->part->crossings[i];
		size_t at = walk->crossings.count;

		array_push(&walk->crossings, *crossing);
		for (; at > walk->next[WALK_CROSSING] &&
		       walk->crossings.items[at - 1].op.start_ns > crossing->op.start_ns;
		     at--)
			walk->crossings.items[at] = walk->crossings.items[at - 1];
		walk->crossings.items[at] = *crossing;
	}
	walk->end[WALK_CROSSING] = (uint32_t)walk->crossings.count;
}

/* ---- waits that CUPTI reported ----------------------------------------------------------------------------------- */

/* Waits of this part's calls that an earlier part reported. */
static void find_reported_ahead(struct walk *walk)
{
	const struct model_in_part *calls = &walk->part->calls_in_part;
	uint64_t end = calls->number + (in_part_end(calls, walk->part->call_count) - calls->from);
	size_t kept = 0;

	for (size_t i = 0; i < walk->reported_ahead.count; i++) {
		uint64_t number = walk->reported_ahead.items[i];

		if (number < end)
			walk->wait_reported[calls->from + (number - calls->number)] = 1;
		else
			walk->reported_ahead.items[kept++] = number;
	}
	walk->reported_ahead.count = kept;
}

static void find_reported(struct walk *walk)
{
	const struct model *part = walk->part;

	if (!analyses_want_sync(walk->all) || (!part->sync_count && !walk->reported_ahead.count))
		return;
	walk->wait_reported = xcalloc(part->call_count, sizeof(*walk->wait_reported));
	find_reported_ahead(walk);
	for (uint32_t i = 0; i < part->sync_count; i++) {
		uint32_t call = part->syncs[i].call;

		if (call == NONE)
			continue;
		walk->wait_reported[call] = 1;
		if (i < in_part_end(&part->syncs_in_part, part->sync_count) && i >= part->syncs_in_part.from &&
		    call >= in_part_end(&part->calls_in_part, part->call_count))
			array_push(&walk->reported_ahead, part->calls[call].number);
	}
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

void walk_begin(struct walk *walk, struct analyses *all, const struct model *first)
{
	*walk = (struct walk){.all = all};
	sort_exits(walk, first);
	sort_spans(walk, first);
	walk->end[WALK_EXIT] = walk->exit_count;
	walk->end[WALK_SPAN] = walk->span_count;
}

static void begin_kind(struct walk *walk, enum walk_kind kind, const struct model_in_part *in_part, uint32_t count)
{
	walk->next[kind] = in_part->from;
	walk->end[kind] = in_part_end(in_part, count);
}

void walk_add_part(struct walk *walk, const struct model *part)
{
	walk->part = part;
	walk->until_ns = part->more ? part->until_ns : UINT64_MAX;
	analyses_begin_part(walk->all, part);
#define EVENTS(kind, one, many, time) begin_kind(walk, WALK_##kind, &part->many##_in_part, part->one##_count);
#define OTHER(...)
	EVENT_ROWS(EVENTS, OTHER)
#undef OTHER
#undef EVENTS
	walk->next[WALK_TORCH_MEMORY] = 0;
	walk->end[WALK_TORCH_MEMORY] = part->torch_memory_count;
	begin_ranges(walk);
	begin_ops(walk);
	add_crossings(walk);
	find_reported(walk);
	for (enum walk_kind kind = 0; kind < WALK_KINDS; kind++)
		walk->next_ns[kind] = next_ns(walk, kind);
	feed_all(walk);
	free(walk->ranges);
	free(walk->ops);
	free(walk->wait_reported);
	walk->ranges = NULL;
	walk->ops = NULL;
	walk->wait_reported = NULL;
}

void walk_free(struct walk *walk)
{
	free(walk->exits);
	free(walk->spans);
	array_free(&walk->crossings);
	array_free(&walk->reported_ahead);
}
