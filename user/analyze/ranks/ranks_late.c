/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds which rank came last to which collective, and by how much. */
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks/ranks.h"
#include "base/tally.h"

#define DEFERRED_LEAST_NS 1000u /* starts of kernels on two GPUs differ by this anyway */

/* The arrival of a rank at a collective. */
struct arrival {
	uint64_t key, at_ns;
	uint32_t rank;
	uint32_t arrival; /* index in the arrivals of that rank */
};

static int by_key(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static struct arrival *collect_arrivals(const struct ranks *ranks, size_t *count)
{
	struct arrival *list;
	size_t at = 0;

	*count = 0;
	for (size_t i = 0; i < ranks->rows.count; i++)
		*count += ranks->rows.items[i].of->met.list.count;
	list = xmalloc(*count * sizeof(*list));
	for (size_t i = 0; i < ranks->rows.count; i++) {
		const struct rank_row *row = &ranks->rows.items[i];
		const struct clock_line *line = rank_log_clock(ranks, row->log);

		for (size_t k = 0; k < row->of->met.list.count; k++) {
			const struct collective_arrival *arrival = &row->of->met.list.items[k];

			list[at++] = (struct arrival){arrival->key, clock_line_at(line, arrival->arrived_ns),
						      (uint32_t)i, (uint32_t)k};
		}
	}
	if (at)
		qsort(list, at, sizeof(*list), by_key);
	return list;
}

/* The error between two ranks' clocks at one moment. */
static uint64_t error_between(const struct ranks *ranks, const struct arrival *a, const struct arrival *b)
{
	size_t of_a = ranks->logs.items[ranks->rows.items[a->rank].log].clock;
	size_t of_b = ranks->logs.items[ranks->rows.items[b->rank].log].clock;

	if (of_a == of_b)
		return 0;
	return ranks->clocks.items[of_a].fit.error_most_ns + ranks->clocks.items[of_b].fit.error_most_ns;
}

/* Lateness by a clock that is not aligned would be a guess. */
static bool is_by_wall(const struct ranks *ranks, const struct arrival *arrival)
{
	return ranks->clocks.items[ranks->logs.items[ranks->rows.items[arrival->rank].log].clock].kind ==
	       RANK_CLOCK_WALL;
}

static void add_late(struct ranks *ranks, struct tally *rows, const struct arrival *last, uint64_t ns)
{
	struct rank_row *rank = &ranks->rows.items[last->rank];
	const struct collective_arrival *arrival = &rank->of->met.list.items[last->arrival];
	struct tally_entry *entry = tally_at(rows, (struct tally_key){{last->rank, arrival->name, arrival->line}});
	struct late_row *row;

	if (!entry->more) {
		array_push(&ranks->late,
			   ((struct late_row){.rank = last->rank, .name = arrival->name, .line = arrival->line}));
		entry->more = ranks->late.count;
	}
	row = &ranks->late.items[entry->more - 1];
	row->count++;
	row->ns += ns;
	rank->late++;
	rank->late_ns += ns;
	if (ns > rank->most_ns)
		rank->most_ns = ns;
	if (ns <= row->most_ns)
		return;
	row->most_ns = ns;
	row->paused_ns = arrival->paused_ns;
	row->pause_from = arrival->pause_from;
	row->pause_to = arrival->pause_to;
}

/* Compares the arrivals at one collective: sorted by time, at least two.  latenesses: one list a rank. */
static void compare_arrivals(struct ranks *ranks, struct tally *rows, struct lateness_list *latenesses,
			     const struct arrival *list, size_t count)
{
	const struct arrival *last = &list[count - 1], *middle = &list[(count - 1) / 2];
	uint64_t ns = last->at_ns - middle->at_ns;
	bool is_late = ns > error_between(ranks, last, middle) + DEFERRED_LEAST_NS;

	for (size_t i = 0; i < count; i++)
		if (is_by_wall(ranks, &list[i]))
			return;
	if (!ranks->compared++ || list->at_ns < ranks->compared_from_ns)
		ranks->compared_from_ns = list->at_ns;
	for (size_t i = 0; i < count; i++) {
		ranks->rows.items[list[i].rank].compared++;
		ranks->rows.items[list[i].rank].waited_ns += last->at_ns - list[i].at_ns;
		array_push(&latenesses[list[i].rank].list,
			   ((struct lateness){list[i].at_ns, is_late && &list[i] == last ? ns : 0}));
	}
	if (is_late)
		add_late(ranks, rows, last, ns);
}

static int by_time(const void *left, const void *right)
{
	const struct late_row *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

void ranks_compare(struct ranks *ranks)
{
	struct tally rows = {0}; /* key: rank, name, line; more: index in late + 1 */
	struct lateness_list *latenesses = xcalloc(ranks->rows.count, sizeof(*latenesses));
	struct arrival *list;
	size_t count;

	list = collect_arrivals(ranks, &count);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && list[next].key == list[i].key; next++)
			;
		ranks->arrivals++;
		if (next - i > 1)
			compare_arrivals(ranks, &rows, latenesses, &list[i], next - i);
	}
	if (ranks->late.count)
		qsort(ranks->late.items, ranks->late.count, sizeof(*ranks->late.items), by_time);
	for (size_t i = 0; i < ranks->rows.count; i++) {
		rank_onset_find(&ranks->rows.items[i].onset, &latenesses[i]);
		array_free(&latenesses[i].list);
	}
	free(latenesses);
	tally_free(&rows);
	free(list);
}
