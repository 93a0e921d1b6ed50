/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time, or launches if there is none, by Python line. */
#include <stdio.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

/* Says which lines the time of graphs is on. */
static void put_graphs(struct report *report, struct time_unit unit)
{
	const struct model_receipt *receipt = &model_source(report->model)->receipt;

	if (!receipt->graph_ns)
		return;
	if (report->all->attribution.graphs == GRAPHS_REPLAY)
		report_line(report, "  CUDA graphs: %s %s, on lines that replay",
			    number_in(receipt->graph_ns, unit).text, unit.name);
	else
		report_line(report,
			    "  CUDA graphs: %s %s; %s %% on lines that were captured, the rest on lines that replay",
			    number_in(receipt->graph_ns, unit).text, unit.name,
			    number_percent((double)receipt->graph_ns_captured, (double)receipt->graph_ns).text);
}

static uint64_t in_nodes(const struct line_sums *sums)
{
	return sums->backward[BACKWARD_ON_FORWARD] + sums->backward[BACKWARD_ON_CALLER];
}

/* If forward lines were requested: says how much time has one.  amount: all time in nodes. */
static void put_backward(struct report *report, const struct line_sums *sums, const char *amount)
{
	uint64_t on_forward = sums->backward[BACKWARD_ON_FORWARD], all = in_nodes(sums);

	if (!report->all->attribution.forward || !all)
		return;
	report_line(report, "  backward: %s; %s %% on lines of forward ops, the rest on lines that called backward()",
		    amount, number_percent((double)on_forward, (double)all).text);
	if (!on_forward)
		report_line(report, "  no forward lines are known: %s",
			    model_is_of_other_tool(report->model) ? "torch.profiler records stacks with with_stack=True"
								  : "they are recorded with --forward-lines");
	if (report->model->forwards_forgotten)
		report_line(report, "  of %s backward nodes the forward op was too long ago",
			    number_count(report->model->forwards_forgotten).text);
}

/* Notes for a line that PyTorch's compiler wrote: what it was made of, and which kernel it launches. */
static void add_generated(struct table *table, const struct lines *lines, uint32_t line)
{
	AUTO_FREE char *made_of = line_made_of(lines, line), *launches = line_launches(lines, line);

	if (made_of)
		table_add_note(table, xasprintf("   made of %s", made_of));
	if (launches)
		table_add_note(table, xasprintf("   launches %s", launches));
}

/* What tables of lines end in. */
static void add_place(struct report *report, struct table *table, const struct line_row *row)
{
	const struct lines *lines = &report->all->lines;
	AUTO_FREE char *generated = row->generated_line == NONE ? NULL : line_short_place(lines, row->generated_line);
	AUTO_FREE char *more = generated ? xasprintf("generated %s", generated) : xstrdup("");

	report_add_line(report, table, row->line, row->process);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	table_add_word(table, "generated", generated);
	report_note_user_line(report, table, row->user_line, row->user_lines, more);
	add_generated(table, lines, generated ? row->generated_line : row->line);
}

static void add_gpu_line(struct report *report, struct table *table, const void *item)
{
	const struct line_row *row = item;

	table_add_ns(table, "self %s", "self_ns", row->self);
	table_add_ns(table, "total %s", "total_ns", row->total);
	table_add_share(table, row->self);
	table_add_count(table, "calls", "launches", row->launches);
	add_place(report, table, row);
}

static const struct row_table gpu_table = {
	.id = "gpu_lines",
	.title = "GPU time by Python line",
	.remark = "% of GPU time",
	.add_row = add_gpu_line,
	.amount = offsetof(struct line_row, self),
	.more = "line",
};

static void put_gpu_self(struct report *report, const struct line_sums *sums)
{
	struct time_unit unit = time_unit_for(sums->sum);
	char backward[48];

	report_rows(report, &gpu_table, &(struct row_list){ROWS(sums->rows, sums->count), .sum = sums->sum});
	put_graphs(report, unit);
	snprintf(backward, sizeof(backward), "%s %s", number_in(in_nodes(sums), unit).text, unit.name);
	put_backward(report, sums, backward);
}

static void add_own_line(struct report *report, struct table *table, const void *item)
{
	const struct line_row *row = item;

	table_add_ns(table, "total %s", "total_ns", row->total);
	table_add_share(table, row->total);
	report_add_line(report, table, row->line, row->process);
}

static const struct row_table own_table = {
	.id = "own_lines",
	.title = "GPU time under lines of your own code",
	.remark = "launched there or by what they call",
	.add_row = add_own_line,
};

/*
 * Lines of the user's own code by what ran under them.  In most programs libraries do the launching, so the table above
 * names them; this one names the lines that the user can change.  Left out if it would say nothing new.
 */
static void put_gpu_own(struct report *report, const struct line_sums *sums)
{
	AUTO_FREE struct line_row *own = xcalloc(sums->total_count, sizeof(*own));
	size_t count = 0;
	bool differs = false;

	for (size_t i = 0; i < sums->total_count; i++) {
		if (line_is_library(&report->all->lines, sums->totals[i].line))
			continue;
		differs |= count < report->rows && sums->totals[i].self != sums->totals[i].total;
		own[count++] = sums->totals[i];
	}
	if (differs || report->writer)
		report_rows(report, &own_table,
			    &(struct row_list){ROWS(own, count), .sum = sums->sum,
					       .none = &(struct line_row){.line = NONE, .process = NONE}});
}

void report_gpu_by_line(struct report *report)
{
	put_gpu_self(report, &report->all->gpu_lines);
	put_gpu_own(report, &report->all->gpu_lines);
}

static void add_call_line(struct report *report, struct table *table, const void *item)
{
	const struct line_row *row = item;

	table_add_count(table, "calls", "launches", row->self);
	table_add_count(table, "with callees", "total_launches", row->total);
	table_add_share(table, row->self);
	add_place(report, table, row);
}

static const struct row_table calls_table = {
	.id = "call_lines",
	.title = "CUDA calls by Python line",
	.remark = "kernel and graph launches, copies, fills",
	.add_row = add_call_line,
	.amount = offsetof(struct line_row, self),
	.more = "line",
	.counted = "calls",
};

void report_calls_by_line(struct report *report)
{
	const struct line_sums *sums = &report->all->call_lines;
	char backward[48];

	if (!sums->count)
		return;
	report_rows(report, &calls_table, &(struct row_list){ROWS(sums->rows, sums->count), .sum = sums->sum});
	snprintf(backward, sizeof(backward), "%s calls", number_count(in_nodes(sums)).text);
	put_backward(report, sums, backward);
}

static void add_untimed(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;

	table_add_count(table, "launches", "launches", row->count);
	table_add_share(table, row->count);
	report_add_line(report, table, row->line, row->process);
}

static const struct row_table untimed_table = {
	.id = "untimed_lines",
	.title = "Launches without GPU times by Python line",
	.remark = "not in the tables of GPU time; why: the last lines",
	.add_row = add_untimed,
	.amount = offsetof(GROUP_ROW, count),
	.carries = ROW_CARRIES_OF_WHOLE,
	.more = "line",
	.counted = "launches",
};

void report_untimed_launches(struct report *report)
{
	const struct group *launches = &report->all->untimed.launches;

	report_rows(report, &untimed_table,
		    &(struct row_list){ROWS(launches->rows, launches->count), .sum = launches->events,
				       .whole = report->all->complete.launches_meant});
}
