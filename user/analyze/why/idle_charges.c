/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The charges of the account (idle_internal.h): each piece of time on a key, for a process, in a block of steps. */
#include "analyze/why/idle_internal.h"

/* AFTER, INNER_SHIFT: bits in the cause of a key of whats; LOOKED_AT, NO_BLOCK: in the block of a key of charges. */
#define AFTER 0x100u
#define INNER_SHIFT 16
#define LOOKED_AT 0x100u
#define NO_BLOCK 0xffu

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

/* Returns the charge's number in charges. */
static size_t charge_account(const struct idle_charging *charging, struct tally_key key, uint64_t ns)
{
	struct idle *idle = charging->idle;
	struct tally_key whose = {{charging->launch_place, charging->process, charging->culprit, charging->via}};
	uint32_t when = charging->block == STEP_BLOCK_NONE ? NO_BLOCK : charging->block;
	enum why_cause cause = key.part[1], inner = charging->inner == WHY_CAUSES ? cause : charging->inner;
	struct tally_entry *entry;

	if (key.part[0] == WHY_PLACE_NEXT)
		key.part[0] = charging->launch_place;
	key.part[1] |= (charging->after ? AFTER : 0) | (uint32_t)inner << INNER_SHIFT;
	entry = tally_at(&idle->charges,
			 (struct tally_key){{tally_number(&idle->whats, key), tally_number(&idle->whose, whose),
					     when | (charging->looked_at ? LOOKED_AT : 0)}});
	entry->ns += ns;
	entry->count += !charging->once || entry->more != idle->gaps;
	entry->more = idle->gaps;
	while (idle->pieces.count < idle->charges.count)
		array_push(&idle->pieces, 0u);
	idle->pieces.items[entry - idle->charges.entries]++;
	idle->sum += ns;
	if (charging->looked_at)
		add_to_sum(charging, &idle->sums[cause], ns);
	return (size_t)(entry - idle->charges.entries);
}

void idle_charge_spans(struct idle_charging *charging, struct tally_key key, struct idle_spans *spans, uint64_t ns)
{
	size_t number;

	if (!ns)
		return;
	number = charge_account(charging, key, ns);
	while (ns && spans->count) {
		struct why_rest *first = spans->next;
		uint64_t first_ns = first->to_ns - first->from_ns, part_ns = first_ns < ns ? first_ns : ns;

		idle_steps_add(&charging->idle->steps, number, charging->process, first->from_ns,
			       first->from_ns + part_ns);
		first->from_ns += part_ns;
		ns -= part_ns;
		spans->next += part_ns == first_ns;
		spans->count -= part_ns == first_ns;
	}
}

void idle_charge(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	struct why_rest all = {from_ns, to_ns};

	idle_charge_spans(context, key, &(struct idle_spans){.next = &all, .count = 1}, to_ns - from_ns);
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
				    .process = whose[1],
				    .block = (when & NO_BLOCK) == NO_BLOCK ? STEP_BLOCK_NONE : when & NO_BLOCK,
				    .looked_at = when & LOOKED_AT,
				    .ns = entry->ns,
				    .count = entry->count};
}
