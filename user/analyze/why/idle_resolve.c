/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Resolves the time of gaps without samples, when all samples are known.  A program that comes to one launch again and
 * again does the same before it each time, mostly for less than a period: that time is divided among lines as the
 * samples of all gaps like it are (charge_gap).  If there are too few, it stays unknown, except for the time of an
 * earlier wait.
 */
#include <stdlib.h>

#include "analyze/why/idle_internal.h"

/* Fewer samples say nothing about the time between them. */
#define SAMPLES_LEAST 10u

/* The samples for one launch, thread, and wait for that thread (whose of a charge), in gaps that are alike. */
struct group {
	uint64_t ns, samples;
	uint32_t latest; /* its latest sampled charge, NONE; before[] has the one before each */
};

struct resolving {
	struct idle *idle;
	uint32_t at;	   /* index in charges of the one being resolved */
	struct tally keys; /* whose, like; numbered like groups */
	struct group *groups;
	uint32_t *before; /* by charge */
};

static bool is_sampled(const struct idle_charge *charge)
{
	return charge->inner == WHY_RAN || charge->inner == WHY_NATIVE;
}

static void move_sum(struct idle *idle, const struct idle_charge *from, enum why_cause to, uint64_t ns)
{
	if (!from->looked_at)
		return;
	idle->sums[from->what.part[1]].ns -= ns;
	idle->sums[to].ns += ns;
}

/* Adds the share that one sampled charge has of its group's unknown time. */
static void add_share(const struct resolving *resolving, const struct idle_charge *unknown,
		      const struct idle_charge *sampled, uint64_t ns)
{
	struct idle *idle = resolving->idle;
	struct idle_charge share = *sampled;

	share.block = unknown->block;
	share.looked_at = unknown->looked_at;
	share.outside = false;
	share.ns = ns;
	share.count = 0;
	if (!ns)
		return;
	move_sum(idle, unknown, share.what.part[1], ns);
	idle_steps_take(&idle->steps, resolving->at, share.what.part[1], ns);
	array_push(&idle->resolved, share);
}

static void share_out(const struct resolving *resolving, const struct idle_charge *unknown, const struct group *group)
{
	const struct idle *idle = resolving->idle;
	struct idle_charge sampled = idle_charge_made(idle, group->latest);
	uint64_t left_ns = unknown->ns;

	for (uint32_t i = group->latest; i != NONE; i = resolving->before[i]) {
		struct idle_charge other = idle_charge_made(idle, i);
		uint64_t ns = (uint64_t)((__uint128_t)unknown->ns * other.ns / group->ns);

		add_share(resolving, unknown, &other, ns);
		left_ns -= ns;
	}
	add_share(resolving, unknown, &sampled, left_ns);
}

static void put_all(const struct resolving *resolving, const struct idle_charge *charge)
{
	idle_steps_take(&resolving->idle->steps, resolving->at, charge->what.part[1], charge->ns);
	array_push(&resolving->idle->resolved, *charge);
}

/* Charges it to an earlier wait, if there was one (why_thread_leads). */
static void put_after(const struct resolving *resolving, struct idle_charge unknown)
{
	struct idle *idle = resolving->idle;
	uint32_t lead = unknown.what.part[2];

	if (unknown.what.part[1] == WHY_UNSAMPLED && lead != NONE) {
		enum why_cause cause = idle->whats.entries[lead].key.part[1];

		move_sum(idle, &unknown, cause, unknown.ns);
		if (unknown.looked_at)
			idle->sums[cause].count += unknown.count;
		unknown.what = idle->whats.entries[lead].key;
		unknown.inner = cause;
		unknown.culprit = NONE;
		unknown.launch_pass = PASS_FORWARD;
		unknown.after = true;
	} else if (unknown.what.part[1] == WHY_UNSAMPLED) {
		unknown.what.part[2] = 0;
	}
	put_all(resolving, &unknown);
}

static struct group *group_of(struct resolving *resolving, size_t charge)
{
	const uint32_t *part = resolving->idle->charges.entries[charge].key.part;

	return &resolving->groups[tally_number(&resolving->keys, (struct tally_key){{part[1], part[3]}})];
}

static void make_groups(struct resolving *resolving)
{
	const struct idle *idle = resolving->idle;

	for (size_t i = 0; i < idle->charges.count; i++)
		resolving->groups[i].latest = NONE;
	for (size_t i = 0; i < idle->charges.count; i++) {
		struct idle_charge charge = idle_charge_made(idle, i);
		struct group *group = group_of(resolving, i);

		if (!is_sampled(&charge))
			continue;
		group->ns += charge.ns;
		group->samples += idle->pieces.items[i];
		resolving->before[i] = group->latest;
		group->latest = (uint32_t)i;
	}
}

bool idle_is_shared(const struct idle *idle, uint32_t charge)
{
	struct idle_charge made = idle_charge_made(idle, charge);
	size_t first, count = idle_charges_of(idle, charge, &first);

	return made.inner == WHY_UNSAMPLED && count && is_sampled(&idle->resolved.items[first]);
}

void idle_resolve(struct idle *idle)
{
	struct resolving resolving = {.idle = idle,
				      .groups = xcalloc(idle->charges.count + 1, sizeof(*resolving.groups)),
				      .before = xcalloc(idle->charges.count + 1, sizeof(*resolving.before))};

	make_groups(&resolving);
	for (size_t i = 0; i < idle->charges.count; i++) {
		struct idle_charge charge = idle_charge_made(idle, i);
		const struct group *group = group_of(&resolving, i);

		resolving.at = (uint32_t)i;
		array_push(&idle->resolved_from, (uint32_t)idle->resolved.count);
		if (charge.outside)
			continue;
		if (charge.inner != WHY_UNSAMPLED)
			put_all(&resolving, &charge);
		else if (idle->ran.waits && group->samples >= SAMPLES_LEAST)
			share_out(&resolving, &charge, group);
		else
			put_after(&resolving, charge);
	}
	array_push(&idle->resolved_from, (uint32_t)idle->resolved.count);
	tally_free(&resolving.keys);
	free(resolving.groups);
	free(resolving.before);
}
