/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/ranks/split.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/ranks/rank_cells.h"
#include "report/why/why_words.h"

static const char *const basis_words[COLLECTIVE_BASES] = {
	[COLLECTIVE_BY_NUMBER] = "number", [COLLECTIVE_BY_REPLAY] = "replay", [COLLECTIVE_BY_PAIR] = "pair",
	[COLLECTIVE_BY_NAME] = "name",	   [COLLECTIVE_BY_NOTHING] = "-",
};

static const char *const lack_keys[SPLIT_LACKS] = {
	[SPLIT_NO_NUMBER] = "no_number", [SPLIT_RANKS_MISSING] = "ranks_missing",
	[SPLIT_TWICE] = "number_twice",	 [SPLIT_APART] = "apart",
	[SPLIT_CLOCK] = "clock",
};

static const char *text_of(const struct collective_split *split, size_t log, uint32_t text)
{
	return text == NONE ? "" : split->logs[log].texts.list.items[text];
}

static void add_sum(struct table *table, const struct split_sum *sum)
{
	table_add_count(table, "count", "kernels", sum->count);
	table_add_ms(table, "ms", "ns", sum->ns);
	table_add_ms(table, "waiting", "waiting_ns", sum->waiting_ns);
	table_add_ms(table, "transfer", "transfer_ns", sum->transfer_ns);
	table_add_ms(table, "unknown", "unknown_ns", sum->unknown_ns);
	table_add_ms(table, "dispatch", "dispatch_ns", sum->dispatch_ns);
	table_unset_unless(table, sum->dispatched, "-");
	table_add_data(table, "error_ns", UNIT_NS, sum->error_ns);
	table_add_data(table, "launches_seen", UNIT_COUNT, sum->dispatched);
}

static const struct kernels_of_process no_kernels = {.device = NONE};
static const struct split_rank no_rank = {.of = &no_kernels, .rank = -1};

/* What the rows of these tables are of. */
struct split_tables {
	const struct ranks *ranks;
	const struct collective_split *split;
};

static void add_rank_row(struct report *report, struct table *table, const void *item)
{
	const struct split_tables *of = table->context;
	const struct split_rank *rank = item;

	table_add_rank_gpu(table, of->split->has_gpus, rank->rank, rank->of->device);
	add_sum(table, &rank->sum);
	table_add_count(table, "last", "last", rank->sum.last);
	table_add_name(table, "process", "process", TEXT_TRUNCATE_MIDDLE, rank->of->name);
	table_add_id(table, "pid", "pid", rank->of->pid);
	table_add_word(table, "log", of->ranks->logs.items[rank->log].name);
}

static const struct row_table rank_table = {
	.id = "split_ranks",
	.title = "Time of collectives, by rank",
	.remark = "waiting: until the last rank began; dispatch: launched, before it began; last: how often it was",
	.add_row = add_rank_row,
};

/* Of how much time it cannot be said what it was, and why. */
struct lack_row {
	int lack;
	uint64_t count, ns;
};

static bool is_lacking(const struct report *report, const void *item)
{
	return ((const struct lack_row *)item)->count;
}

static void add_lack(struct report *report, struct table *table, const void *item)
{
	const struct lack_row *row = item;

	table_add_count(table, "count", "kernels", row->count);
	table_add_ms(table, "ms", "ns", row->ns);
	table_add_name(table, "cannot be split:", "reason", TEXT_TRUNCATE_END, split_lack_words[row->lack]);
	table_add_word(table, "id", lack_keys[row->lack]);
}

static const struct row_table lack_table = {
	.id = "split_unknown",
	.title = "Collectives whose time cannot be split",
	.add_row = add_lack,
	.is_shown = is_lacking,
};

static void put_lacks(struct report *report, const struct collective_split *split)
{
	struct lack_row rows[SPLIT_LACKS] = {0};
	uint64_t all = 0;

	array_each (rank, &split->ranks) {
		for (size_t k = 0; k < rank->of->kernels.list.count; k++) {
			uint8_t lack = rank->splits[k].lack;

			rows[lack].lack = lack;
			rows[lack].count++;
			rows[lack].ns += kernel_duration(&rank->of->kernels.list.items[k]);
			all += lack != SPLIT_KNOWN;
		}
	}
	if (all || report->writer)
		report_rows(report, &lack_table,
			    &(struct row_list){ROWS(rows + SPLIT_KNOWN + 1, SPLIT_LACKS - SPLIT_KNOWN - 1),
					       .none = &rows[SPLIT_KNOWN], .has_all = true});
}

static void add_collective(struct report *report, struct table *table, const void *item)
{
	const struct split_row *row = item;
	const struct collective_split *split = ((const struct split_tables *)table->context)->split;
	const struct split_rank *rank = row->rank == SIZE_MAX ? &no_rank : &split->ranks.items[row->rank];

	table_add_rank_gpu(table, split->has_gpus, rank->rank, rank->of->device);
	add_sum(table, &row->sum);
	table_add_name(table, "by", "by", TEXT_TRUNCATE_END, basis_words[row->basis]);
	table_add_name(table, "collective", "collective", TEXT_TRUNCATE_MIDDLE, text_of(split, rank->log, row->name));
	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, text_of(split, rank->log, row->line));
	table_add_id(table, NULL, "pid", rank->of->pid);
}

static const struct row_table collective_table = {
	.id = "split_collectives",
	.title = "Time of collectives, by rank, collective and line",
	.remark = "by: what the kernels of other ranks are found by",
	.add_row = add_collective,
};

static void add_last(struct report *report, struct table *table, const void *item)
{
	const struct last_row *row = item;
	const struct collective_split *split = ((const struct split_tables *)table->context)->split;
	const struct split_rank *rank = row->rank == SIZE_MAX ? &no_rank : &split->ranks.items[row->rank];
	const char *cause = row->cause == NONE	       ? NULL
			    : row->cause == WHY_CAUSES ? "busy"
						       : why_short((enum why_cause)row->cause);

	table_add_rank_gpu(table, split->has_gpus, rank->rank, rank->of->device);
	table_add_count(table, "last", "count", row->count);
	table_add_ms(table, "ms late", "late_ns", row->ns);
	table_add_ms(table, "queued", "queued_ns", row->queued_ns);
	table_add_name(table, "its GPU was", "cause", TEXT_TRUNCATE_END, cause);
	table_unset_unless(table, cause, "?");
	table_add_name(table, "at", "cause_line", TEXT_TRUNCATE_PLACE, text_of(split, rank->log, row->cause_line));
	table_add_name(table, "collective", "collective", TEXT_TRUNCATE_MIDDLE, text_of(split, rank->log, row->name));
	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, text_of(split, rank->log, row->line));
	table_add_data(table, "late_most_ns", UNIT_NS, row->most_ns);
	table_add_id(table, NULL, "pid", rank->of->pid);
}

static const struct row_table last_table = {
	.id = "split_last",
	.title = "Who began last, and why",
	.remark = "after the median rank; queued: launched by then, behind other work",
	.add_row = add_last,
};

/* Of a list of rows: how many are not in the table. */
static void put_more(struct report *report, size_t count)
{
	if (count > report_shown(report, count))
		report_line(report, "  ... and %s more", number_count(count - report_shown(report, count)).text);
}

static void put_notes(struct report *report, const struct collective_split *split)
{
	uint64_t error_ns = 0, count = 0;

	for (size_t i = 0; i < split->ranks.count; i++) {
		error_ns += split->ranks.items[i].sum.error_ns;
		count += split->ranks.items[i].sum.count - split->ranks.items[i].sum.lacking[SPLIT_NO_NUMBER];
	}
	if (error_ns)
		report_line(report,
			    "  where waiting ends and transfer begins is known to %s of a kernel, by the clocks",
			    number_time(error_ns / (count ? count : 1)).text);
	if (split->left_out)
		report_line(report, "  %s kernels are left out: a process has too many",
			    number_count(split->left_out).text);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* "0-3, 8": who was seen in it; numbers that are not known are a "?". */
static char *members_of(const struct collective_split *split, const struct split_communicator *communicator)
{
	char *text = xstrdup("");
	int64_t from = -1, to = -1;
	bool has_unknown = false;

	/* split.ranks, and so the members, are in the order of their numbers, unknown ones last */
	for (size_t i = 0; i <= communicator->ranks.list.count; i++) {
		bool is_end = i == communicator->ranks.list.count;
		int64_t rank = is_end ? -1 : split->ranks.items[communicator->ranks.list.items[i]].rank;

		has_unknown |= !is_end && rank < 0;
		if (rank >= 0 && from >= 0 && rank == to + 1) {
			to = rank;
			continue;
		}
		if (from >= 0)
			text = xjoin(text, ",",
				     to > from ? xasprintf("%" PRId64 "-%" PRId64, from, to)
					       : xasprintf("%" PRId64, from));
		from = to = rank;
	}
	return has_unknown ? xjoin(text, ",", xstrdup("?")) : text;
}

static void add_communicator(struct report *report, struct table *table, const void *item)
{
	const struct split_communicator *row = item;
	const struct collective_split *split = ((const struct split_tables *)table->context)->split;
	const struct kept_communicator *kept =
		row->of == NONE ? NULL : &split->logs[row->log].communicators.items[row->of];
	AUTO_FREE char *members = members_of(split, row);

	table_add_name(table, "ranks", "ranks", TEXT_TRUNCATE_END, members);
	table_add_count(table, "of", "size", kept ? (uint64_t)kept->ranks : 0);
	table_unset_unless(table, kept && kept->ranks > 0, "-");
	table_add_count(table, "collectives", "collectives", row->most);
	table_add_bytes(table, "bytes", "bytes", row->bytes);
	table_unset_unless(table, row->of_unknown_bytes != row->sum.count, "-");
	table_add_rate(table, (double)row->rated_bytes, row->rated_bytes ? row->rated_ns : 0);
	table_add_ms(table, "ms", "ns", row->sum.ns);
	table_add_ms(table, "waiting", "waiting_ns", row->sum.waiting_ns);
	table_add_ms(table, "transfer", "transfer_ns", row->sum.transfer_ns);
	table_add_ms(table, "unknown", "unknown_ns", row->sum.unknown_ns);
	table_add_ms(table, "dispatch", "dispatch_ns", row->sum.dispatch_ns);
	table_unset_unless(table, row->sum.dispatched, "-");
	table_add_name(table, "communicator", "communicator", TEXT_TRUNCATE_MIDDLE,
		       kept ? split->logs[row->log].texts.list.items[kept->name] : NULL);
	table_unset_unless(table, kept, "(not known)");
	table_add_data(table, "kernels", UNIT_COUNT, row->sum.count);
	table_add_data(table, "kernels_of_unknown_bytes", UNIT_COUNT, row->of_unknown_bytes);
}

static const struct row_table communicator_table = {
	.id = "split_communicators",
	.title = "Communicators",
	.remark = "all ranks together; GB/s: of their bytes, while they transferred",
	.add_row = add_communicator,
};

void report_collective_split(struct report *report, const struct ranks *ranks, const struct collective_split *split,
			     bool is_whole)
{
	const struct split_tables of = {ranks, split};
	bool is_for_all = report->writer || is_whole;
	/* rows of tables that have none: programs get the columns */
	const struct split_row no_row = {.rank = SIZE_MAX, .name = NONE, .line = NONE};
	const struct last_row no_last = {
		.rank = SIZE_MAX, .name = NONE, .line = NONE, .cause = NONE, .cause_line = NONE};
	const struct split_communicator no_communicator = {.of = NONE};

	if (!split->kernels && !report->writer)
		return;
	report_rows(report, &rank_table,
		    &(struct row_list){ROWS_OF(&split->ranks), .none = &no_rank, .context = &of, .has_all = true});
	put_notes(report, split);
	if (is_for_all || split->communicators.count > 1) { /* else it would say what the ranks' table says */
		report_rows(
			report, &communicator_table,
			&(struct row_list){ROWS_OF(&split->communicators), .none = &no_communicator, .context = &of});
		put_more(report, split->communicators.count);
	}
	report_rows(report, &collective_table,
		    &(struct row_list){ROWS_OF(&split->rows), .none = &no_row, .context = &of});
	put_more(report, split->rows.count);
	put_lacks(report, split);
	if (split->lasts.count || report->writer) {
		report_rows(report, &last_table,
			    &(struct row_list){ROWS_OF(&split->lasts), .none = &no_last, .context = &of});
		put_more(report, split->lasts.count);
	}
}

/* A log's own ranks are on its own clock. */
void report_split_of_log(struct report *report)
{
	const struct collective_kernels *kernels = &report->all->collective_kernels;
	struct collective_arrivals borrowed = report->all->arrivals;
	struct collective_split split;
	struct ranks ranks = {0};
	char *why;

	if (kernels->processes.list.count < 2)
		return;
	ranks_add_log(&ranks, "this log", report->model, &borrowed);
	why = ranks_align(&ranks, false);
	if (why) {
		report_title(report, "split_ranks", "Time of collectives, by rank", NULL);
		report_line(report, "  cannot be said: %s", why);
		free(why);
	} else {
		collective_split_make(&split, &ranks, kernels);
		report_collective_split(report, &ranks, &split, report->options->table != NULL);
		collective_split_free(&split);
	}
	ranks.logs.items[0].arrivals = (struct collective_arrivals){0}; /* they stay the analysis's */
	ranks_free(&ranks);
}
