/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds which rank came last to which collective, and by how much. */
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks/ranks.h"
#include "base/order.h"
#include "base/tally.h"

#define DEFERRED_LEAST_NS 1000u /* starts of kernels on two GPUs differ by this anyway */

#define TOGETHER_WITHIN_NS 1000000u /* kernels that waited for each other are no further apart by any clock */

/* The arrival of a rank at a collective. */
struct arrival {
	uint64_t key, at_ns;
	uint32_t rank;
	uint32_t arrival; /* index in the arrivals of that rank */
};

DEFINE_ORDER(by_key, struct arrival,
	     lower_first(a->key, b->key) ?: lower_first(a->at_ns, b->at_ns) ?: lower_first(a->rank, b->rank))

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

/* Where those of the same collective end. */
static size_t end_of_key(const struct arrival *list, size_t count, size_t from)
{
	size_t end = from + 1;

	while (end < count && list[end].key == list[from].key)
		end++;
	return end;
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
	array_push(&rank->lates.list, ((struct lateness){arrival->launched_ns, ns}));
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

DEFINE_ORDER(by_time, struct late_row,
	     higher_first(a->ns, b->ns) ?: lower_first(a->rank, b->rank) ?: lower_first(a->line, b->line) ?:
	     lower_first(a->name, b->name))

const struct rank_row *ranks_latest(const struct ranks *ranks)
{
	const struct rank_row *latest = NULL;

	for (size_t i = 0; i < ranks->rows.count; i++)
		if (ranks->rows.items[i].late && (!latest || ranks->rows.items[i].late_ns > latest->late_ns))
			latest = &ranks->rows.items[i];
	return latest;
}

/* ---- ranks of two jobs ------------------------------------------------------------------------------------------- */

/* Ranks that ever ran a collective at the same time, directly or by others between them, have one job. */
struct jobs {
	const struct ranks *ranks;
	uint32_t *of_rank; /* by rank: another rank of its job, or itself */
};

static uint32_t job_of(const struct jobs *jobs, uint32_t rank)
{
	while (jobs->of_rank[rank] != rank)
		rank = jobs->of_rank[rank] = jobs->of_rank[jobs->of_rank[rank]];
	return rank;
}

static const struct collective_arrival *arrival_of(const struct jobs *jobs, const struct arrival *arrival)
{
	return &jobs->ranks->rows.items[arrival->rank].of->met.list.items[arrival->arrival];
}

static uint64_t end_of(const struct jobs *jobs, const struct arrival *arrival)
{
	return arrival->at_ns + (arrival_of(jobs, arrival)->ended_ns - arrival_of(jobs, arrival)->arrived_ns);
}

/* list: of one collective, by time. */
static void join_jobs(const struct jobs *jobs, const struct arrival *list, size_t count)
{
	const struct arrival *latest = list; /* the one that ends last so far */

	for (size_t i = 1; i < count; i++) {
		if (list[i].at_ns <= end_of(jobs, latest) + TOGETHER_WITHIN_NS)
			jobs->of_rank[job_of(jobs, list[i].rank)] = job_of(jobs, latest->rank);
		if (end_of(jobs, &list[i]) > end_of(jobs, latest))
			latest = &list[i];
	}
}

/* What two jobs had in common. */
struct apart {
	uint64_t count, least_ns;
	uint32_t earlier, later; /* ranks */
};

static void find_apart(const struct jobs *jobs, const struct arrival *list, size_t count, struct apart *apart)
{
	for (size_t i = 1; i < count; i++) {
		const struct arrival *before = &list[i - 1];

		if (arrival_of(jobs, before)->is_one_way || is_by_wall(jobs->ranks, before) ||
		    is_by_wall(jobs->ranks, &list[i]) || job_of(jobs, before->rank) == job_of(jobs, list[i].rank))
			continue;
		if (!apart->count++ || list[i].at_ns - before->at_ns < apart->least_ns)
			*apart =
				(struct apart){apart->count, list[i].at_ns - before->at_ns, before->rank, list[i].rank};
	}
}

static const char *log_name_of(const struct ranks *ranks, uint32_t rank)
{
	return ranks->logs.items[ranks->rows.items[rank].log].name;
}

/* Notes which ranks have no collective in common with the first one that has any. */
static void note_apart(struct ranks *ranks, const struct arrival *list, size_t count)
{
	struct jobs jobs = {ranks, xcalloc(ranks->rows.count, sizeof(*jobs.of_rank))};
	size_t first = SIZE_MAX;

	for (uint32_t i = 0; i < ranks->rows.count; i++)
		jobs.of_rank[i] = i;
	for (size_t i = 1; i < count; i++)
		if (list[i].key == list[i - 1].key)
			jobs.of_rank[job_of(&jobs, list[i].rank)] = job_of(&jobs, list[i - 1].rank);
	for (size_t i = 0; i < ranks->rows.count; i++) {
		if (!ranks->rows.items[i].of->met.list.count)
			continue;
		first = first == SIZE_MAX ? i : first;
		ranks->rows.items[i].is_apart = job_of(&jobs, (uint32_t)i) != job_of(&jobs, (uint32_t)first);
	}
	free(jobs.of_rank);
}

/* Why ranks are not of one job, NULL: nothing says so. */
static char *find_jobs(const struct ranks *ranks, const struct arrival *list, size_t count)
{
	struct jobs jobs = {ranks, xcalloc(ranks->rows.count, sizeof(*jobs.of_rank))};
	struct apart apart = {0};
	size_t next;

	for (uint32_t i = 0; i < ranks->rows.count; i++)
		jobs.of_rank[i] = i;
	for (size_t i = 0; i < count; i = next) {
		next = end_of_key(list, count, i);
		join_jobs(&jobs, &list[i], next - i);
	}
	for (size_t i = 0; i < count; i = next) {
		next = end_of_key(list, count, i);
		find_apart(&jobs, &list[i], next - i, &apart);
	}
	free(jobs.of_rank);
	if (!apart.count)
		return NULL;
	return xasprintf(
		"%s and %s are of different jobs: none of the collectives with the same number ran at the same "
		"time, the nearest began %.1f s apart; name the logs of one job",
		log_name_of(ranks, apart.earlier), log_name_of(ranks, apart.later), (double)apart.least_ns / 1e9);
}

char *ranks_compare(struct ranks *ranks)
{
	struct tally rows = {0}; /* key: rank, name, line; more: index in late + 1 */
	struct lateness_list *latenesses = xcalloc(ranks->rows.count, sizeof(*latenesses));
	AUTO_FREE struct arrival *list = NULL;
	size_t count;
	char *why;

	list = collect_arrivals(ranks, &count);
	why = find_jobs(ranks, list, count);
	note_apart(ranks, list, count);
	for (size_t i = 0, next; i < count && !why; i = next) {
		next = end_of_key(list, count, i);
		ranks->arrivals++;
		if (next - i > 1)
			compare_arrivals(ranks, &rows, latenesses, &list[i], next - i);
	}
	array_sort(&ranks->late, by_time);
	for (size_t i = 0; i < ranks->rows.count; i++) {
		rank_onset_find(&ranks->rows.items[i].onset, &latenesses[i]);
		array_free(&latenesses[i].list);
	}
	free(latenesses);
	tally_free(&rows);
	return why;
}
