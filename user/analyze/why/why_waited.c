/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long the GPU of a rank waited in a collective, without other work. */
#include "analyze/why/why_internal.h"
#include "base/distance.h"

struct why_device *why_device_at(struct why *why, uint32_t number)
{
	size_t known = why->devices.count;
	size_t index = tally_number(&why->device_index, (struct tally_key){{number}});

	if (index == known)
		array_push(&why->devices, ((struct why_device){.device = number}));
	return &why->devices.items[index];
}

uint64_t why_worked_by(const struct why_sharing *sharing, uint64_t time_ns)
{
	uint64_t beyond = sharing->worked_until_ns > time_ns ? sharing->worked_until_ns - time_ns : 0;

	return sharing->worked_ns > beyond ? sharing->worked_ns - beyond : 0;
}

void why_pass_borders(const struct why *why, struct why_sharing *sharing, uint64_t time_ns)
{
	const struct why_span looked = why_looked_at(why);
	const uint64_t borders[] = {looked.start_ns, looked.end_ns};

	for (; sharing->passed < 2 && time_ns >= borders[sharing->passed]; sharing->passed++)
		sharing->worked_before_ns[sharing->passed] = why_worked_by(sharing, borders[sharing->passed]);
}

/* Work of the GPU up to one of the two borders, which is not after the latest operation. */
static uint64_t worked_before(const struct why_sharing *sharing, unsigned border, uint64_t time_ns)
{
	return border < sharing->passed ? sharing->worked_before_ns[border] : why_worked_by(sharing, time_ns);
}

uint64_t why_waited_ns(struct why *why, const struct why_arrival *arrival, uint64_t last_ns, uint64_t now)
{
	const struct why_span looked = why_looked_at(why);
	struct why_sharing *sharing = &why->devices.items[arrival->device].sharing;
	uint64_t from = later_time(arrival->start_ns, sharing->met_until_ns), worked = arrival->worked_ns;

	if (arrival->end_ns < last_ns || last_ns <= from)
		return 0;
	if (sharing->met_until_ns > arrival->start_ns)
		worked = sharing->met_worked_ns;
	sharing->met_until_ns = last_ns;
	sharing->met_worked_ns = now;
	if (from < looked.start_ns) {
		from = looked.start_ns;
		worked = worked_before(sharing, 0, from);
	}
	if (last_ns > looked.end_ns) {
		last_ns = looked.end_ns;
		now = worked_before(sharing, 1, last_ns);
	}
	return last_ns > from && last_ns - from > now - worked ? last_ns - from - (now - worked) : 0;
}
