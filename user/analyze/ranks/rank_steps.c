/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_steps.h"

#include <stdlib.h>

#include "base/order.h"
#include "base/tally.h"

/* A step of a rank. */
struct own_step {
	int64_t number; /* common to all ranks */
	uint64_t wall_ns, late_ns;
	size_t rank;
};

struct matching {
	const struct ranks *ranks;
	int64_t *ahead; /* by rank: a common number less its own */
	bool *is_placed;
	struct tally numbers; /* halves of a collective's key; more: 1 + index in list */
	ARRAY(int64_t) list;  /* common numbers */
};

static const struct step *step_of(const struct rank_work *work, uint64_t time_ns)
{
	size_t at = step_at(work->steps.list.items, work->steps.list.count, time_ns);

	return at == SIZE_MAX || time_ns >= work->steps.list.items[at].end_ns ? NULL : &work->steps.list.items[at];
}

static struct tally_entry *entry_of(struct tally *numbers, uint64_t key)
{
	return tally_at(numbers, (struct tally_key){{(uint32_t)key, (uint32_t)(key >> 32)}});
}

/* The common number of most collectives, less the rank's own; false: none of its collectives is known. */
static bool find_place(struct matching *matching, size_t rank, int64_t *ahead)
{
	const struct rank_row *row = &matching->ranks->rows.items[rank];
	const struct rank_work *work = rank_work_of(matching->ranks, row);
	struct tally votes = {0};
	uint64_t most = 0;

	for (size_t i = 0; work && i < row->of->met.list.count; i++) {
		const struct collective_arrival *arrival = &row->of->met.list.items[i];
		const struct step *step = step_of(work, arrival->launched_ns);
		struct tally_entry *known = step ? entry_of(&matching->numbers, arrival->key) : NULL, *vote;
		int64_t found;

		if (!known || !known->more)
			continue;
		found = matching->list.items[known->more - 1] - (int64_t)step->number;
		vote = entry_of(&votes, (uint64_t)found);
		if (++vote->count > most) {
			most = vote->count;
			*ahead = found;
		}
	}
	tally_free(&votes);
	return most != 0;
}

/* From here on its collectives place those of others. */
static void place_rank(struct matching *matching, size_t rank, int64_t ahead)
{
	const struct rank_row *row = &matching->ranks->rows.items[rank];
	const struct rank_work *work = rank_work_of(matching->ranks, row);

	matching->ahead[rank] = ahead;
	matching->is_placed[rank] = true;
	array_each (arrival, &row->of->met.list) {
		const struct step *step = step_of(work, arrival->launched_ns);
		struct tally_entry *known = step ? entry_of(&matching->numbers, arrival->key) : NULL;

		if (!known || known->more)
			continue;
		array_push(&matching->list, (int64_t)step->number + ahead);
		known->more = matching->list.count;
	}
}

/* Until no further rank has a collective in common with those that are placed. */
static void place_ranks(struct matching *matching)
{
	size_t count = matching->ranks->rows.count, placed = 0, before;
	int64_t ahead;

	for (size_t i = 0; i < count && !placed; i++) {
		const struct rank_work *work = rank_work_of(matching->ranks, &matching->ranks->rows.items[i]);

		if (work && work->steps.list.count && matching->ranks->rows.items[i].of->met.list.count) {
			place_rank(matching, i, 0);
			placed++;
		}
	}
	do {
		before = placed;
		for (size_t i = 0; i < count; i++) {
			if (matching->is_placed[i] || !find_place(matching, i, &ahead))
				continue;
			place_rank(matching, i, ahead);
			placed++;
		}
	} while (placed != before);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct own_steps {
	ARRAY(struct own_step) list;
};

static void collect_steps(const struct matching *matching, size_t rank, struct own_steps *steps)
{
	const struct rank_row *row = &matching->ranks->rows.items[rank];
	const struct rank_work *work = rank_work_of(matching->ranks, row);
	const struct step *first = work->steps.list.items;
	size_t base = steps->list.count;

	for (size_t i = 0; i < work->steps.list.count; i++)
		array_push(&steps->list, ((struct own_step){.number = (int64_t)first[i].number + matching->ahead[rank],
							    .wall_ns = first[i].end_ns - first[i].start_ns,
							    .rank = rank}));
	for (size_t i = 0; i < row->lates.list.count; i++) {
		const struct step *step = step_of(work, row->lates.list.items[i].at_ns);

		if (step)
			steps->list.items[base + (size_t)(step - first)].late_ns += row->lates.list.items[i].ns;
	}
}

DEFINE_ORDER(by_number, struct own_step,
	     lower_first(a->number, b->number) ?: least_first(a->wall_ns, b->wall_ns) ?: least_first(a->rank, b->rank))

/* A profiler that starts again numbers its steps again: which of them is meant is not known. */
static bool has_rank_twice(size_t *latest, size_t group, const struct own_step *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (latest[list[i].rank] == group)
			return true;
		latest[list[i].rank] = group;
	}
	return false;
}

/* list: the steps of one number, the fastest first. */
static void add_spread(struct rank_steps *steps, const struct own_step *list, size_t count)
{
	struct step_spread spread = {.number = list->number,
				     .ranks = count,
				     .fastest_ns = list->wall_ns,
				     .median_ns = list[(count - 1) / 2].wall_ns,
				     .slowest_ns = list[count - 1].wall_ns,
				     .fastest = list->rank,
				     .slowest = list[count - 1].rank,
				     .late = SIZE_MAX};

	for (size_t i = 0; i < count; i++) {
		struct rank_steps_row *row = &steps->rows[list[i].rank];

		row->compared++;
		row->wall_ns += list[i].wall_ns;
		row->late_ns += list[i].late_ns;
		if (list[i].late_ns > spread.late_ns) {
			spread.late_ns = list[i].late_ns;
			spread.late = list[i].rank;
		}
	}
	steps->rows[spread.fastest].fastest++;
	steps->rows[spread.slowest].slowest++;
	if (spread.late != SIZE_MAX)
		steps->rows[spread.late].late++;
	array_push(&steps->list, spread);
}

static void make_rows(struct rank_steps *steps, const struct matching *matching)
{
	struct own_steps all = {0};
	size_t *latest = xcalloc(matching->ranks->rows.count, sizeof(*latest)); /* by rank: where its last group ends */

	for (size_t i = 0; i < matching->ranks->rows.count; i++) {
		const struct rank_work *work = rank_work_of(matching->ranks, &matching->ranks->rows.items[i]);

		steps->rows[i].seen = work ? work->steps.list.count : 0;
		steps->rows[i].is_compared = matching->is_placed[i];
		if (matching->is_placed[i])
			collect_steps(matching, i, &all);
	}
	array_sort(&all.list, by_number);
	for (size_t i = 0, next; i < all.list.count; i = next) {
		for (next = i + 1; next < all.list.count && all.list.items[next].number == all.list.items[i].number;
		     next++)
			;
		if (!has_rank_twice(latest, next, &all.list.items[i], next - i) && next - i > 1)
			add_spread(steps, &all.list.items[i], next - i);
	}
	array_free(&all.list);
	free(latest);
}

void rank_steps_make(struct rank_steps *steps, const struct ranks *ranks)
{
	struct matching matching = {.ranks = ranks,
				    .ahead = xcalloc(ranks->rows.count, sizeof(int64_t)),
				    .is_placed = xcalloc(ranks->rows.count, sizeof(bool))};

	*steps = (struct rank_steps){.rows = xcalloc(ranks->rows.count, sizeof(*steps->rows))};
	place_ranks(&matching);
	make_rows(steps, &matching);
	tally_free(&matching.numbers);
	array_free(&matching.list);
	free(matching.ahead);
	free(matching.is_placed);
}

void rank_steps_free(struct rank_steps *steps)
{
	array_free(&steps->list);
	free(steps->rows);
}
