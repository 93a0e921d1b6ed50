/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long the GPU of a rank waited in a collective, without other work. */
#include "analyze/why/why_internal.h"
#include "base/distance.h"

uint64_t why_worked_by(const struct why_sharing *sharing, uint64_t time_ns)
{
	uint64_t beyond = sharing->worked_until_ns > time_ns ? sharing->worked_until_ns - time_ns : 0;

	return sharing->worked_ns > beyond ? sharing->worked_ns - beyond : 0;
}

uint64_t why_waited_ns(struct why *why, const struct why_arrival *arrival, uint64_t last_ns, uint64_t now)
{
	struct why_sharing *sharing = &why->devices.items[arrival->device].sharing;
	uint64_t from = later_time(arrival->start_ns, sharing->met_until_ns), worked = arrival->worked_ns;

	if (arrival->end_ns < last_ns || from < why->idle->from_ns || last_ns <= from || last_ns >= why->idle->to_ns)
		return 0;
	if (sharing->met_until_ns > arrival->start_ns)
		worked = sharing->met_worked_ns;
	sharing->met_until_ns = last_ns;
	sharing->met_worked_ns = now;
	return last_ns - from > now - worked ? last_ns - from - (now - worked) : 0;
}
