/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes losses by cause, each with its lines, from sums by caller. */
#include <stdlib.h>
#include <string.h>

#include "analyze/why/why_internal.h"

static void settle_all(struct why *why)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < why->devices.count; i++) {
		struct why_device *device = &why->devices.items[i];
		uint64_t least_ns = why->idle->from_ns, most_ns = why->idle->to_ns;
		uint64_t from_ns = device->first_ns > least_ns ? device->first_ns : least_ns;
		uint64_t to_ns = device->busy_until_ns < most_ns ? device->busy_until_ns : most_ns;

		why_settle_copies(why, device);
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
static uint32_t line_at(struct why *why, struct lines *lines, uint32_t place)
{
	return place == NONE ? NONE : line_of(lines, idle_caller_of_place(why->idle, place));
}

/* Key: line, cause, detail, extra; with or without a process. */
static struct tally_key by_line(struct why *why, struct lines *lines, const struct tally_key *key)
{
	struct tally_key same = *key, plain = why_key_of_charge(*key);
	bool in_loader = plain.part[1] == WHY_DATA && why_seen_by(plain.part[3]) == WHY_SEEN_BY_FRAMES;

	if (in_loader)
		same.part[0] = line_of(lines, why_loader(&why->idle->threads, why->model, key->part[0]).caller);
	else
		same.part[0] = line_at(why, lines, key->part[0]);
	if (plain.part[1] == WHY_PYTHON || plain.part[1] == WHY_PROGRAM)
		same.part[2] = key->part[2] == CALLER_UNSEEN ? NONE : line_at(why, lines, key->part[2]);
	if (plain.part[1] == WHY_UNSAMPLED)
		same.part[3] = key->part[3] == CALLER_UNSEEN ? NONE : line_at(why, lines, key->part[3]);
	return same;
}

static void add_sum(struct tally *all, struct tally_key key, const struct tally_entry *sum)
{
	struct tally_entry *entry = tally_at(all, key);

	entry->ns += sum->ns;
	entry->count += sum->count;
	entry->more += sum->more;
}

/* Adds sums by line; keys are as in charges. */
static void add_by_line(struct tally *all, struct why *why, struct lines *lines, const struct tally *sums)
{
	for (size_t i = 0; i < sums->count; i++)
		add_sum(all, by_line(why, lines, &sums->entries[i].key), &sums->entries[i]);
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

static struct tally_key line_key_of(struct why *why, struct lines *lines, const struct idle_charge *charge)
{
	struct tally_key key = why_charge_key(key_of_gap(charge), idle_charge_process(why->idle, charge));

	return by_line(why, lines, &key);
}

/* Adds the gaps that are looked at; more: time after calls. */
static void add_gaps(struct tally *all, struct why *why, struct lines *lines)
{
	for (size_t i = 0; i < idle_charge_count(why->idle); i++) {
		struct idle_charge charge = idle_charge_at(why->idle, i);

		if (!charge.looked_at)
			continue;
		add_sum(all, line_key_of(why, lines, &charge),
			&(struct tally_entry){
				.ns = charge.ns, .count = charge.count, .more = charge.after ? charge.ns : 0});
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

/* Key: line; more: bytes. */
static void add_reads(struct tally *all, struct why *why, struct lines *lines)
{
	for (size_t i = 0; i < why->reads.count; i++) {
		const struct tally_entry *sum = &why->reads.entries[i];

		add_sum(all, (struct tally_key){{line_at(why, lines, sum->key.part[0])}}, sum);
	}
}

struct evidence {
	struct tally calls, reads, copies;
};

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
static struct why_line line_of_key(const struct tally_key *key)
{
	struct tally_key plain = why_key_of_charge(*key);

	return (struct why_line){.line = plain.part[0],
				 .from_line = from_line(plain.part),
				 .detail = plain.part[2],
				 .extra = plain.part[3],
				 .process = key->part[1] >> WHY_PROCESS_SHIFT};
}

struct why_line why_line_of_charge(struct why *why, struct lines *lines, const struct idle_charge *charge)
{
	struct tally_key key = line_key_of(why, lines, charge);

	return line_of_key(&key);
}

static struct why_line line_row(struct evidence *evidence, const struct tally_entry *sum)
{
	struct tally_key key = why_key_of_charge(sum->key);
	const uint32_t *part = key.part;
	struct why_line row = line_of_key(&sum->key);
	struct tally_entry calls = sum_of(&evidence->calls, key);

	row.ns = sum->ns;
	row.count = sum->count;
	row.after_ns = sum->more;
	row.calls = calls.count;
	row.calls_ns = calls.ns;
	row.failed = calls.more;
	if (part[1] == WHY_SYNC) {
		struct tally_entry reads = sum_of(&evidence->reads, (struct tally_key){{part[0]}});

		row.reads = reads.count;
		row.read_bytes = reads.more;
	} else if (part[1] == WHY_COPY || part[1] == WHY_MANAGED) {
		struct tally_entry copies = sum_of(&evidence->copies, key);

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

static void add_lines(struct why_loss *loss, struct evidence *evidence, const struct tally_entry *sorted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		loss->line_count += cause_of(&sorted[i]) == loss->cause;
	loss->lines = xcalloc(loss->line_count, sizeof(*loss->lines));
	loss->line_count = 0;
	for (size_t i = 0; i < count; i++)
		if (cause_of(&sorted[i]) == loss->cause)
			loss->lines[loss->line_count++] = line_row(evidence, &sorted[i]);
}

static int by_time(const void *left, const void *right)
{
	const struct why_loss *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->cause > b->cause) - (a->cause < b->cause);
}

/* Key: cause, line where launching threads waited for others. */
static struct tally vias_by_line(struct why *why, struct lines *lines)
{
	struct tally vias = {0};

	for (size_t i = 0; i < idle_charge_count(why->idle); i++) {
		struct idle_charge charge = idle_charge_at(why->idle, i);

		if (charge.looked_at && charge.via != NONE)
			tally_at(&vias, (struct tally_key){{charge.what.part[1], line_at(why, lines, charge.via)}})
				->ns += charge.ns;
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

void why_finish(struct why *why, struct lines *lines)
{
	struct tally charges = {0}, vias;
	struct evidence evidence = {0};
	struct tally_entry *sorted;

	settle_all(why);
	add_gaps(&charges, why, lines);
	vias = vias_by_line(why, lines);
	add_by_line(&charges, why, lines, &why->charges);
	add_by_line(&evidence.calls, why, lines, &why->idle->calls);
	add_by_line(&evidence.copies, why, lines, &why->copies);
	add_reads(&evidence.reads, why, lines);
	sorted = tally_sorted(&charges, false);
	for (unsigned cause = 0; cause < WHY_LOSSES; cause++) {
		const struct idle_sum *sum = &why->sums[cause];
		struct why_loss *loss = &why->losses[why->count];

		if (!sum->ns)
			continue;
		*loss = (struct why_loss){
			.cause = cause, .ns = sum->ns, .count = sum->count, .longest_ns = sum->longest_ns};
		add_lines(loss, &evidence, sorted, charges.count);
		name_via(loss, &vias);
		why->count++;
	}
	if (why->count)
		qsort(why->losses, why->count, sizeof(*why->losses), by_time);
	free(sorted);
	tally_free(&charges);
	tally_free(&vias);
	tally_free(&evidence.calls);
	tally_free(&evidence.reads);
	tally_free(&evidence.copies);
}
