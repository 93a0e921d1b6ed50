/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/why/why_shares.h"

static void add_share(struct tally *tally, uint32_t number, uint64_t ns)
{
	if (number != NONE)
		tally_at(tally, (struct tally_key){{number}})->ns += ns;
}

struct why_shares why_shares_of(const struct analyses *all, enum why_cause cause)
{
	const struct idle *idle = &all->idle;
	struct why_shares shares = {0};

	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);
		bool ran = charge.inner == WHY_RAN || charge.inner == WHY_NATIVE;

		if (charge.what.part[1] != cause || !charge.looked_at)
			continue;
		shares.waited_ns += charge.via != NONE && !charge.after ? charge.ns : 0;
		add_share(&shares.inner, charge.inner, charge.ns);
		add_share(&shares.culprits, charge.inner == cause ? NONE : charge.culprit, charge.ns);
		add_share(&shares.functions, ran ? charge.what.part[2] : NONE, charge.ns);
		if (charge.inner >= WHY_LOCK && charge.inner <= WHY_WAIT)
			add_share(&shares.others, charge.what.part[3], charge.ns);
	}
	return shares;
}

void why_shares_free(struct why_shares *shares)
{
	tally_free(&shares->inner);
	tally_free(&shares->culprits);
	tally_free(&shares->functions);
	tally_free(&shares->others);
}

uint32_t why_most_of(const struct tally *tally, uint64_t *ns)
{
	AUTO_FREE struct tally_entry *sorted = tally_sorted(tally, false);
	uint32_t most = tally->count ? sorted[0].key.part[0] : NONE;

	if (ns)
		*ns = tally->count ? sorted[0].ns : 0;
	return most;
}
