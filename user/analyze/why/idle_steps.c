/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A charge has a part for each slot that it lies in; causes take time from these. */
#include "analyze/why/idle_steps.h"

#include <stdlib.h>

void idle_steps_init(struct idle_steps *steps, const struct step_tables *tables)
{
	*steps = (struct idle_steps){.tables = tables};
	if (tables)
		steps->sums = xcalloc(STEP_SLOTS, sizeof(*steps->sums));
}

void idle_steps_free(struct idle_steps *steps)
{
	array_free(&steps->parts);
	array_free(&steps->latest);
	free(steps->sums);
}

static struct idle_step_part *part_at(struct idle_steps *steps, size_t charge, uint32_t slot)
{
	uint32_t *latest;

	while (steps->latest.count <= charge)
		array_push(&steps->latest, NONE);
	latest = &steps->latest.items[charge];
	for (uint32_t i = *latest; i != NONE; i = steps->parts.items[i].before)
		if (steps->parts.items[i].slot == slot)
			return &steps->parts.items[i];
	array_push(&steps->parts, ((struct idle_step_part){.slot = slot, .before = *latest}));
	*latest = (uint32_t)steps->parts.count - 1;
	return &steps->parts.items[*latest];
}

void idle_steps_add(struct idle_steps *steps, size_t charge, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	while (steps->tables && from_ns < to_ns) {
		struct step_place place = step_tables_at(steps->tables, process, from_ns);
		uint64_t until_ns = place.until_ns < to_ns ? place.until_ns : to_ns;

		part_at(steps, charge, place.slot)->ns += until_ns - from_ns;
		from_ns = until_ns;
	}
}

static uint64_t left_of(const struct idle_steps *steps, uint32_t latest)
{
	uint64_t ns = 0;

	for (uint32_t i = latest; i != NONE; i = steps->parts.items[i].before)
		ns += steps->parts.items[i].ns;
	return ns;
}

/* No part gives more than it has left, as ns is at most what all parts have. */
void idle_steps_take(struct idle_steps *steps, size_t charge, enum why_cause cause, uint64_t ns)
{
	uint32_t latest = charge < steps->latest.count ? steps->latest.items[charge] : NONE;
	uint64_t all_ns = left_of(steps, latest), seen_ns = 0, taken_ns = 0;

	for (uint32_t i = latest; i != NONE && all_ns; i = steps->parts.items[i].before) {
		struct idle_step_part *part = &steps->parts.items[i];
		uint64_t until_ns;

		seen_ns += part->ns;
		until_ns = (uint64_t)((__uint128_t)ns * seen_ns / all_ns);
		part->ns -= until_ns - taken_ns;
		steps->sums[part->slot][cause] += until_ns - taken_ns;
		taken_ns = until_ns;
	}
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void add_slot(struct idle_by_cause *to, const struct idle_steps *steps, uint32_t slot)
{
	for (enum why_cause cause = 0; cause < WHY_CAUSES; cause++) {
		to->ns[cause] += steps->sums[slot][cause];
		to->sum_ns += steps->sums[slot][cause];
		if (to->ns[cause] > to->ns[to->largest])
			to->largest = cause;
	}
}

struct idle_by_cause idle_steps_slot(const struct idle_steps *steps, uint32_t slot)
{
	struct idle_by_cause found = {0};

	add_slot(&found, steps, slot);
	return found;
}

struct idle_by_cause idle_steps_all(const struct idle_steps *steps, size_t table)
{
	struct idle_by_cause found = {0};

	for (size_t which = 0; which < STEP_SLOT_OUTSIDE; which++)
		add_slot(&found, steps, step_slot(table, which));
	return found;
}
