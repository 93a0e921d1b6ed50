/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which logs belong together, and how their clocks relate. */
#include "analyze/ranks/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks/rank_jobs.h"
#include "base/order.h"

#define DRIFT_MOST 1e-3		 /* clocks disciplined by a kernel drift apart by at most half of this */
#define APART_MOST_NS 3600e9	 /* most that wall clocks of two machines of one job differ by */
#define APART_LEAST_NS 60e9	 /* the same of clocks that are kept right, unless their errors are larger */
#define SAME_CLOCK_MOST_NS 600e9 /* most between ends of one collective on one clock: NCCL's default timeout */

/* ---- logs -------------------------------------------------------------------------------------------------------- */

static bool is_same_clock(const struct rank_log *a, const struct rank_log *b)
{
	return *a->boot && !strcmp(a->boot, b->boot);
}

static void find_clock(struct ranks *ranks, struct rank_log *log)
{
	for (log->clock = 0; log->clock < ranks->clocks.count; log->clock++)
		if (is_same_clock(&ranks->logs.items[ranks->clocks.items[log->clock].log], log))
			return;
	array_push(&ranks->clocks, ((struct rank_clock){.log = ranks->logs.count}));
}

void ranks_add_log(struct ranks *ranks, const char *name, const struct model *last,
		   struct collective_arrivals *arrivals)
{
	const struct model_source *source = model_source(last);
	struct rank_log log = {.name = name,
			       .host = xstrdup(source->host),
			       .boot = xstrdup(source->boot),
			       .start_ns = last->start_ns,
			       .end_ns = last->end_ns,
			       .set_up_at_ns = source->began.set_up_at_ns,
			       .processes = last->process_count,
			       .wall_offset_ns = source->wall_offset_ns,
			       .wall_error_ns = source->began.set_up_ns && !source->began.is_unsynced
							? source->began.wall_error_ns
							: UINT64_MAX,
			       .slept_ns = source->slept_ns,
			       .of_other_tool = model_is_of_other_tool(last),
			       .is_cut = source->receipt.truncated,
			       .clock_steps = source->receipt.clock_steps,
			       .clock_error_ns = source->receipt.clock_error_ns,
			       .arrivals = *arrivals};

	*arrivals = (struct collective_arrivals){0};
	find_clock(ranks, &log);
	array_push(&ranks->logs, log);
}

void ranks_add_breakdown(struct ranks *ranks, const struct breakdown *breakdown, uint64_t timed_ns)
{
	struct rank_log *log = &ranks->logs.items[ranks->logs.count - 1];

	for (size_t i = 0; i < breakdown->processes.count; i++)
		array_push(&log->breakdown, breakdown->processes.items[i]);
	log->timed_ns = timed_ns;
}

struct breakdown_sums rank_breakdown(const struct ranks *ranks, const struct rank_row *row, uint32_t *gpus)
{
	const struct rank_log *log = &ranks->logs.items[row->log];
	struct breakdown_sums sums = {0};

	*gpus = 0;
	for (size_t i = 0; i < log->breakdown.count; i++) {
		if (log->breakdown.items[i].process != row->of->process ||
		    (row->of->device != NONE && log->breakdown.items[i].device != row->of->device))
			continue;
		breakdown_sums_add(&sums, &log->breakdown.items[i].sums);
		++*gpus;
	}
	return sums;
}

void ranks_free(struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->logs.count; i++) {
		free(ranks->logs.items[i].host);
		free(ranks->logs.items[i].boot);
		collective_arrivals_free(&ranks->logs.items[i].arrivals);
		array_free(&ranks->logs.items[i].breakdown);
		for (size_t k = 0; k < ranks->logs.items[i].work.count; k++)
			rank_work_free(&ranks->logs.items[i].work.items[k]);
		array_free(&ranks->logs.items[i].work);
	}
	for (size_t i = 0; i < ranks->rows.count; i++)
		array_free(&ranks->rows.items[i].lates.list);
	array_free(&ranks->logs);
	array_free(&ranks->clocks);
	array_free(&ranks->rows);
	array_free(&ranks->late);
}

int64_t rank_of_process(const struct ranks *ranks, size_t log, uint32_t process)
{
	const struct collective_arrivals *arrivals = &ranks->logs.items[log].arrivals;

	return value_of_first(arrivals->ranks.list.count, i, arrivals->ranks.list.items[i].process == process,
			      arrivals->ranks.list.items[i].rank, -1);
}

bool ranks_have_gpus(const struct ranks *ranks)
{
	return any_of(ranks->rows.count, i, ranks->rows.items[i].of->device != NONE);
}

const char *rank_clock_word(const struct ranks *ranks, size_t log)
{
	const struct rank_clock *clock = &ranks->clocks.items[ranks->logs.items[log].clock];

	if (log != clock->log)
		return "same boot";
	switch (clock->kind) {
	case RANK_CLOCK_FIRST:
		return "reference";
	case RANK_CLOCK_FITTED:
		return "collectives";
	case RANK_CLOCK_WALL:
		break;
	}
	return "wall clock";
}

uint64_t rank_log_begun(const struct ranks *ranks, size_t log)
{
	return clock_line_at(rank_log_clock(ranks, log), ranks->logs.items[log].start_ns);
}

/* By wall clocks both errors count: this log's and the first one's. */
static void add_error(struct ranks_span *span, const struct ranks *ranks, const struct rank_log *log)
{
	const struct rank_clock *clock = &ranks->clocks.items[log->clock];
	uint64_t error_ns = clock->fit.error_most_ns, first_ns = ranks->logs.items[0].wall_error_ns;

	if (clock->kind == RANK_CLOCK_FIRST)
		return;
	if (clock->kind == RANK_CLOCK_WALL && span->by != RANKS_BY_WALL)
		*span = (struct ranks_span){span->begun_ns, span->ended_ns, RANKS_BY_WALL, 0};
	if (clock->kind == RANK_CLOCK_FITTED && span->by == RANKS_BY_WALL)
		return;
	if (clock->kind == RANK_CLOCK_FITTED)
		span->by = RANKS_BY_COLLECTIVES;
	else
		error_ns = log->wall_error_ns == UINT64_MAX || first_ns == UINT64_MAX ? UINT64_MAX
										      : log->wall_error_ns + first_ns;
	if (error_ns > span->error_ns)
		span->error_ns = error_ns;
}

struct ranks_span ranks_span(const struct ranks *ranks)
{
	uint64_t first_begun = UINT64_MAX, last_begun = 0, first_ended = UINT64_MAX, last_ended = 0;
	struct ranks_span span = {0};

	for (size_t i = 0; i < ranks->logs.count; i++) {
		const struct rank_log *log = &ranks->logs.items[i];
		uint64_t begun = rank_log_begun(ranks, i), ended = clock_line_at(rank_log_clock(ranks, i), log->end_ns);

		first_begun = begun < first_begun ? begun : first_begun;
		last_begun = begun > last_begun ? begun : last_begun;
		first_ended = ended < first_ended ? ended : first_ended;
		last_ended = ended > last_ended ? ended : last_ended;
		add_error(&span, ranks, log);
	}
	span.begun_ns = last_begun - first_begun;
	span.ended_ns = last_ended - first_ended;
	return span;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_rank, struct rank_row,
	     least_first(a->of->rank < 0, b->of->rank < 0) ?: lower_first(a->of->rank, b->of->rank) ?:
	     least_first(a->log, b->log) ?: least_first(a->of->process, b->of->process) ?:
	     least_first(a->of->device, b->of->device))

static void collect_rows(struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->logs.count; i++) {
		const struct collective_arrivals *arrivals = &ranks->logs.items[i].arrivals;

		for (size_t k = 0; k < arrivals->ranks.list.count; k++)
			array_push(&ranks->rows, ((struct rank_row){.log = i, .of = &arrivals->ranks.list.items[k]}));
	}
	array_sort(&ranks->rows, by_rank);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

/* The end of a collective on one clock; the mean, if several ranks have that clock. */
struct end {
	uint64_t key, ended_ns;
};

struct ends {
	ARRAY(struct end) list; /* by key */
};

DEFINE_ORDER(by_key, struct end, lower_first(a->key, b->key) ?: lower_first(a->ended_ns, b->ended_ns))

/* Leaves one end per key; *apart_ns grows to the largest distance between ends of one key. */
static void sort_ends(struct ends *ends, uint64_t *apart_ns)
{
	struct end *list = ends->list.items;
	size_t kept = 0, count = ends->list.count;

	if (count)
		qsort(list, count, sizeof(*list), by_key);
	for (size_t i = 0, next; i < count; i = next) {
		uint64_t sum = 0, apart;

		for (next = i; next < count && list[next].key == list[i].key; next++)
			sum += list[next].ended_ns - list[i].ended_ns;
		apart = list[next - 1].ended_ns - list[i].ended_ns;
		if (apart > *apart_ns)
			*apart_ns = apart;
		list[kept++] = (struct end){list[i].key, list[i].ended_ns + sum / (next - i)};
	}
	ends->list.count = kept;
}

static struct ends ends_of(const struct ranks *ranks, size_t clock, uint64_t *apart_ns)
{
	struct ends ends = {0};

	array_each (row, &ranks->rows) {
		if (ranks->logs.items[row->log].clock != clock)
			continue;
		for (size_t k = 0; k < row->of->met.list.count; k++)
			array_push(&ends.list,
				   ((struct end){row->of->met.list.items[k].key, row->of->met.list.items[k].ended_ns}));
	}
	sort_ends(&ends, apart_ns);
	return ends;
}

/* Pairs the ends of both clocks; returns how many there are.  pairs: NULL to count only. */
static size_t pair_up(const struct ends *here, const struct ends *there, struct clock_pair *pairs)
{
	size_t i = 0, k = 0, count = 0;

	while (i < here->list.count && k < there->list.count) {
		const struct end *a = &here->list.items[i], *b = &there->list.items[k];

		if (a->key == b->key) {
			if (pairs)
				pairs[count] = (struct clock_pair){a->ended_ns, b->ended_ns};
			count++;
		}
		i += a->key <= b->key;
		k += b->key <= a->key;
	}
	return count;
}

/* Adds the clock's ends to the known ones, on the first clock. */
static void add_ends(struct ends *known, const struct ends *ends, const struct clock_line *line)
{
	uint64_t apart_ns = 0;

	for (size_t i = 0; i < ends->list.count; i++)
		array_push(&known->list,
			   ((struct end){ends->list.items[i].key, clock_line_at(line, ends->list.items[i].ended_ns)}));
	sort_ends(known, &apart_ns);
}

static void place_by_wall(const struct ranks *ranks, struct rank_clock *clock)
{
	const struct rank_log *log = &ranks->logs.items[clock->log], *first = ranks->logs.items;

	clock->kind = RANK_CLOCK_WALL;
	clock->is_placed = true;
	clock->fit.line = (struct clock_line){
		.from_ns = log->start_ns,
		.offset_ns = (int64_t)((uint64_t)log->wall_offset_ns - (uint64_t)first->wall_offset_ns)};
}

/* By how much the clock's wall clock is ahead of the first one's, if it were aligned so. */
static double wall_ahead(const struct ranks *ranks, const struct rank_clock *clock)
{
	return (double)ranks->logs.items[clock->log].wall_offset_ns - (double)ranks->logs.items[0].wall_offset_ns -
	       (double)clock->fit.line.offset_ns;
}

/* The most by which they may differ in one job: the kernels of both say how wrong they are, or nothing does. */
static double apart_most(const struct ranks *ranks, const struct rank_clock *clock)
{
	uint64_t here_ns = ranks->logs.items[clock->log].wall_error_ns, first_ns = ranks->logs.items[0].wall_error_ns;

	if (here_ns == UINT64_MAX || first_ns == UINT64_MAX)
		return APART_MOST_NS;
	return fmin(APART_MOST_NS, fmax(APART_LEAST_NS, 10 * ((double)here_ns + (double)first_ns)));
}

static char *place_clock(struct ranks *ranks, struct rank_clock *clock, const struct ends *ends,
			 const struct ends *known, size_t common, bool trusts_no_wall)
{
	struct clock_pair *pairs = xmalloc(common * sizeof(*pairs));
	const char *name = ranks->logs.items[clock->log].name, *first = ranks->logs.items[0].name;
	double apart_ns;

	pair_up(ends, known, pairs);
	clock_fit_make(&clock->fit, pairs, common);
	free(pairs);
	clock->kind = RANK_CLOCK_FITTED;
	clock->is_placed = true;
	if (fabs(clock->fit.line.drift) > DRIFT_MOST)
		return xasprintf("%s and %s are of different jobs: by their collectives one clock would run %.1f %% "
				 "faster than the other",
				 first, name, fabs(clock->fit.line.drift) * 100);
	apart_ns = fabs(wall_ahead(ranks, clock));
	if (apart_ns <= apart_most(ranks, clock))
		return NULL;
	clock->wall_ahead_ns = wall_ahead(ranks, clock);
	return trusts_no_wall
		       ? NULL
		       : xasprintf("%s and %s are of different jobs: by their wall clocks the same collectives were "
				   "%.1f %s apart; name the logs of one job, or, if a clock is set wrong, --unaligned",
				   first, name, apart_ns / (apart_ns < 3600e9 ? 60e9 : 3600e9),
				   apart_ns < 3600e9 ? "minutes" : "hours");
}

/* Of the clocks not yet placed, the one with most in common; clocks.count: none is left. */
static size_t next_clock(const struct ranks *ranks, const struct ends *ends, const struct ends *known, size_t *common)
{
	size_t best = ranks->clocks.count;

	*common = 0;
	for (size_t i = 0; i < ranks->clocks.count; i++) {
		size_t in_common = ranks->clocks.items[i].is_placed ? 0 : pair_up(&ends[i], known, NULL);

		if (!ranks->clocks.items[i].is_placed && (best == ranks->clocks.count || in_common > *common)) {
			best = i;
			*common = in_common;
		}
	}
	return best;
}

/* What the collectives of a clock's ranks can be compared by. */
struct comparable {
	bool by_number, by_step;
	bool by_nothing; /* there are some that have neither */
};

static struct comparable comparable_of(const struct ranks *ranks, size_t clock)
{
	struct comparable found = {0};

	array_each (row, &ranks->rows) {
		if (ranks->logs.items[row->log].clock != clock)
			continue;
		found.by_number |= row->of->met.list.count > row->of->by_step;
		found.by_step |= row->of->by_step != 0;
		found.by_nothing |= row->of->unnumbered != 0;
	}
	return found;
}

static bool lacks_numbers(const struct comparable *found)
{
	return !found->by_number && (found->by_step || found->by_nothing);
}

static char *nothing_in_common(const struct ranks *ranks, size_t clock)
{
	const struct rank_log *log = &ranks->logs.items[ranks->clocks.items[clock].log];
	const char *first = ranks->logs.items[0].name;
	struct comparable here = comparable_of(ranks, clock), there = comparable_of(ranks, 0);
	bool lacks = lacks_numbers(&here);

	if (lacks || (here.by_number && lacks_numbers(&there)))
		return xasprintf("collectives of %s have no sequence number%s, and %s: they cannot be matched with "
				 "those of %s; --unaligned puts it there by its wall clock",
				 lacks ? log->name : first,
				 log->of_other_tool ? " (\"Seq\", which PyTorch writes since 2026)" : "",
				 here.by_step && there.by_step
					 ? "no step of torch.profiler has the same collectives in both"
					 : "are not all in steps of torch.profiler, whose order would do",
				 lacks ? first : log->name);
	if (!here.by_number)
		return xasprintf("%s has no collectives with GPU times to align its clock by%s; --unaligned puts it "
				 "there by its wall clock",
				 log->name, log->of_other_tool ? "" : " (they are recorded with --ops)");
	return xasprintf("%s has no collective in common with %s; --unaligned puts it there by its wall clock",
			 log->name, ranks->logs.items[0].name);
}

static char *place_all(struct ranks *ranks, struct ends *ends, bool by_wall)
{
	struct ends known = {0};
	size_t clock, common;
	char *why = NULL;

	ranks->clocks.items[0].is_placed = true;
	add_ends(&known, &ends[0], &ranks->clocks.items[0].fit.line);
	while (!why && (clock = next_clock(ranks, ends, &known, &common)) < ranks->clocks.count) {
		struct rank_clock *next = &ranks->clocks.items[clock];

		if (common)
			why = place_clock(ranks, next, &ends[clock], &known, common, by_wall);
		else if (by_wall)
			place_by_wall(ranks, next);
		else
			why = nothing_in_common(ranks, clock);
		add_ends(&known, &ends[clock], &next->fit.line);
	}
	array_free(&known.list);
	return why;
}

char *ranks_align(struct ranks *ranks, bool by_wall)
{
	AUTO_FREE struct ends *ends = xcalloc(ranks->clocks.count, sizeof(*ends));
	uint64_t apart_ns = 0;
	char *why;

	collect_rows(ranks);
	why = rank_jobs_refuse(ranks, by_wall);
	for (size_t i = 0; i < ranks->clocks.count && !why; i++)
		ends[i] = ends_of(ranks, i, &apart_ns);
	if (!why && apart_ns > SAME_CLOCK_MOST_NS)
		why = xasprintf("they are of different jobs: by one clock the same collective ended %.0f minutes "
				"apart; name the logs of one job",
				(double)apart_ns / 60e9);
	if (!why)
		why = place_all(ranks, ends, by_wall);
	ranks->begin_ns = UINT64_MAX;
	for (size_t i = 0; i < ranks->logs.count && !why; i++) {
		uint64_t begin_ns = clock_line_at(rank_log_clock(ranks, i), ranks->logs.items[i].start_ns);

		if (begin_ns < ranks->begin_ns)
			ranks->begin_ns = begin_ns;
	}
	for (size_t i = 0; i < ranks->clocks.count; i++)
		array_free(&ends[i].list);
	return why;
}
