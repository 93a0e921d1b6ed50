/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The charges of the account (idle_internal.h): each piece of time on a key, for a process, in a block of steps. */
#include <stdlib.h>

#include "analyze/why/idle_internal.h"
#include "base/distance.h"

/* AFTER, INNER_SHIFT: bits in the cause of a key of whats; those up to PASS_SHIFT: in the block of a key of charges. */
#define AFTER 0x100u
#define INNER_SHIFT 16
#define LOOKED_AT 0x100u
#define OUTSIDE 0x200u
#define NO_BLOCK 0xffu
#define PASS_SHIFT 10	       /* above that: a number of passes */
#define PASSES_MOST (1u << 22) /* of more, the line alone says the layer */
/* The like of a key of charges: the samples of no gap say what this time was. */
#define LIKE_NONE NONE

void idle_begin_around(struct idle *idle, struct window reach, uint64_t to_ns)
{
	idle->reach = reach;
	idle->counted.end_ns = earlier_time(idle->counted.end_ns, to_ns);
}

uint32_t idle_block_of(const struct idle *idle, const struct gpu_event *event)
{
	uint64_t time_ns = event->launch ? event->launch->start_ns : event->op->start_ns;

	return idle->blocks ? step_blocks_since(idle->blocks, event->op->process, time_ns) : STEP_BLOCK_NONE;
}

uint32_t idle_like(struct idle *idle, const struct gpu_event *event, uint64_t ns)
{
	const struct model_call *launch = event->launch;
	const struct why_recent *before = NULL;

	if (launch)
		before = why_thread_before(why_thread(&idle->threads, launch->thread), launch->start_ns, false);
	return tally_number(&idle->likes, (struct tally_key){{before ? before->place : CALLER_UNSEEN,
							      63u - (uint32_t)__builtin_clzll(ns | 1)}});
}

/* Pieces of one gap that are charged once count as one part. */
static void add_to_sum(const struct idle_charging *charging, struct idle_sum *sum, uint64_t ns)
{
	bool more = charging->once && sum->gap == charging->idle->gaps;
	uint64_t part_ns = ns + (more ? sum->gap_ns : 0);

	sum->ns += ns;
	sum->count += !more;
	if (charging->once) {
		sum->gap = charging->idle->gaps;
		sum->gap_ns = part_ns;
	}
	if (part_ns > sum->longest_ns)
		sum->longest_ns = part_ns;
}

static enum why_cause inner_of(const struct idle_charging *charging, struct tally_key key)
{
	return charging->inner == WHY_CAUSES ? (enum why_cause)key.part[1] : charging->inner;
}

static bool is_of_samples(enum why_cause inner)
{
	return inner == WHY_RAN || inner == WHY_NATIVE || inner == WHY_UNSAMPLED;
}

/*
 * The number of the launch's pass, which counts where the line of the launch is to blame.  Time that samples divide has
 * no forward op: each op would need samples of its own.
 */
static uint32_t pass_number(const struct idle_charging *charging, uint32_t place, enum why_cause inner)
{
	bool is_launch_s = place != NONE && place == charging->launch_place;
	uint32_t pass = is_launch_s ? charging->launch_pass : PASS_FORWARD, number;

	if (is_of_samples(inner) && pass >= PASS_OF_FORWARD_OP)
		pass = PASS_BACKWARD;
	number = tally_number(&charging->idle->passes, (struct tally_key){{pass}});
	return number < PASSES_MOST ? number
				    : tally_number(&charging->idle->passes, (struct tally_key){{PASS_FORWARD}});
}

/* Returns the charge's number in charges. */
static size_t charge_account(const struct idle_charging *charging, struct tally_key key, uint64_t ns, bool outside)
{
	struct idle *idle = charging->idle;
	struct tally_key whose = {{charging->launch_place, charging->process, charging->culprit, charging->via}};
	uint32_t when = charging->block == STEP_BLOCK_NONE ? NO_BLOCK : charging->block;
	enum why_cause cause = key.part[1], inner = inner_of(charging, key);
	struct tally_entry *entry;

	if (key.part[0] == WHY_PLACE_NEXT)
		key.part[0] = charging->launch_place;
	when |= pass_number(charging, key.part[0], inner) << PASS_SHIFT;
	key.part[1] |= (charging->after ? AFTER : 0) | (uint32_t)inner << INNER_SHIFT;
	entry = tally_at(&idle->charges,
			 (struct tally_key){{tally_number(&idle->whats, key), tally_number(&idle->whose, whose),
					     when | (outside		   ? OUTSIDE
						     : charging->looked_at ? LOOKED_AT
									   : 0),
					     is_of_samples(inner) ? charging->like : 0}});
	entry->ns += ns;
	entry->count += !charging->once || entry->more != idle->gaps;
	entry->more = idle->gaps;
	while (idle->pieces.count < idle->charges.count)
		array_push(&idle->pieces, 0u);
	idle->pieces.items[entry - idle->charges.entries] += !charging->settling;
	idle->sum += outside ? 0 : ns;
	if (charging->looked_at && !outside)
		add_to_sum(charging, &idle->sums[cause], ns);
	return (size_t)(entry - idle->charges.entries);
}

/* Removes up to ns from the front of the spans, in one piece; returns how much that was. */
static uint64_t remove_front(struct idle_spans *spans, uint64_t ns, uint64_t *from_ns)
{
	struct why_rest *first = spans->next;
	uint64_t first_ns = first->to_ns - first->from_ns, part_ns = earlier_time(first_ns, ns);

	*from_ns = first->from_ns;
	first->from_ns += part_ns;
	spans->next += part_ns == first_ns;
	spans->count -= part_ns == first_ns;
	return part_ns;
}

static struct idle_piece piece_of(const struct idle_charging *charging, struct tally_key key, uint64_t ns)
{
	return (struct idle_piece){.key = key,
				   .inner = charging->inner,
				   .culprit = charging->culprit,
				   .via = charging->via,
				   .once = charging->once,
				   .period_ns = charging->period_ns,
				   .ns = ns};
}

/* Keeps the time until all samples of the gap are known. */
static void defer_spans(struct idle_charging *charging, struct tally_key key, struct idle_spans *spans, uint64_t ns)
{
	while (ns && spans->count) {
		struct idle_piece piece = piece_of(charging, key, 0);

		piece.ns = remove_front(spans, ns, &piece.from_ns);
		ns -= piece.ns;
		array_push(&charging->idle->unknown, piece);
	}
}

static void note_part(const struct idle_charging *charging, size_t charge, uint64_t from_ns, uint64_t to_ns)
{
	struct idle *idle = charging->idle;
	uint32_t thread = charging->culprit != NONE ? charging->culprit : charging->late;

	if (idle->take_gap)
		array_push(&idle->parts, ((struct idle_part){from_ns, to_ns, (uint32_t)charge, thread}));
}

static int by_time(const void *left, const void *right)
{
	const struct idle_part *a = left, *b = right;

	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

/* Parts that follow each other and have the same charge are one. */
static void hand_parts_over(const struct idle_charging *charging)
{
	struct idle *idle = charging->idle;
	struct idle_part *parts = idle->parts.items;
	size_t count = 0;

	if (!idle->parts.count)
		return;
	qsort(parts, idle->parts.count, sizeof(*parts), by_time);
	for (size_t i = 0; i < idle->parts.count; i++) {
		struct idle_part *last = count ? &parts[count - 1] : NULL;

		if (last && last->to_ns == parts[i].from_ns && last->charge == parts[i].charge &&
		    last->thread == parts[i].thread)
			last->to_ns = parts[i].to_ns;
		else
			parts[count++] = parts[i];
	}
	idle->take_gap(idle->take_context, charging->device, parts, count);
	idle->parts.count = 0;
}

/* How much of the first ns of the spans is outside of the window. */
static uint64_t ns_outside(const struct idle *idle, const struct idle_spans *spans, uint64_t ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; ns && i < spans->count; i++) {
		const struct why_rest *span = &spans->next[i];
		uint64_t part_ns = earlier_time(span->to_ns - span->from_ns, ns);

		sum += part_ns - idle_ns_inside(idle, span->from_ns, span->from_ns + part_ns);
		ns -= part_ns;
	}
	return sum;
}

static void note_inside(const struct idle_charging *charging, size_t charge, uint64_t from_ns, uint64_t to_ns)
{
	const struct window *counted = &charging->idle->counted;

	if (!idle_ns_inside(charging->idle, from_ns, to_ns))
		return;
	from_ns = later_time(from_ns, counted->start_ns);
	to_ns = earlier_time(to_ns, counted->end_ns);
	idle_steps_add(&charging->idle->steps, charge, charging->process, from_ns, to_ns);
	note_part(charging, charge, from_ns, to_ns);
}

void idle_charge_spans(struct idle_charging *charging, struct tally_key key, struct idle_spans *spans, uint64_t ns)
{
	enum why_cause inner = inner_of(charging, key);
	uint64_t outside_ns;
	size_t number = 0;

	if (!ns)
		return;
	if (inner == WHY_UNSAMPLED && !charging->settling) {
		defer_spans(charging, key, spans, ns);
		return;
	}
	if ((is_of_samples(inner) || charging->is_sampled) && !charging->settling)
		array_push(&charging->idle->sampled, piece_of(charging, key, ns));
	outside_ns = ns_outside(charging->idle, spans, ns);
	if (outside_ns)
		charge_account(charging, key, outside_ns, true);
	if (outside_ns < ns)
		number = charge_account(charging, key, ns - outside_ns, false);
	while (ns && spans->count) {
		uint64_t from_ns, part_ns = remove_front(spans, ns, &from_ns);

		note_inside(charging, number, from_ns, from_ns + part_ns);
		ns -= part_ns;
	}
}

/* ---- time that no sample owns ------------------------------------------------------------------------------------ */

static void charge_piece(struct idle_charging *charging, const struct idle_piece *as, struct idle_spans *spans,
			 uint64_t ns)
{
	charging->inner = as->inner;
	charging->culprit = as->culprit;
	charging->via = as->via;
	charging->once = as->once;
	idle_charge_spans(charging, as->key, spans, ns);
}

/* The thread that the time is of, and the wait for it. */
static bool is_same_time(const struct idle_piece *a, const struct idle_piece *b)
{
	return a->culprit == b->culprit && a->via == b->via;
}

void idle_charge(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	struct why_rest all = {from_ns, to_ns};

	idle_charge_spans(context, key, &(struct idle_spans){.next = &all, .count = 1}, to_ns - from_ns);
}

/* The distance of samples: of the gap's own of that thread, else the longest so far; 0: there are none. */
static uint64_t period_of(const struct idle *idle, const struct idle_piece *unknown)
{
	uint32_t period_ns = 0;

	for (size_t i = 0; i < idle->sampled.count; i++)
		if (is_same_time(&idle->sampled.items[i], unknown) && idle->sampled.items[i].period_ns > period_ns)
			period_ns = idle->sampled.items[i].period_ns;
	return period_ns ? period_ns : idle->ran.period_ns;
}

/* The time of this piece and of those that follow it without a sample or a wait between them; *end: the next one. */
static uint64_t ns_without_sample(const struct idle *idle, size_t first, size_t *end)
{
	const struct idle_piece *pieces = idle->unknown.items;
	uint64_t ns = pieces[first].ns;
	size_t i = first + 1;

	while (i < idle->unknown.count && is_same_time(&pieces[i], &pieces[first]) &&
	       pieces[i].from_ns == pieces[first].from_ns + ns)
		ns += pieces[i++].ns;
	*end = i;
	return ns;
}

static void settle_as_unknown(struct idle_charging *charging, const struct idle_piece *unknown)
{
	struct why_rest all = {unknown->from_ns, unknown->from_ns + unknown->ns};
	struct idle_spans spans = {.next = &all, .count = 1};

	charge_piece(charging, unknown, &spans, unknown->ns);
}

/* Without waits it is not known that the thread had a CPU. */
static void settle_piece(struct idle_charging *charging, const struct idle_piece *unknown)
{
	const struct idle *idle = charging->idle;
	struct why_rest all = {unknown->from_ns, unknown->from_ns + unknown->ns};
	struct idle_spans spans = {.next = &all, .count = 1};
	uint64_t sampled_ns = 0, seen_ns = 0;

	for (size_t i = 0; idle->ran.waits && i < idle->sampled.count; i++)
		if (is_same_time(&idle->sampled.items[i], unknown))
			sampled_ns += idle->sampled.items[i].ns;
	for (size_t i = 0; sampled_ns && i < idle->sampled.count; i++) {
		const struct idle_piece *sampled = &idle->sampled.items[i];
		uint64_t done_ns = all.from_ns - unknown->from_ns;

		if (!is_same_time(sampled, unknown))
			continue;
		seen_ns += sampled->ns;
		charge_piece(charging, sampled, &spans,
			     (uint64_t)((__uint128_t)unknown->ns * seen_ns / sampled_ns) - done_ns);
	}
	if (!sampled_ns)
		settle_as_unknown(charging, unknown);
}

/*
 * A thread that has a CPU is sampled in each period.  Where that was not so for longer, a sample or the record of a
 * wait is missing: it is not known that the thread ran, and samples of other times do not say so.
 */
static size_t settle_from(struct idle_charging *charging, size_t first)
{
	const struct idle *idle = charging->idle;
	const struct idle_piece *pieces = idle->unknown.items;
	uint32_t like = charging->like;
	uint64_t period_ns = period_of(idle, &pieces[first]);
	size_t end = first + 1;
	bool ran = !period_ns || ns_without_sample(idle, first, &end) <= period_ns;

	if (ran) {
		settle_piece(charging, &pieces[first]);
		return first + 1;
	}
	charging->like = LIKE_NONE;
	for (size_t i = first; i < end; i++)
		settle_as_unknown(charging, &pieces[i]);
	charging->like = like;
	return end;
}

void idle_settle_gap(struct idle_charging *charging)
{
	struct idle *idle = charging->idle;

	charging->settling = true;
	for (size_t i = 0; i < idle->unknown.count;)
		i = settle_from(charging, i);
	idle->unknown.count = idle->sampled.count = 0;
	hand_parts_over(charging);
}

struct idle_charge idle_charge_made(const struct idle *idle, size_t index)
{
	const struct tally_entry *entry = &idle->charges.entries[index];
	struct tally_key what = idle->whats.entries[entry->key.part[0]].key;
	const uint32_t *whose = idle->whose.entries[entry->key.part[1]].key.part;
	uint32_t when = entry->key.part[2];
	bool after = what.part[1] & AFTER;
	enum why_cause inner = what.part[1] >> INNER_SHIFT;

	what.part[1] &= AFTER - 1;
	return (struct idle_charge){.what = what,
				    .after = after,
				    .inner = inner,
				    .culprit = whose[2],
				    .via = whose[3],
				    .launch_place = whose[0],
				    .launch_pass = idle->passes.entries[when >> PASS_SHIFT].key.part[0],
				    .process = whose[1],
				    .block = (when & NO_BLOCK) == NO_BLOCK ? STEP_BLOCK_NONE : when & NO_BLOCK,
				    .looked_at = when & LOOKED_AT,
				    .outside = when & OUTSIDE,
				    .ns = entry->ns,
				    .count = entry->count};
}
