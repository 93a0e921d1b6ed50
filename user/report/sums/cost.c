/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the recording cost the traced programs, and gputrace itself. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/sums/cost_account.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

static const char *state_name(enum gpt_cost_state state)
{
	static const char *const names[] = {
		[GPT_COST_MEASURED] = "measured",   [GPT_COST_CALIBRATED] = "calibrated",
		[GPT_COST_ESTIMATED] = "estimated", [GPT_COST_NOT_MEASURED] = "not measured",
		[GPT_COST_SAMPLED] = "sampled",
	};

	return names[state];
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct cost_row *row = item;
	double each = row->count ? (double)row->ns / (double)row->count : 0;
	bool is_measured = row->state != GPT_COST_NOT_MEASURED;

	table_add_time(table, "time", "ns", row->ns);
	table_unset_unless(table, is_measured, "-");
	table_add_count(table, "times", "count", row->count);
	table_unset_unless(table, row->count, "-");
	table_add_value(table, "each", "each_ns", UNIT_NS_AVG, number_time((uint64_t)(each + 0.5)), each);
	table_unset_unless(table, each > 0, "-");
	table_add_time(table, "of it long", "long_ns", row->long_ns);
	table_add_data(table, "long_count", UNIT_COUNT, row->long_count);
	table_unset_last(table, 2, is_measured, "-");
	table_add_word(table, "part", row->name);
	table_add_name(table, "how known", "how", TEXT_WHOLE, state_name(row->state));
	table_add_name(table, "what", "what", TEXT_WHOLE, row->words);
}

static const struct row_table cost_table = {
	.id = "cost",
	.title = "What the trace cost the program",
	.add_row = add_row,
	.carries = ROW_CARRIES_OF_WHOLE,
};

static void put_rows(struct report *report, const struct cost_account *account)
{
	AUTO_FREE char *remark = xasprintf("%s in all that is known, of all threads%s", number_time(account->ns).text,
					   account->is_of_longer ? ", in the whole recording" : "");

	report_rows(report, &cost_table,
		    &(struct row_list){ROWS(account->rows, account->count), .remark = remark,
				       .sum = account->thread.ns + account->thread_entries_ns,
				       .whole = account->thread.span_ns, .has_all = true});
	if (account->long_ns)
		report_line(report, "  long: over 50 us; other work of the processor may have interrupted these");
}

static void add_thread(struct report *report, struct table *table, const void *item)
{
	const struct cost_account *account = item;
	const struct model_cost_thread *thread = &account->thread;
	double ns = (double)(thread->ns + account->thread_entries_ns), span = (double)thread->span_ns;

	table_add_value(table, "%", "percent", UNIT_PERCENT, number_percent(ns, span), span > 0 ? ns * 100 / span : 0);
	table_add_time(table, "programs", "ns", thread->ns);
	table_add_time(table, "entries", "entries_ns", account->thread_entries_ns);
	table_add_count(table, "times", "count", thread->count);
	table_add_time(table, "of", "span_ns", thread->span_ns);
	table_add_time(table, "of it long", "long_ns", thread->long_ns);
	table_add_id(table, "pid", "pid", thread->pid);
	table_add_id(table, "tid", "tid", thread->tid);
}

static const struct row_table thread_table = {
	.id = "cost_thread", .title = "The thread that paid most to probes", .add_row = add_thread};

void report_cost(struct report *report)
{
	struct cost_account account;

	cost_account_make(&account, report->model);
	if (!account.is_known)
		return;
	put_rows(report, &account);
	if (report->writer && account.thread.count)
		report_rows(report, &thread_table, &(struct row_list){ROWS(&account, 1)});
	report_section(report, NULL);
}

/* "Thread 7 paid most to BPF programs: 0.3 % of its time (12,345 runs of 1.8 us)."; "": none did. */
static char *thread_text(const struct cost_account *account)
{
	const struct model_cost_thread *thread = &account->thread;
	uint64_t ns = thread->ns + account->thread_entries_ns;

	if (!thread->count || !thread->span_ns)
		return xstrdup("");
	return xasprintf(" Thread %" PRIu32 " paid most to BPF programs: %s %% of its time (%s run%s of %s).",
			 thread->tid, number_percent((double)ns, (double)thread->span_ns).text,
			 number_count(thread->count).text, thread->count == 1 ? "" : "s",
			 number_time(ns / thread->count).text);
}

/* What gputrace used beside the program; "": of a slice, as it is known of the whole recording only. */
static char *collector_text(const struct cost_account *account)
{
	if (!account->span_ns)
		return xstrdup("");
	return xasprintf(" gputrace itself used %s %% of a core.",
			 number_percent((double)account->collector_ns, (double)account->span_ns).text);
}

#define NAMED_MOST 2u /* parts that are not measured; the table names all */

/* " Not measured: the agent's own threads; CUPTI's own work for the agent; and 2 more (--table cost)."; "": none. */
static char *missing_text(const struct cost_account *account)
{
	char *missing = xstrdup("");
	size_t count = 0;

	for (size_t i = 0; i < account->count; i++)
		if (account->rows[i].state == GPT_COST_NOT_MEASURED && count++ < NAMED_MOST)
			missing = xjoin(missing, "; ", xstrdup(account->rows[i].words));
	if (count > NAMED_MOST)
		missing = xjoin(missing, "; ", xasprintf("and %zu more (--table cost)", count - NAMED_MOST));
	return count ? xjoin(xstrdup(" Not measured:"), " ", xjoin(missing, "", xstrdup("."))) : missing;
}

void report_cost_line(struct report *report)
{
	struct cost_account account;
	AUTO_FREE char *thread = NULL, *collector = NULL, *missing = NULL;

	cost_account_make(&account, report->model);
	if (!account.is_known)
		return;
	thread = thread_text(&account);
	collector = collector_text(&account);
	missing = missing_text(&account);
	report_text(report, 2, "Cost to the program%s: %s on all its threads.%s%s%s",
		    account.is_of_longer ? " in the whole recording" : "", number_time(account.ns).text, thread,
		    collector, missing);
}
