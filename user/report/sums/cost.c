/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the recording cost the traced programs, and gputrace itself. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/sums/cost_account.h"
#include "report/page/parts.h"

static const char *state_name(enum gpt_cost_state state)
{
	static const char *const names[] = {
		[GPT_COST_MEASURED] = "measured",   [GPT_COST_CALIBRATED] = "calibrated",
		[GPT_COST_ESTIMATED] = "estimated", [GPT_COST_NOT_MEASURED] = "not measured",
		[GPT_COST_SAMPLED] = "sampled",
	};

	return names[state];
}

static void add_time(struct table *table, const struct cost_row *row, uint64_t ns)
{
	table_add_time(table, ns);
	table_unset_unless(table, row->state != GPT_COST_NOT_MEASURED, "-");
}

static void put_rows(struct report *report, const struct cost_account *account)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("time", "ns", UNIT_NS),
		COLUMN_NUMBER("times", "count", UNIT_COUNT),
		COLUMN_NUMBER("each", "each_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("of it long", "long_ns", UNIT_NS),
		COLUMN_DATA("long_count", UNIT_COUNT),
		COLUMN_DATA("part", UNIT_TEXT),
		COLUMN_NAME("how known", "how", TEXT_WHOLE),
		COLUMN_NAME("what", "what", TEXT_WHOLE),
		COLUMN_END,
	};
	char *remark = xasprintf("%s in all that is known, of all threads%s", number_time(account->ns).text,
				 account->is_of_longer ? ", in the whole recording" : "");
	struct table table;

	report_title(report, "cost", "What the trace cost the program", remark);
	report_carries(report, account->thread.ns + account->thread_entries_ns, account->thread.span_ns);
	table_begin(&table, columns);
	for (size_t i = 0; i < account->count; i++) {
		const struct cost_row *row = &account->rows[i];
		double each = row->count ? (double)row->ns / (double)row->count : 0;

		add_time(&table, row, row->ns);
		table_add_count(&table, row->count);
		table_unset_unless(&table, row->count, "-");
		table_add_value(&table, number_time((uint64_t)(each + 0.5)), each);
		table_unset_unless(&table, each > 0, "-");
		add_time(&table, row, row->long_ns);
		table_add_count(&table, row->long_count);
		table_unset_unless(&table, row->state != GPT_COST_NOT_MEASURED, "-");
		table_add(&table, row->name);
		table_add(&table, state_name(row->state));
		table_add(&table, row->words);
	}
	report_table(report, &table);
	if (account->long_ns)
		report_line(report, "  long: over 50 us; other work of the processor may have interrupted these");
	free(remark);
}

static void put_thread(struct report *report, const struct cost_account *account)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("programs", "ns", UNIT_NS),
		COLUMN_NUMBER("entries", "entries_ns", UNIT_NS),
		COLUMN_NUMBER("times", "count", UNIT_COUNT),
		COLUMN_NUMBER("of", "span_ns", UNIT_NS),
		COLUMN_NUMBER("of it long", "long_ns", UNIT_NS),
		COLUMN_NUMBER("pid", "pid", UNIT_ID),
		COLUMN_NUMBER("tid", "tid", UNIT_ID),
		COLUMN_END,
	};
	const struct model_cost_thread *thread = &account->thread;
	uint64_t ns = thread->ns + account->thread_entries_ns;
	struct table table;

	report_title(report, "cost_thread", "The thread that paid most to probes", NULL);
	table_begin(&table, columns);
	table_add_value(&table, number_percent((double)ns, (double)thread->span_ns),
			thread->span_ns ? (double)ns * 100 / (double)thread->span_ns : 0);
	table_add_time(&table, thread->ns);
	table_add_time(&table, account->thread_entries_ns);
	table_add_count(&table, thread->count);
	table_add_time(&table, thread->span_ns);
	table_add_time(&table, thread->long_ns);
	table_add_id(&table, thread->pid);
	table_add_id(&table, thread->tid);
	report_table(report, &table);
}

void report_cost(struct report *report)
{
	struct cost_account account;

	cost_account_make(&account, report->model);
	if (!account.is_known)
		return;
	put_rows(report, &account);
	if (report->writer && account.thread.count)
		put_thread(report, &account);
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
	char *thread, *collector, *missing;

	cost_account_make(&account, report->model);
	if (!account.is_known)
		return;
	thread = thread_text(&account);
	collector = collector_text(&account);
	missing = missing_text(&account);
	report_text(report, 2, "Cost to the program%s: %s on all its threads.%s%s%s",
		    account.is_of_longer ? " in the whole recording" : "", number_time(account.ns).text, thread,
		    collector, missing);
	free(thread);
	free(collector);
	free(missing);
}
