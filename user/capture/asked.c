/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/asked.h"

#include <string.h>

/* What is asked for so soon after something else is the same: a process is signalled twice, two processes crash. */
#define SAME_NS 200000000ull

/* first_ns: what comes again and again is not one file without end. */
static bool is_same(const struct asked *last, const struct asked *asked)
{
	return asked->at_ns >= last->at_ns && asked->at_ns - last->first_ns < SAME_NS;
}

/* In order of their ends, as they become due. */
static unsigned place_of(const struct asked_list *list, const struct asked *asked)
{
	unsigned at = list->count;

	while (at && list->items[at - 1].at_ns > asked->at_ns)
		at--;
	return at;
}

bool asked_join(struct asked_list *list, const struct asked *asked, uint64_t span_ns)
{
	unsigned at = place_of(list, asked);
	struct asked *last = at ? &list->items[at - 1] : NULL;
	uint64_t joined_ns;

	if (!last || (!is_same(last, asked) && list->count != ASKED_MOST))
		return false;
	joined_ns = last->span_ns + (asked->at_ns - last->at_ns);
	joined_ns = joined_ns > asked->span_ns ? joined_ns : asked->span_ns;
	last->by_itself &= asked->by_itself;
	last->at_ns = asked->at_ns;
	last->span_ns = joined_ns < span_ns ? joined_ns : span_ns;
	return true;
}

void asked_add(struct asked_list *list, const struct asked *asked)
{
	unsigned at = place_of(list, asked);

	if (list->count == ASKED_MOST)
		return;
	memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof(*asked));
	list->items[at] = *asked;
	list->count++;
}

void asked_remove(struct asked_list *list, unsigned count)
{
	list->count -= count;
	memmove(list->items, list->items + count, list->count * sizeof(list->items[0]));
}

void asked_move(struct asked_list *list, uint64_t at_ns)
{
	for (unsigned i = 0; i < list->count; i++)
		list->items[i].at_ns = list->items[i].first_ns = at_ns;
}
