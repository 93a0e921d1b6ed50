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

#define SPLIT_COLUMNS                                                                                                  \
	COLUMN_NUMBER("count", "kernels", UNIT_COUNT), COLUMN_NUMBER("ms", "ns", UNIT_NS),                             \
		COLUMN_NUMBER("waiting", "waiting_ns", UNIT_NS), COLUMN_NUMBER("transfer", "transfer_ns", UNIT_NS),    \
		COLUMN_NUMBER("unknown", "unknown_ns", UNIT_NS), COLUMN_NUMBER("dispatch", "dispatch_ns", UNIT_NS),    \
		COLUMN_DATA("error_ns", UNIT_NS), COLUMN_DATA("launches_seen", UNIT_COUNT)

static void add_sum(struct table *table, const struct split_sum *sum)
{
	table_add_count(table, sum->count);
	table_add_ms(table, sum->ns);
	table_add_ms(table, sum->waiting_ns);
	table_add_ms(table, sum->transfer_ns);
	table_add_ms(table, sum->unknown_ns);
	table_add_ms(table, sum->dispatch_ns);
	table_unset_unless(table, sum->dispatched, "-");
	table_add_data(table, sum->error_ns);
	table_add_data(table, sum->dispatched);
}

/* The GPU of a rank, where a process has several ranks. */
#define GPU_COLUMN(split) COLUMN_NUMBER((split)->has_gpus ? "GPU" : COLUMN_NOT_SHOWN, "gpu", UNIT_ID)

static void add_gpu(struct table *table, const struct split_rank *rank)
{
	table_add_id(table, rank->of->device);
	table_unset_unless(table, rank->of->device != NONE, "-");
}

static void put_by_rank(struct report *report, const struct ranks *ranks, const struct collective_split *split)
{
	const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		GPU_COLUMN(split),
		SPLIT_COLUMNS,
		COLUMN_NUMBER("last", "last", UNIT_COUNT),
		COLUMN_NAME("process", "process", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NUMBER("pid", "pid", UNIT_ID),
		COLUMN_DATA("log", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "split_ranks", "Time of collectives, by rank",
		     "waiting: until the last rank began; dispatch: launched, before it began; last: how often it was");
	table_begin(&table, columns);
	array_each (rank, &split->ranks) {
		table_add_rank(&table, rank->rank);
		add_gpu(&table, rank);
		add_sum(&table, &rank->sum);
		table_add_count(&table, rank->sum.last);
		table_add(&table, rank->of->name);
		table_add_id(&table, rank->of->pid);
		table_add(&table, ranks->logs.items[rank->log].name);
	}
	report_table(report, &table);
}

/* Says of how much time it cannot be said what it was, and why. */
static void put_lacks(struct report *report, const struct collective_split *split)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("count", "kernels", UNIT_COUNT),
		COLUMN_NUMBER("ms", "ns", UNIT_NS),
		COLUMN_NAME("cannot be split:", "reason", TEXT_TRUNCATE_END),
		COLUMN_DATA("id", UNIT_TEXT),
		COLUMN_END,
	};
	uint64_t count[SPLIT_LACKS] = {0}, ns[SPLIT_LACKS] = {0}, all = 0;
	struct table table;

	for (size_t i = 0; i < split->ranks.count; i++)
		for (size_t k = 0; k < split->ranks.items[i].of->kernels.list.count; k++) {
			uint8_t lack = split->ranks.items[i].splits[k].lack;

			count[lack]++;
			ns[lack] += kernel_duration(&split->ranks.items[i].of->kernels.list.items[k]);
			all += lack != SPLIT_KNOWN;
		}
	if (!all && !report->writer)
		return;
	report_title(report, "split_unknown", "Collectives whose time cannot be split", NULL);
	table_begin(&table, columns);
	for (int i = SPLIT_KNOWN + 1; i < SPLIT_LACKS; i++) {
		if (!count[i])
			continue;
		table_add_count(&table, count[i]);
		table_add_ms(&table, ns[i]);
		table_add(&table, split_lack_words[i]);
		table_add(&table, lack_keys[i]);
	}
	report_table(report, &table);
}

static void put_by_collective(struct report *report, const struct collective_split *split)
{
	const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		GPU_COLUMN(split),
		SPLIT_COLUMNS,
		COLUMN_NAME("by", "by", TEXT_TRUNCATE_END),
		COLUMN_NAME("collective", "collective", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_DATA("pid", UNIT_ID),
		COLUMN_END,
	};
	size_t shown = report_shown(report, split->rows.count);
	struct table table;

	report_title(report, "split_collectives", "Time of collectives, by rank, collective and line",
		     "by: what the kernels of other ranks are found by");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct split_row *row = &split->rows.items[i];
		const struct split_rank *rank = &split->ranks.items[row->rank];

		table_add_rank(&table, rank->rank);
		add_gpu(&table, rank);
		add_sum(&table, &row->sum);
		table_add(&table, basis_words[row->basis]);
		table_add(&table, text_of(split, rank->log, row->name));
		table_add(&table, text_of(split, rank->log, row->line));
		table_add_id(&table, rank->of->pid);
	}
	report_table(report, &table);
	if (split->rows.count > shown)
		report_line(report, "  ... and %s more", number_count(split->rows.count - shown).text);
}

static void put_lasts(struct report *report, const struct collective_split *split)
{
	const struct column columns[] = {
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		GPU_COLUMN(split),
		COLUMN_NUMBER("last", "count", UNIT_COUNT),
		COLUMN_NUMBER("ms late", "late_ns", UNIT_NS),
		COLUMN_NUMBER("queued", "queued_ns", UNIT_NS),
		COLUMN_NAME("its GPU was", "cause", TEXT_TRUNCATE_END),
		COLUMN_NAME("at", "cause_line", TEXT_TRUNCATE_PLACE),
		COLUMN_NAME("collective", "collective", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_DATA("late_most_ns", UNIT_NS),
		COLUMN_DATA("pid", UNIT_ID),
		COLUMN_END,
	};
	size_t shown = report_shown(report, split->lasts.count);
	struct table table;

	if (!split->lasts.count && !report->writer)
		return;
	report_title(report, "split_last", "Who began last, and why",
		     "after the median rank; queued: launched by then, behind other work");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct last_row *row = &split->lasts.items[i];
		const struct split_rank *rank = &split->ranks.items[row->rank];

		table_add_rank(&table, rank->rank);
		add_gpu(&table, rank);
		table_add_count(&table, row->count);
		table_add_ms(&table, row->ns);
		table_add_ms(&table, row->queued_ns);
		if (row->cause == NONE)
			table_add_unknown(&table, "?");
		else
			table_add(&table, row->cause == WHY_CAUSES ? "busy" : why_short((enum why_cause)row->cause));
		table_add(&table, text_of(split, rank->log, row->cause_line));
		table_add(&table, text_of(split, rank->log, row->name));
		table_add(&table, text_of(split, rank->log, row->line));
		table_add_data(&table, row->most_ns);
		table_add_id(&table, rank->of->pid);
	}
	report_table(report, &table);
	if (split->lasts.count > shown)
		report_line(report, "  ... and %s more", number_count(split->lasts.count - shown).text);
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

static void add_communicator(struct table *table, const struct collective_split *split,
			     const struct split_communicator *row)
{
	const struct kept_communicator *kept =
		row->of == NONE ? NULL : &split->logs[row->log].communicators.items[row->of];
	char *members = members_of(split, row);

	table_add(table, members);
	table_add_count(table, kept ? (uint64_t)kept->ranks : 0);
	table_unset_unless(table, kept && kept->ranks > 0, "-");
	table_add_count(table, row->most);
	table_add_bytes(table, row->bytes);
	table_unset_unless(table, row->of_unknown_bytes != row->sum.count, "-");
	table_add_rate(table, (double)row->rated_bytes, row->rated_bytes ? row->rated_ns : 0);
	table_add_ms(table, row->sum.ns);
	table_add_ms(table, row->sum.waiting_ns);
	table_add_ms(table, row->sum.transfer_ns);
	table_add_ms(table, row->sum.unknown_ns);
	table_add_ms(table, row->sum.dispatch_ns);
	table_unset_unless(table, row->sum.dispatched, "-");
	table_add_text(table, kept ? split->logs[row->log].texts.list.items[kept->name] : NULL, "(not known)");
	table_add_data(table, row->sum.count);
	table_add_data(table, row->of_unknown_bytes);
	free(members);
}

static void put_communicators(struct report *report, const struct collective_split *split, bool is_whole)
{
	static const struct column columns[] = {
		COLUMN_NAME("ranks", "ranks", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("of", "size", UNIT_COUNT),
		COLUMN_NUMBER("collectives", "collectives", UNIT_COUNT),
		COLUMN_NUMBER("bytes", "bytes", UNIT_BYTES),
		COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S),
		COLUMN_NUMBER("ms", "ns", UNIT_NS),
		COLUMN_NUMBER("waiting", "waiting_ns", UNIT_NS),
		COLUMN_NUMBER("transfer", "transfer_ns", UNIT_NS),
		COLUMN_NUMBER("unknown", "unknown_ns", UNIT_NS),
		COLUMN_NUMBER("dispatch", "dispatch_ns", UNIT_NS),
		COLUMN_NAME("communicator", "communicator", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("kernels", UNIT_COUNT),
		COLUMN_DATA("kernels_of_unknown_bytes", UNIT_COUNT),
		COLUMN_END,
	};
	size_t shown = report_shown(report, split->communicators.count);
	struct table table;

	if (!report->writer && !is_whole &&
	    split->communicators.count < 2) /* it would say what the ranks' table says */
		return;
	report_title(report, "split_communicators", "Communicators",
		     "all ranks together; GB/s: of their bytes, while they transferred");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_communicator(&table, split, &split->communicators.items[i]);
	report_table(report, &table);
	if (split->communicators.count > shown)
		report_line(report, "  ... and %s more", number_count(split->communicators.count - shown).text);
}

void report_collective_split(struct report *report, const struct ranks *ranks, const struct collective_split *split,
			     bool is_whole)
{
	if (!split->kernels && !report->writer)
		return;
	put_by_rank(report, ranks, split);
	put_notes(report, split);
	put_communicators(report, split, is_whole);
	put_by_collective(report, split);
	put_lacks(report, split);
	put_lasts(report, split);
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
