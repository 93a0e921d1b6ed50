/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of time in no gap. */
#include "analyze/why/why_internal.h"

void why_charge_block(struct why *why, const struct tally_key *key, uint32_t block, uint64_t ns, uint64_t count)
{
	bool by_api = key->part[1] == WHY_SYNC || key->part[1] == WHY_ALLOC;
	uint32_t caller = idle_caller_of_place(why->idle, key->part[0]);
	struct tally_entry *entry;

	if (block == STEP_BLOCK_NONE)
		return;
	entry = tally_at(&why->in_blocks,
			 (struct tally_key){{caller, key->part[1], by_api ? key->part[2] : NONE, block}});
	entry->ns += ns;
	entry->count += count;
}

void why_charge(struct why *why, struct tally_key key, uint64_t ns)
{
	why_charge_several(why, key, ns, 1, ns);
}

void why_charge_several(struct why *why, struct tally_key key, uint64_t ns, uint64_t count, uint64_t longest_ns)
{
	struct idle_sum *sum = &why->sums[key.part[1]];
	struct tally_entry *entry;

	if (!ns)
		return;
	entry = tally_at(&why->charges, why_charge_key(key, why->at_process));
	entry->ns += ns;
	entry->count += count;
	why_charge_block(why, &key, why->at_block, ns, count);
	sum->ns += ns;
	sum->count += count;
	if (longest_ns > sum->longest_ns)
		sum->longest_ns = longest_ns;
}
