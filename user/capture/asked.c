/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/asked.h"

#include <stdio.h>
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

static uint64_t start_of(const struct asked *asked)
{
	return asked->at_ns > asked->span_ns ? asked->at_ns - asked->span_ns : 0;
}

/* Whether a file that ends then has what was asked for whole; one of the full length begins where it can. */
static bool has_whole(uint64_t end_ns, const struct asked *asked, uint64_t span_ns)
{
	return asked->span_ns >= span_ns || start_of(asked) + span_ns >= end_ns;
}

static bool is_within(const struct asked *file, const struct asked *asked, uint64_t span_ns)
{
	uint64_t end_ns = file->at_ns > asked->at_ns ? file->at_ns : asked->at_ns;

	return file->by_itself && asked->by_itself && asked->moment_ns < file->first_ns &&
	       has_whole(end_ns, file, span_ns) && has_whole(end_ns, asked, span_ns);
}

/* A file says why it was written, as far as there is room. */
static void add_reason(struct asked *file, const char *why)
{
	size_t length = strlen(file->why);

	if (strstr(file->why, why) || length + strlen("; ") + strlen(why) >= sizeof(file->why))
		return;
	strcpy(file->why + length, "; ");
	strcat(file->why + length, why);
}

static void join(struct asked *file, const struct asked *asked, uint64_t span_ns)
{
	uint64_t start_ns = start_of(file) < start_of(asked) ? start_of(file) : start_of(asked);

	file->by_itself &= asked->by_itself;
	if (asked->at_ns > file->at_ns)
		file->at_ns = asked->at_ns;
	file->span_ns = file->at_ns - start_ns < span_ns ? file->at_ns - start_ns : span_ns;
	if (asked->by_itself)
		add_reason(file, asked->why);
}

bool asked_join(struct asked_list *list, const struct asked *asked, uint64_t span_ns)
{
	unsigned at = place_of(list, asked);
	struct asked *before = at ? &list->items[at - 1] : NULL, *after = at < list->count ? &list->items[at] : NULL;
	struct asked *file = NULL;

	if (before && (is_same(before, asked) || is_within(before, asked, span_ns) || list->count == ASKED_MOST))
		file = before;
	else if (after && is_within(after, asked, span_ns))
		file = after;
	if (!file)
		return false;
	join(file, asked, span_ns);
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
