/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes losses by cause, each with its lines, from sums by caller. */
#include <stdlib.h>
#include <string.h>

#include "analyze/why/culprits.h"
#include "analyze/why/why_internal.h"
#include "analyze/why/why_named.h"
#include "base/distance.h"
#include "base/order.h"

#define CALLERS_SHARE 100u /* a caller with less than one part in this many of the time looked at is not told apart */

/* A sum is by line, part of its callers, cause, detail, extra and process. */
struct making {
	struct why *why;
	struct lines *lines;
	struct tally culprits; /* line, line_callers_part(): part 0 of the keys of sums */
	struct tally charges;
	struct tally of_sums; /* number in charges, enum of_sum, what: the shares of a sum */
	struct tally calls, reads, copies;
	struct tally layers; /* name and class, which are one string each in a model; more: one of model.modules + 1 */
};

enum of_sum { OF_INNER_LINE, OF_CALLER, OF_STACK, OF_LAYER, OF_RAN_AFTER };

static void settle_all(struct why *why)
{
	uint64_t first_ns = UINT64_MAX;
	uint64_t least_ns = later_time(why->idle->from_ns, why->window->start_ns);
	uint64_t most_ns = earlier_time(why->idle->to_ns, why->window->end_ns);

	for (size_t i = 0; i < why->devices.count; i++)
		why_settle_copies(why, &why->devices.items[i]);
	why_named_settle(why);
	for (size_t i = 0; i < why->idle->devices.count; i++) {
		const struct idle_device *device = &why->idle->devices.items[i];
		uint64_t from_ns = later_time(device->first_ns, least_ns),
			 to_ns = earlier_time(device->busy_until_ns, most_ns);

		if (to_ns > from_ns)
			why->looked_ns += to_ns - from_ns;
		if (from_ns < first_ns)
			first_ns = from_ns;
	}
	if (first_ns != UINT64_MAX && first_ns > why->window->start_ns)
		why->before_ns = first_ns - why->window->start_ns;
	why->idle_ns = why->idle->looked_idle_ns;
	why->step_count = why->idle->step_count;
	why->lost_ns = why->idle_ns + why->copy_alone_ns + why->blocked_ns;
}

/* The line of the user's own code at a place; NONE: there is none to name. */
static uint32_t line_at(struct making *making, uint32_t place)
{
	return place == NONE ? NONE : line_of(making->lines, idle_caller_of_place(making->why->idle, place));
}

/* key: with or without a process. */
static struct culprit culprit_of(struct making *making, const struct tally_key *key)
{
	struct tally_key plain = why_key_of_charge(*key);
	bool in_loader = plain.part[1] == WHY_DATA && why_seen_by(plain.part[3]) == WHY_SEEN_BY_FRAMES;

	/* what has no line at all is no loss; of a loss the call was not seen (CALLER_UNSEEN is the same number) */
	if (key->part[0] == NONE && plain.part[1] >= WHY_LOSSES)
		return (struct culprit){NONE, NONE, NONE};
	return culprit_at(making->lines, key->part[0],
			  in_loader ? why_loader(&making->why->idle->threads, making->why->model, key->part[0]).caller
				    : NONE);
}

static struct tally_key key_of_culprit(struct making *making, const struct culprit *culprit)
{
	uint32_t part = line_callers_part(&making->why->callers, culprit->own, culprit->caller);

	return (struct tally_key){{tally_number(&making->culprits, (struct tally_key){{culprit->own, part}})}};
}

/* Key: number in culprits, cause, detail, extra; with or without a process. */
static struct tally_key by_line(struct making *making, const struct tally_key *key, const struct culprit *culprit)
{
	struct tally_key same = *key, plain = why_key_of_charge(*key);

	same.part[0] = key_of_culprit(making, culprit).part[0];
	if (plain.part[1] == WHY_PYTHON || plain.part[1] == WHY_PROGRAM)
		same.part[2] = key->part[2] == CALLER_UNSEEN ? NONE : line_at(making, key->part[2]);
	if (plain.part[1] == WHY_UNSAMPLED)
		same.part[3] = key->part[3] == CALLER_UNSEEN ? NONE : line_at(making, key->part[3]);
	return same;
}

static struct tally_entry *add_sum(struct tally *all, struct tally_key key, const struct tally_entry *sum)
{
	struct tally_entry *entry = tally_at(all, key);

	entry->ns += sum->ns;
	entry->count += sum->count;
	entry->more += sum->more;
	return entry;
}

/* Adds sums by line; keys are as in charges. */
static void add_evidence(struct tally *all, struct making *making, const struct tally *sums)
{
	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *sum = &sums->entries[i];
		struct culprit culprit = culprit_of(making, &sum->key);

		add_sum(all, by_line(making, &sum->key, &culprit), sum);
	}
}

static void add_share(struct making *making, uint32_t sum, enum of_sum of, uint32_t what, uint64_t ns)
{
	tally_at(&making->of_sums, (struct tally_key){{sum, of, what}})->ns += ns;
}

/* One of the modules that are called as the innermost one at that place; NONE: none is known. */
static uint32_t layer_at(struct making *making, uint32_t place)
{
	const struct model *model = making->why->model;
	const struct model_module *module = model_innermost_module(model, place);
	uintptr_t label, class;
	struct tally_entry *entry;

	if (!module)
		return NONE;
	label = (uintptr_t)module->label;
	class = (uintptr_t)module->class;
	entry = tally_at(&making->layers, (struct tally_key){{(uint32_t)(label >> 32), (uint32_t)label,
							      (uint32_t)(class >> 32), (uint32_t) class}});
	if (!entry->more)
		entry->more = (uint64_t)(module - model->modules) + 1;
	return (uint32_t)entry->more - 1;
}

static void add_shares_of_stack(struct making *making, uint32_t sum, uint32_t stack, uint64_t ns)
{
	uint32_t layer = layer_at(making, stack);

	add_share(making, sum, OF_STACK, stack, ns);
	if (layer != NONE)
		add_share(making, sum, OF_LAYER, layer, ns);
}

static void add_charge(struct making *making, const struct tally_entry *charge)
{
	struct culprit culprit = culprit_of(making, &charge->key);
	struct tally_key key = by_line(making, &charge->key, &culprit);
	uint32_t place = charge->key.part[0];
	uint32_t sum = (uint32_t)(add_sum(&making->charges, key, charge) - making->charges.entries);

	add_share(making, sum, OF_INNER_LINE, culprit.line, charge->ns);
	if (culprit.caller != NONE)
		add_share(making, sum, OF_CALLER, culprit.caller, charge->ns);
	if (place < CALLER_NO_FRAME)
		add_shares_of_stack(making, sum, place, charge->ns);
}

/* For time of other threads that the launching thread waited for, it is enough to know what they did. */
static struct tally_key key_of_gap(const struct idle_charge *charge)
{
	struct tally_key key = charge->what;
	enum why_cause cause = key.part[1];

	if (cause == WHY_RAN || (cause == WHY_NATIVE && charge->via != NONE))
		key.part[2] = key.part[3] = NONE;
	else if (cause == WHY_DATA && charge->inner != WHY_DATA)
		key.part[2] = NONE, key.part[3] = why_data_extra(WHY_SEEN_BY_STACKS, why_loads(key.part[3]));
	else if (cause >= WHY_LOCK && cause <= WHY_WAIT && charge->inner != cause)
		key.part[2] = NONE;
	return key;
}

/* A charge as an entry of why->charges; more: time after calls, of DATA that without a CPU. */
static struct tally_entry entry_of_gap(struct why *why, const struct idle_charge *charge)
{
	return (struct tally_entry){.key = why_charge_key(key_of_gap(charge), idle_charge_process(why->idle, charge)),
				    .ns = charge->ns,
				    .count = charge->count,
				    .more = charge->after || idle_charge_is_starved_data(charge) ? charge->ns : 0};
}

typedef void take_charge(struct making *making, const struct tally_entry *charge);

/* Hands over all charges that are looked at. */
static void each_charge(struct making *making, take_charge *take)
{
	struct why *why = making->why;

	for (size_t i = 0; i < idle_charge_count(why->idle); i++) {
		struct idle_charge charge = idle_charge_at(why->idle, i);
		struct tally_entry entry = entry_of_gap(why, &charge);

		if (charge.looked_at)
			take(making, &entry);
	}
	for (size_t i = 0; i < why->charges.count; i++)
		take(making, &why->charges.entries[i]);
}

static void add_caller(struct making *making, const struct tally_entry *charge)
{
	struct culprit culprit = culprit_of(making, &charge->key);

	line_callers_add(&making->why->callers, culprit.own, culprit.caller, charge->ns);
}

static void add_gaps_to_sums(struct why *why)
{
	for (size_t i = 0; i < idle_charge_count(why->idle); i++) {
		struct idle_charge charge = idle_charge_at(why->idle, i);

		if (charge.looked_at)
			why_charge_block(why, &charge.what, charge.block, charge.ns, charge.count);
	}
	for (unsigned i = 0; i < WHY_CAUSES; i++) {
		const struct idle_sum *sum = &why->idle->sums[i];

		why->sums[i].ns += sum->ns;
		why->sums[i].count += sum->count;
		if (sum->longest_ns > why->sums[i].longest_ns)
			why->sums[i].longest_ns = sum->longest_ns;
	}
}

/* Key: number in culprits; more: bytes. */
static void add_reads(struct making *making)
{
	for (size_t i = 0; i < making->why->reads.count; i++) {
		const struct tally_entry *sum = &making->why->reads.entries[i];
		struct culprit culprit = culprit_of(making, &(struct tally_key){{sum->key.part[0], WHY_COPY}});

		add_sum(&making->reads, key_of_culprit(making, &culprit), sum);
	}
}

static struct tally_entry sum_of(struct tally *sums, struct tally_key key)
{
	return *tally_at(sums, key);
}

/* The line of the launch before a gap of which nothing else is known. */
static uint32_t from_line(const uint32_t *part)
{
	switch (part[1]) {
	case WHY_PYTHON:
	case WHY_PROGRAM:
		return part[2];
	case WHY_UNSAMPLED:
		return part[3];
	default:
		return NONE;
	}
}

/* Key: as by_line makes it, with a process. */
static struct why_line line_of_key(struct making *making, const struct tally_key *key)
{
	struct tally_key plain = why_key_of_charge(*key);
	const uint32_t *part = plain.part, *culprit = making->culprits.entries[part[0]].key.part;

	return (struct why_line){.line = culprit[0],
				 .inner_line = culprit[0],
				 .caller = NONE,
				 .part = culprit[1],
				 .is_divided = line_callers_divide(&making->why->callers, culprit[0]),
				 .stack = NONE,
				 .layer = NONE,
				 .from_line = from_line(part),
				 .detail = part[2],
				 .extra = part[3],
				 .process = key->part[1] >> WHY_PROCESS_SHIFT};
}

struct why_line why_line_of_charge(struct why *why, struct lines *lines, const struct idle_charge *charge)
{
	struct making making = {.why = why, .lines = lines};
	struct tally_key key = entry_of_gap(why, charge).key;
	struct culprit culprit = culprit_of(&making, &key);
	struct why_line line;

	key = by_line(&making, &key, &culprit);
	line = line_of_key(&making, &key);
	tally_free(&making.culprits);
	return line;
}

static struct why_line line_row(struct making *making, const struct tally_entry *sum)
{
	struct tally_key key = why_key_of_charge(sum->key);
	const uint32_t *part = key.part;
	struct why_line row = line_of_key(making, &sum->key);
	struct tally_entry calls = sum_of(&making->calls, key);

	row.ns = sum->ns;
	row.count = sum->count;
	if (part[1] == WHY_DATA)
		row.starved_ns = sum->more;
	else
		row.after_ns = sum->more;
	row.calls = calls.count;
	row.calls_ns = calls.ns;
	row.failed = calls.more;
	if (part[1] == WHY_SYNC) {
		struct tally_entry reads = sum_of(&making->reads, (struct tally_key){{part[0]}});

		row.reads = reads.count;
		row.read_bytes = reads.more;
	} else if (part[1] == WHY_COPY || part[1] == WHY_MANAGED) {
		struct tally_entry copies = sum_of(&making->copies, key);

		row.copies = copies.count;
		row.copy_bytes = copies.more;
		row.copy_ns = copies.ns;
		if (part[1] == WHY_COPY && ((part[2] >> 8 & 0xff) == WHY_PAGEABLE || part[2] >> 16 == WHY_PAGEABLE))
			row.pageable = copies.count;
	}
	return row;
}

static enum why_cause cause_of(const struct tally_entry *sum)
{
	return (enum why_cause)why_key_of_charge(sum->key).part[1];
}

/* rows: by number in charges, gets where each one is. */
static void add_lines(struct why_loss *loss, struct making *making, const struct tally_entry *sorted,
		      struct why_line **rows)
{
	size_t count = making->charges.count;

	for (size_t i = 0; i < count; i++)
		loss->line_count += cause_of(&sorted[i]) == loss->cause;
	loss->lines = xcalloc(loss->line_count, sizeof(*loss->lines));
	loss->line_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct why_line *line = &loss->lines[loss->line_count];

		if (cause_of(&sorted[i]) != loss->cause)
			continue;
		*line = line_row(making, &sorted[i]);
		rows[tally_number(&making->charges, sorted[i].key)] = line;
		loss->line_count++;
	}
}

/* Names what has most of each row's time. */
static void name_shares(struct making *making, struct why_line **rows)
{
	AUTO_FREE struct tally_entry *sorted = tally_sorted(&making->of_sums, false);

	for (size_t i = 0; i < making->of_sums.count; i++) {
		const uint32_t *part = sorted[i].key.part;
		struct why_line *row = rows[part[0]];

		if (!row) /* of a cause that is no loss */
			continue;
		if (part[1] == OF_INNER_LINE && !row->inner_lines++)
			row->inner_line = part[2];
		else if (part[1] == OF_CALLER && !row->callers++)
			row->caller = part[2];
		else if (part[1] == OF_STACK && row->stack == NONE)
			row->stack = part[2];
		else if (part[1] == OF_LAYER && !row->layers++)
			row->layer = part[2], row->layer_ns = sorted[i].ns;
		else if (part[1] == OF_RAN_AFTER && !row->ran_ns)
			row->ran_line = part[2], row->ran_ns = sorted[i].ns;
	}
}

static int by_time(const void *left, const void *right)
{
	const struct why_loss *a = left, *b = right;

	return most_first(a->ns, b->ns) ?: least_first(a->cause, b->cause);
}

/* Notes what ran in time that is charged to an earlier call. */
static void note_ran_after(struct making *making, const struct idle_charge *charge)
{
	struct tally_entry entry = entry_of_gap(making->why, charge);
	struct culprit culprit = culprit_of(making, &entry.key);
	struct tally_key key = by_line(making, &entry.key, &culprit);

	add_share(making, (uint32_t)tally_number(&making->charges, key), OF_RAN_AFTER, line_at(making, charge->via),
		  charge->ns);
}

/* Key: cause, line where launching threads waited for others. */
static struct tally vias_by_line(struct making *making)
{
	const struct why *why = making->why;
	struct tally vias = {0};

	for (size_t i = 0; i < idle_charge_count(why->idle); i++) {
		struct idle_charge charge = idle_charge_at(why->idle, i);

		if (!charge.looked_at || charge.via == NONE)
			continue;
		if (charge.after)
			note_ran_after(making, &charge);
		else
			tally_at(&vias, (struct tally_key){{charge.what.part[1], line_at(making, charge.via)}})->ns +=
				charge.ns;
	}
	return vias;
}

static void name_via(struct why_loss *loss, const struct tally *vias)
{
	loss->via_line = NONE;
	for (size_t i = 0; i < vias->count; i++)
		if (vias->entries[i].key.part[0] == loss->cause && vias->entries[i].ns > loss->via_ns) {
			loss->via_ns = vias->entries[i].ns;
			loss->via_line = vias->entries[i].key.part[1];
		}
}

static void make_losses(struct making *making)
{
	struct why *why = making->why;
	AUTO_FREE struct tally_entry *sorted = tally_sorted(&making->charges, false);
	struct why_line **rows = xcalloc(making->charges.count + 1, sizeof(struct why_line *));
	struct tally vias = vias_by_line(making);

	for (unsigned cause = 0; cause < WHY_LOSSES; cause++) {
		const struct idle_sum *sum = &why->sums[cause];
		struct why_loss *loss = &why->losses[why->count];

		if (!sum->ns)
			continue;
		*loss = (struct why_loss){
			.cause = cause, .ns = sum->ns, .count = sum->count, .longest_ns = sum->longest_ns};
		add_lines(loss, making, sorted, rows);
		name_via(loss, &vias);
		why->count++;
	}
	name_shares(making, rows);
	sort_items(why->losses, why->count, sizeof(*why->losses), by_time);
	free(rows);
	tally_free(&vias);
}

void why_finish(struct why *why, struct lines *lines)
{
	struct making making = {.why = why, .lines = lines};

	settle_all(why);
	add_gaps_to_sums(why);
	each_charge(&making, add_caller);
	line_callers_finish(&why->callers, why->looked_ns / CALLERS_SHARE);
	each_charge(&making, add_charge);
	add_evidence(&making.calls, &making, &why->idle->calls);
	add_evidence(&making.copies, &making, &why->copies);
	add_reads(&making);
	make_losses(&making);
	tally_free(&making.culprits);
	tally_free(&making.charges);
	tally_free(&making.of_sums);
	tally_free(&making.calls);
	tally_free(&making.reads);
	tally_free(&making.copies);
	tally_free(&making.layers);
}
