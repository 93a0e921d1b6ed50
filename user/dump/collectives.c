/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/collectives.h"

#include <string.h>

#define WAITS_MIN_NS (LOOKS_DISTANCE_MS * 1000000ull) /* younger ones may be about to finish */

const char *part_name(enum part part)
{
	static const char *const names[PARTS] = {
		[PART_HAS_NOT_COME] = "has_not_come",
		[PART_NOTHING] = "nothing",
		[PART_OTHER] = "other",
		[PART_WAITS] = "waits",
		[PART_FINISHED] = "finished",
		[PART_GIVEN_UP] = "given_up",
		[PART_UNKNOWN] = "unknown",
	};

	return names[part];
}

const char *work_state_name(enum work_state state)
{
	static const char *const names[] = {"scheduled", "started", "completed", "given_up", "unknown"};

	return names[state];
}

static uint64_t waited_ns(const struct dump_process *process, const struct dump_work *work)
{
	return process->groups_at_ns > work->since_ns ? (uint64_t)(process->groups_at_ns - work->since_ns) : 0;
}

static bool are_one_group(const struct dump_group *a, const struct dump_group *b)
{
	return is_same_text(a->name, b->name) && is_same_text(a->description, b->description);
}

/* A forked child has a copy of its parent's records. */
static bool is_copy(const look_list *looks, const struct dump_process *process)
{
	const struct dump_process *parent = process->forked ? rank_parent(looks, process) : NULL;

	return parent && parent->group_count;
}

/* ---- what waits ------------------------------------------------------------------------------------------------- */

static const struct dump_work *find_first_pending(const struct dump_process *process, const struct dump_group *group,
						  bool is_p2p)
{
	return value_of_first(group->work_count, i, group->works[i].is_p2p == is_p2p && !work_is_over(&group->works[i]),
			      waited_ns(process, &group->works[i]) >= WAITS_MIN_NS ? &group->works[i] : NULL, NULL);
}

static void add_work(collective_list *list, const struct dump_process *process, const struct dump_group *group,
		     const struct dump_work *work)
{
	for (size_t i = 0; i < list->count && !work->is_p2p; i++) {
		struct collective *collective = &list->items[i];

		if (collective->is_p2p || !are_one_group(collective->group, group) ||
		    !rank_is_of_job(collective->process, process))
			continue;
		if (work->number < collective->number)
			collective->number = work->number;
		if (!collective->group->ranks)
			collective->group = group;
		return;
	}
	array_push(list, ((struct collective){
				 .process = process, .group = group, .number = work->number, .is_p2p = work->is_p2p}));
}

static void find_pending(collective_list *list, const struct dump_process *process)
{
	for (unsigned i = 0; i < process->group_count; i++)
		for (int is_p2p = 0; is_p2p <= 1; is_p2p++) {
			const struct dump_group *group = &process->groups[i];
			const struct dump_work *work = find_first_pending(process, group, is_p2p);

			if (work)
				add_work(list, process, group, work);
		}
}

/* ---- what each rank did with it --------------------------------------------------------------------------------- */

static const struct dump_group *find_group(const struct dump_process *process, const struct dump_group *wanted)
{
	return find_item(process->groups, process->group_count, item, are_one_group(item, wanted));
}

/*
 * The work with that number; of several that were called as a group, the one that has not finished.  Else the last one
 * before it, else the first one after it; NULL: there is none.
 */
static const struct dump_work *find_work(const struct dump_group *group, uint64_t number, bool is_p2p)
{
	const struct dump_work *found = NULL;

	for (unsigned i = 0; i < group->work_count; i++) {
		const struct dump_work *work = &group->works[i];

		if (work->is_p2p != is_p2p || (found && work->number > number))
			continue;
		if (work->number == number && !work_is_over(work))
			return work;
		if (!found || found->number != number)
			found = work;
	}
	return found;
}

static enum part part_of(const struct dump_work *work, uint64_t number)
{
	if (work->number < number)
		return PART_HAS_NOT_COME;
	if (work->number > number)
		return PART_UNKNOWN;
	switch (work->state) {
	case WORK_COMPLETED:
		return PART_FINISHED;
	case WORK_GIVEN_UP:
		return PART_GIVEN_UP;
	case WORK_UNKNOWN:
		return PART_UNKNOWN;
	default:
		return PART_WAITS;
	}
}

static unsigned count_later(const struct dump_group *group, const struct dump_work *first)
{
	unsigned count = 0;

	for (const struct dump_work *work = first + 1; work < group->works + group->work_count; work++)
		count += work->is_p2p == first->is_p2p && !work_is_over(work);
	return count;
}

/* init_process_group makes a group of all ranks, which gloo's recorder does not list. */
static bool is_member(const struct dump_group *group, int64_t rank)
{
	if (!group->rank_count)
		return !strcmp(group->description, "default_pg");
	return any_of(group->rank_count, i, (int64_t)group->ranks[i] == rank);
}

static void add_rank(struct collective *collective, const struct dump_process *process, int64_t number)
{
	const struct dump_group *group = find_group(process, collective->group);
	struct collective_rank rank = {.process = process, .rank = number, .part = PART_NOTHING};

	if (!group && (number < 0 || !is_member(collective->group, number)))
		return;
	rank.work = group ? find_work(group, collective->number, collective->is_p2p) : NULL;
	if (rank.work) {
		rank.part = part_of(rank.work, collective->number);
		rank.line = rank_line(rank.work->frames, rank.work->frame_count);
		if (rank.part == PART_WAITS) {
			rank.waited_ns = waited_ns(process, rank.work);
			rank.later = count_later(group, rank.work);
		}
	}
	array_push(&collective->ranks, rank);
}

/* The operation that most ranks have called with that number; among equal counts, the one called first. */
static const char *find_name(const struct collective *collective)
{
	const struct collective_rank *best = NULL;
	size_t best_count = 0;

	for (size_t i = 0; i < collective->ranks.count; i++) {
		const struct collective_rank *rank = &collective->ranks.items[i];
		size_t count = 0;

		if (!rank->work || rank->work->number != collective->number)
			continue;
		for (size_t k = 0; k < collective->ranks.count; k++) {
			const struct dump_work *other = collective->ranks.items[k].work;

			count += other && other->number == collective->number &&
				 is_same_text(other->name, rank->work->name);
		}
		if (!best || count > best_count ||
		    (count == best_count && rank->work->since_ns < best->work->since_ns)) {
			best = rank;
			best_count = count;
		}
	}
	return best ? best->work->name : "?";
}

static bool say_the_same(const struct collective_rank *a, const struct collective_rank *b)
{
	if (a->part != b->part || (a->rank < 0) != (b->rank < 0) || !a->work != !b->work)
		return false;
	return !a->work || (a->work->number == b->work->number && a->work->state == b->work->state &&
			    a->later == b->later && is_same_text(a->work->name, b->work->name) &&
			    is_same_text(a->work->sizes, b->work->sizes) && is_same_frame(a->line, b->line));
}

static void compare_ranks(struct collective *collective)
{
	unsigned known = 0;

	collective->name = find_name(collective);
	for (size_t i = 0; i < collective->ranks.count; i++) {
		struct collective_rank *rank = &collective->ranks.items[i];

		if (rank->part == PART_WAITS && !is_same_text(rank->work->name, collective->name))
			rank->part = PART_OTHER;
		rank->alike = 0;
		while (rank->alike < i && !say_the_same(&collective->ranks.items[rank->alike], rank))
			rank->alike++;
		if (rank->rank >= 0 && is_member(collective->group, rank->rank))
			known += !i || rank[-1].rank != rank->rank;
	}
	if (!collective->is_p2p && known && known < collective->group->rank_count)
		collective->not_looked_at = collective->group->rank_count - known;
}

static int64_t number_of(const rank_list *ranks, const struct dump_process *process)
{
	return value_of_first(ranks->count, i, ranks->items[i].process == process, ranks->items[i].number, -1);
}

/* Ranks by number, then processes without a number. */
static void add_ranks(struct collective *collective, const look_list *looks, const rank_list *ranks)
{
	if (collective->is_p2p) {
		add_rank(collective, collective->process, number_of(ranks, collective->process));
		return;
	}
	for (size_t i = 0; i < ranks->count; i++)
		if (ranks->items[i].number >= 0 && rank_is_of_job(ranks->items[i].process, collective->process))
			add_rank(collective, ranks->items[i].process, ranks->items[i].number);
	for (size_t i = 0; i < looks->count; i++) {
		const struct dump_process *process = looks->items[i].process;

		if (number_of(ranks, process) < 0 && !is_copy(looks, process) &&
		    rank_is_of_job(process, collective->process))
			add_rank(collective, process, -1);
	}
}

void collectives_find(collective_list *list, const look_list *looks, const rank_list *ranks)
{
	memset(list, 0, sizeof(*list));
	for (size_t i = 0; i < looks->count; i++)
		if (!is_copy(looks, looks->items[i].process))
			find_pending(list, looks->items[i].process);
	for (size_t i = 0; i < list->count; i++) {
		add_ranks(&list->items[i], looks, ranks);
		compare_ranks(&list->items[i]);
	}
}

void collectives_free(collective_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		array_free(&list->items[i].ranks);
	array_free(list);
}
