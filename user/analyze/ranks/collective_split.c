/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/collective_split.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/ranks/split_sums.h"
#include "base/distance.h"
#include "base/order.h"
#include "base/tally.h"

#define LATE_LEAST_NS 1000u /* starts of kernels on two GPUs differ by this anyway */

const char *const split_lack_words[SPLIT_LACKS] = {
	[SPLIT_NO_NUMBER] = "nothing says which kernels of other ranks belong to them",
	[SPLIT_RANKS_MISSING] = "not all of their ranks were traced",
	[SPLIT_TWICE] = "a rank has their number twice",
	[SPLIT_APART] = "those of other ranks did not run at the same time",
	[SPLIT_CLOCK] = "the clocks are not aligned",
};

/* A kernel that takes part in something, on the clock of the first log. */
struct entry {
	uint64_t key, start_ns, end_ns;
	uint32_t rank, kernel;
	int64_t members;
	bool is_by_name, is_one_way;
};

struct entries {
	ARRAY(struct entry) list;
};

/* While the split is made. */
struct splitting {
	struct collective_split *split;
	const struct ranks *ranks;
	const struct collective_kernels *logs;
	struct tally lasts;  /* rank, name, line, number of the cause; more: index in split.lasts + 1 */
	struct tally causes; /* rank, cause, its line; numbered as they come */
	uint32_t *places;    /* by rank: scratch of the walk */
};

static const struct collective_kernel *kernel_of(const struct splitting *splitting, const struct entry *entry)
{
	return &splitting->split->ranks.items[entry->rank].of->kernels.list.items[entry->kernel];
}

static struct kernel_split *split_of(const struct splitting *splitting, const struct entry *entry)
{
	return &splitting->split->ranks.items[entry->rank].splits[entry->kernel];
}

static void note_lack(const struct splitting *splitting, const struct entry *entry, enum split_lack lack)
{
	struct kernel_split *split = split_of(splitting, entry);

	if (split->lack == SPLIT_KNOWN)
		split->lack = (uint8_t)lack;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_rank, struct split_rank,
	     least_first(a->rank < 0, b->rank < 0) ?: lower_first(a->rank, b->rank) ?: least_first(a->log, b->log) ?:
	     least_first(a->of->process, b->of->process) ?: least_first(a->of->device, b->of->device))

static int64_t rank_of(const struct splitting *splitting, size_t log, const struct kernels_of_process *of)
{
	return of->device == NONE ? rank_of_process(splitting->ranks, log, of->process) : of->rank;
}

static void collect_ranks(const struct splitting *splitting)
{
	struct collective_split *split = splitting->split;

	for (size_t log = 0; log < splitting->ranks->logs.count; log++)
		array_each (of, &splitting->logs[log].processes.list) {
			split->left_out += of->left_out;
			split->kernels += of->kernels.list.count;
			if (!of->kernels.list.count)
				continue;
			array_push(&split->ranks,
				   ((struct split_rank){.log = log, .of = of, .rank = rank_of(splitting, log, of)}));
			split->has_gpus |= of->device != NONE;
		}
	array_sort(&split->ranks, by_rank);
	array_each (rank, &split->ranks) {
		rank->splits = xcalloc(rank->of->kernels.list.count, sizeof(*rank->splits));
		for (size_t k = 0; k < rank->of->kernels.list.count; k++)
			rank->splits[k] = (struct kernel_split){
				.last = NONE,
				.lack = rank->of->kernels.list.items[k].basis == COLLECTIVE_BY_NOTHING ? SPLIT_NO_NUMBER
												       : SPLIT_KNOWN};
	}
}

DEFINE_ORDER(by_key, struct entry,
	     least_first(a->key, b->key) ?: least_first(a->start_ns, b->start_ns) ?: least_first(a->rank, b->rank) ?:
	     least_first(a->kernel, b->kernel))

static void collect_entries(const struct splitting *splitting, struct entries *entries)
{
	for (size_t i = 0; i < splitting->split->ranks.count; i++) {
		const struct split_rank *rank = &splitting->split->ranks.items[i];
		const struct clock_line *clock = rank_log_clock(splitting->ranks, rank->log);

		array_each (part, &rank->of->parts.list) {
			const struct collective_kernel *kernel = &rank->of->kernels.list.items[part->kernel];

			array_push(&entries->list, ((struct entry){.key = part->key,
								   .start_ns = clock_line_at(clock, kernel->start_ns),
								   .end_ns = clock_line_at(clock, kernel->end_ns),
								   .rank = (uint32_t)i,
								   .kernel = part->kernel,
								   .members = part->members,
								   .is_by_name = kernel->basis == COLLECTIVE_BY_NAME,
								   .is_one_way = part->is_one_way}));
		}
	}
	array_sort(&entries->list, by_key);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static const struct rank_clock *clock_of(const struct splitting *splitting, const struct entry *entry)
{
	size_t log = splitting->split->ranks.items[entry->rank].log;

	return &splitting->ranks->clocks.items[splitting->ranks->logs.items[log].clock];
}

/* What a time of one is known to on the clock of the other. */
static uint64_t error_between(const struct splitting *splitting, const struct entry *a, const struct entry *b)
{
	const struct rank_clock *of_a = clock_of(splitting, a), *of_b = clock_of(splitting, b);

	return of_a == of_b ? 0 : of_a->fit.error_most_ns + of_b->fit.error_most_ns;
}

static bool is_aligned(const struct splitting *splitting, const struct entry *list, size_t count)
{
	return !any_of(count, i,
		       clock_of(splitting, &list[i])->kind == RANK_CLOCK_WALL &&
			       clock_of(splitting, &list[i]) != clock_of(splitting, &list[0]));
}

/* ---- one collective ---------------------------------------------------------------------------------------------- */

static void note_all(const struct splitting *splitting, const struct entry *list, size_t count, enum split_lack lack)
{
	for (size_t i = 0; i < count; i++)
		note_lack(splitting, &list[i], lack);
}

/* The last that began while the kernel ran; a rank that came after its end it did not wait for. */
static const struct entry *last_for(const struct splitting *splitting, const struct entry *own,
				    const struct entry *list, size_t count, bool *is_apart)
{
	const struct entry *last = own;

	for (size_t i = 0; i < count; i++) {
		if (list[i].start_ns > own->end_ns + error_between(splitting, own, &list[i]))
			*is_apart |= !own->is_one_way;
		else if (list[i].start_ns > last->start_ns)
			last = &list[i];
	}
	return last;
}

/* What the time in which a rank was late is charged to, most of it. */
static struct collective_cause cause_of(const struct splitting *splitting, const struct entry *last, uint64_t late_ns)
{
	const struct collective_kernel *kernel = kernel_of(splitting, last);
	const struct collective_kernels *log = &splitting->logs[splitting->split->ranks.items[last->rank].log];
	bool is_known = kernel->start_ns < log->causes_until_ns;
	struct collective_cause most = {.cause = is_known ? WHY_CAUSES : NONE, .line = NONE};
	uint64_t from_ns = kernel->start_ns > late_ns ? kernel->start_ns - late_ns : 0, most_ns = 0;

	for (uint32_t i = 0; i < kernel->causes; i++) {
		const struct collective_cause *cause = &log->causes.list.items[kernel->first_cause + i];
		uint64_t begin_ns = later_time(cause->from_ns, from_ns);

		if (cause->to_ns > begin_ns && cause->to_ns - begin_ns > most_ns) {
			most_ns = cause->to_ns - begin_ns;
			most = *cause;
		}
	}
	return most;
}

/* How long the rank that came last was late, and why. */
static void add_last(struct splitting *splitting, const struct entry *last, uint64_t late_ns)
{
	const struct collective_kernel *kernel = kernel_of(splitting, last);
	struct collective_cause cause = cause_of(splitting, last, late_ns);
	uint32_t number = tally_number(&splitting->causes, (struct tally_key){{last->rank, cause.cause, cause.line}});
	struct tally_entry *entry =
		tally_at(&splitting->lasts, (struct tally_key){{last->rank, kernel->name, kernel->line, number}});
	uint64_t dispatch_ns;
	struct last_row *row;

	if (!entry->more) {
		array_push(&splitting->split->lasts, ((struct last_row){.rank = last->rank,
									.name = kernel->name,
									.line = kernel->line,
									.cause = cause.cause,
									.cause_line = cause.line}));
		entry->more = splitting->split->lasts.count;
	}
	row = &splitting->split->lasts.items[entry->more - 1];
	row->count++;
	row->ns += late_ns;
	row->most_ns = later_time(row->most_ns, late_ns);
	if (kernel_dispatch(kernel, &dispatch_ns))
		row->queued_ns += earlier_time(dispatch_ns, late_ns);
}

/* list: the counterparts, one of each rank, as they began. */
static void split_one(struct splitting *splitting, const struct entry *list, size_t count)
{
	const struct entry *last = &list[count - 1], *middle = &list[(count - 1) / 2];
	bool is_apart = false;

	for (size_t i = 0; i < count; i++)
		last_for(splitting, &list[i], list, count, &is_apart);
	if (is_apart) {
		note_all(splitting, list, count, SPLIT_APART);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct entry *awaited = last_for(splitting, &list[i], list, count, &is_apart);
		struct kernel_split *split = split_of(splitting, &list[i]);
		uint64_t waiting_ns = time_distance(list[i].start_ns, awaited->start_ns);

		for (size_t k = 0; k < count; k++)
			split->error_ns = later_time(split->error_ns, error_between(splitting, &list[i], &list[k]));
		if (split->last != NONE && waiting_ns <= split->waiting_ns)
			continue;
		split->waiting_ns = waiting_ns;
		split->last = awaited->rank;
		split->last_kernel = awaited->kernel;
	}
	splitting->split->ranks.items[last->rank].sum.last++;
	if (last->start_ns - middle->start_ns > error_between(splitting, last, middle) + LATE_LEAST_NS)
		add_last(splitting, last, last->start_ns - middle->start_ns);
}

/* How many of the job's ranks take part; by name, all that have such kernels do. */
static uint64_t members_of(const struct splitting *splitting, const struct entry *list, size_t count)
{
	int64_t members = 0;

	for (size_t i = 0; i < count; i++)
		members = members < list[i].members ? list[i].members : members;
	if (!members && splitting->ranks->world > 0)
		members = splitting->ranks->world;
	return members < 2 ? 2 : (uint64_t)members;
}

static void split_counterparts(struct splitting *splitting, const struct entry *list, size_t count)
{
	if (!is_aligned(splitting, list, count))
		note_all(splitting, list, count, SPLIT_CLOCK);
	else if (count < members_of(splitting, list, count))
		note_all(splitting, list, count, SPLIT_RANKS_MISSING);
	else
		split_one(splitting, list, count);
}

/* ---- by number --------------------------------------------------------------------------------------------------- */

static bool has_rank_twice(const struct splitting *splitting, const struct entry *list, size_t count)
{
	bool is_twice = false;

	for (size_t i = 0; i < count; i++)
		is_twice |= splitting->places[list[i].rank]++ != 0;
	for (size_t i = 0; i < count; i++)
		splitting->places[list[i].rank] = 0;
	return is_twice;
}

static void split_number(struct splitting *splitting, const struct entry *list, size_t count)
{
	if (has_rank_twice(splitting, list, count))
		note_all(splitting, list, count, SPLIT_TWICE);
	else
		split_counterparts(splitting, list, count);
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

/* The kernels of one name, by rank. */
struct queue {
	const struct entry **list;
	size_t count, at;
};

/* Whether these ran at the same time, and their ends are no further apart than that time. */
static bool are_together(const struct splitting *splitting, const struct entry *list, size_t count)
{
	uint64_t first_end = UINT64_MAX, last_end = 0, error_ns = 0;
	const struct entry *last = &list[0];

	for (size_t i = 0; i < count; i++) {
		first_end = earlier_time(first_end, list[i].end_ns);
		last_end = later_time(last_end, list[i].end_ns);
		if (list[i].start_ns > last->start_ns)
			last = &list[i];
	}
	for (size_t i = 0; i < count; i++)
		error_ns = later_time(error_ns, error_between(splitting, last, &list[i]));
	return first_end > last->start_ns && last_end - first_end <= first_end - last->start_ns + error_ns;
}

DEFINE_ORDER(by_start, struct entry, least_first(a->start_ns, b->start_ns) ?: least_first(a->rank, b->rank))

/* Takes the first of each queue that is left if they are together, else passes over the one that ends first. */
static void split_all_queues(struct splitting *splitting, struct queue *queues, size_t count)
{
	AUTO_FREE struct entry *heads = xmalloc(count * sizeof(*heads));
	bool is_over = false;

	while (!is_over) {
		size_t first = 0;

		for (size_t i = 0; i < count; i++) {
			heads[i] = *queues[i].list[queues[i].at];
			if (heads[i].end_ns < heads[first].end_ns)
				first = i;
		}
		if (!is_aligned(splitting, heads, count)) {
			note_all(splitting, heads, count, SPLIT_CLOCK);
		} else if (!are_together(splitting, heads, count)) {
			note_lack(splitting, &heads[first], SPLIT_APART);
			is_over = ++queues[first].at == queues[first].count;
			continue;
		} else {
			qsort(heads, count, sizeof(*heads), by_start);
			split_counterparts(splitting, heads, count);
		}
		for (size_t i = 0; i < count; i++)
			is_over |= ++queues[i].at == queues[i].count;
	}
	for (size_t i = 0; i < count; i++)
		for (; queues[i].at < queues[i].count; queues[i].at++)
			note_lack(splitting, queues[i].list[queues[i].at], SPLIT_RANKS_MISSING);
}

static void split_name(struct splitting *splitting, const struct entry *list, size_t count)
{
	size_t ranks = splitting->split->ranks.count, used = 0;
	AUTO_FREE struct queue *queues = xcalloc(ranks, sizeof(*queues));

	for (size_t i = 0; i < count; i++)
		queues[list[i].rank].count++;
	for (size_t i = 0; i < ranks; i++)
		queues[i].list = xcalloc(queues[i].count, sizeof(struct entry *));
	for (size_t i = 0; i < count; i++)
		queues[list[i].rank].list[queues[list[i].rank].at++] = &list[i];
	for (size_t i = 0; i < ranks; i++) {
		queues[i].at = 0;
		if (queues[i].count) {
			struct queue kept = queues[used];

			queues[used++] = queues[i];
			queues[i] = kept;
		}
	}
	if (used < members_of(splitting, list, count))
		note_all(splitting, list, count, SPLIT_RANKS_MISSING);
	else
		split_all_queues(splitting, queues, used);
	for (size_t i = 0; i < ranks; i++)
		free(queues[i].list);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(most_time_first, struct split_row, most_first(a->sum.ns, b->sum.ns) ?: least_first(a->rank, b->rank))

DEFINE_ORDER(latest_first, struct last_row, most_first(a->ns, b->ns) ?: least_first(a->rank, b->rank))

void collective_split_make(struct collective_split *split, const struct ranks *ranks,
			   const struct collective_kernels *logs)
{
	struct splitting splitting = {.split = split, .ranks = ranks, .logs = logs};
	struct entries entries = {0};

	*split = (struct collective_split){.logs = logs};
	collect_ranks(&splitting);
	collect_entries(&splitting, &entries);
	splitting.places = xcalloc(split->ranks.count + 1, sizeof(*splitting.places));
	for (size_t i = 0, next; i < entries.list.count; i = next) {
		const struct entry *first = &entries.list.items[i];

		for (next = i + 1; next < entries.list.count && entries.list.items[next].key == first->key; next++)
			;
		if (first->is_by_name)
			split_name(&splitting, first, next - i);
		else
			split_number(&splitting, first, next - i);
	}
	split_sums_add(split);
	array_sort(&split->rows, most_time_first);
	array_sort(&split->lasts, latest_first);
	array_free(&entries.list);
	tally_free(&splitting.lasts);
	tally_free(&splitting.causes);
	free(splitting.places);
}

void collective_split_free(struct collective_split *split)
{
	for (size_t i = 0; i < split->ranks.count; i++)
		free(split->ranks.items[i].splits);
	array_free(&split->ranks);
	array_free(&split->rows);
	array_free(&split->lasts);
	for (size_t i = 0; i < split->communicators.count; i++)
		array_free(&split->communicators.items[i].ranks.list);
	array_free(&split->communicators);
}

/* Kernels are in the order in which they began. */
static size_t first_from(const struct kernels_of_process *of, uint64_t start_ns)
{
	size_t low = 0, high = of->kernels.list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (of->kernels.list.items[middle].start_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct collective_kernel *collective_split_find(const struct collective_split *split, size_t log,
						      uint32_t process, uint64_t start_ns, uint32_t corr,
						      const struct kernel_split **found)
{
	array_each (rank, &split->ranks) {
		if (rank->log != log || rank->of->process != process)
			continue;
		for (size_t k = first_from(rank->of, start_ns); k < rank->of->kernels.list.count; k++) {
			const struct collective_kernel *kernel = &rank->of->kernels.list.items[k];

			if (kernel->start_ns != start_ns)
				break;
			if (kernel->corr != corr)
				continue;
			*found = &rank->splits[k];
			return kernel;
		}
	}
	return NULL;
}
