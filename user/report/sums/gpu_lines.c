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

/* Of row->generated_line, which PyTorch compiled; NULL: there is none. */
static char *generated_place(const struct report *report, const struct line_row *row)
{
	return row->generated_line == NONE ? NULL : line_short_place(&report->all->lines, row->generated_line);
}

static void add_generated_place(struct report *report, struct table *table, const void *row)
{
	AUTO_FREE char *place = generated_place(report, row);

	table_add_text(table, place, "");
}

/* Adds the calling line; if PyTorch compiled code in between, also the generated line and what that was made of. */
static void add_notes(struct report *report, struct table *table, const void *item)
{
	const struct line_row *row = item;
	AUTO_FREE char *place = generated_place(report, row);
	AUTO_FREE char *generated = place ? xasprintf("generated %s", place) : xstrdup("");

	report_note_user_line(report, table, row->user_line, row->user_lines, generated);
	add_generated(table, &report->all->lines, row->generated_line == NONE ? row->line : row->generated_line);
}

static const struct row_table gpu_table = {
	.id = "gpu_lines",
	.title = "GPU time by Python line",
	.remark = "% of GPU time",
	.more = "line",
	.add_notes = add_notes,
	.columns =
		(const struct row_column[]){
			ROW_NS("self %s", "self_ns", struct line_row, self),
			ROW_NS("total %s", "total_ns", struct line_row, total),
			ROW_PERCENT(struct line_row, self),
			ROW_COUNT("calls", "launches", struct line_row, launches),
			ROW_LINE(struct line_row, line, process),
			ROW_USER_LINE(struct line_row),
			ROW_ADD(COLUMN_DATA("generated", UNIT_TEXT), add_generated_place),
			ROW_END,
		},
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

/*
 * Lines of the user's own code by what ran under them.  In most programs libraries do the launching, so the table above
 * names them; this one names the lines that the user can change.  Left out if it would say nothing new.
 */
static void put_gpu_own(struct report *report, const struct line_sums *sums)
{
	size_t shown = 0;
	struct time_unit unit = time_unit_for(sums->sum);
	char total[16];
	const struct column columns[] = {
		COLUMN_NUMBER(total, "total_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		LINE_COLUMNS(report),
		COLUMN_END,
	};
	struct table table;
	bool differs = false;

	snprintf(total, sizeof(total), "total %s", unit.name);
	table_begin(&table, columns);
	for (size_t i = 0; i < sums->total_count && shown < report->rows; i++) {
		const struct line_row *row = &sums->totals[i];

		if (line_is_library(&report->all->lines, row->line))
			continue;
		differs |= row->self != row->total;
		table_add_ns(&table, row->total, unit);
		table_add_percent(&table, (double)row->total, (double)sums->sum);
		report_add_line(report, &table, row->line, row->process);
		shown++;
	}
	if (!differs && !report->writer) {
		table_free(&table);
		return;
	}
	report_title(report, "own_lines", "GPU time under lines of your own code",
		     "launched there or by what they call");
	report_table(report, &table);
}

void report_gpu_by_line(struct report *report)
{
	put_gpu_self(report, &report->all->gpu_lines);
	put_gpu_own(report, &report->all->gpu_lines);
}

static const struct row_table calls_table = {
	.id = "call_lines",
	.title = "CUDA calls by Python line",
	.remark = "kernel and graph launches, copies, fills",
	.more = "line",
	.counted = "calls",
	.add_notes = add_notes,
	.columns =
		(const struct row_column[]){
			ROW_COUNT("calls", "launches", struct line_row, self),
			ROW_COUNT("with callees", "total_launches", struct line_row, total),
			ROW_PERCENT(struct line_row, self),
			ROW_LINE(struct line_row, line, process),
			ROW_USER_LINE(struct line_row),
			ROW_ADD(COLUMN_DATA("generated", UNIT_TEXT), add_generated_place),
			ROW_END,
		},
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

static const struct row_table untimed_table = {
	.id = "untimed_lines",
	.title = "Launches without GPU times by Python line",
	.remark = "not in the tables of GPU time; why: the last lines",
	.carries = ROW_CARRIES_OF_WHOLE,
	.more = "line",
	.counted = "launches",
	.columns =
		(const struct row_column[]){
			ROW_COUNT("launches", "launches", GROUP_ROW, count),
			ROW_PERCENT(GROUP_ROW, count),
			ROW_LINE(GROUP_ROW, line, process),
			ROW_END,
		},
};

void report_untimed_launches(struct report *report)
{
	const struct group *launches = &report->all->untimed.launches;

	report_rows(report, &untimed_table,
		    &(struct row_list){ROWS(launches->rows, launches->count), .sum = launches->events,
				       .whole = report->all->complete.launches_meant});
}
