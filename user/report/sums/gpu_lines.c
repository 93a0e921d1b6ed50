/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time, or launches if there is none, by Python line. */
#include <stdio.h>
#include <stdlib.h>

#include "report/parts.h"

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

static uint64_t rest_of(const struct line_sums *sums, size_t shown)
{
	uint64_t rest = 0;

	for (size_t i = shown; i < sums->count; i++)
		rest += sums->rows[i].self;
	return rest;
}

/* Notes for a line that PyTorch's compiler wrote: what it was made of, and which kernel it launches. */
static void add_generated(struct table *table, const struct lines *lines, uint32_t line)
{
	char *made_of = line_made_of(lines, line), *launches = line_launches(lines, line);

	if (made_of)
		table_add_note(table, xasprintf("   made of %s", made_of));
	if (launches)
		table_add_note(table, xasprintf("   launches %s", launches));
	free(made_of);
	free(launches);
}

/* Adds the calling line; if PyTorch compiled code in between, also the generated line and what that was made of. */
static void add_user_line(struct report *report, struct table *table, const struct line_row *row)
{
	const struct lines *lines = &report->all->lines;
	char *place = row->generated_line == NONE ? NULL : line_short_place(lines, row->generated_line);
	char *generated = place ? xasprintf("generated %s", place) : xstrdup("");

	report_add_user_line(report, table, row->user_line, row->user_lines);
	if (place)
		table_add(table, place);
	else
		table_add_unknown(table, "");
	report_note_user_line(report, table, row->user_line, row->user_lines, generated);
	free(generated);
	free(place);
	add_generated(table, lines, row->generated_line == NONE ? row->line : row->generated_line);
}

static void put_gpu_self(struct report *report, const struct line_sums *sums)
{
	size_t shown = report_shown(report, sums->count);
	struct time_unit unit = time_unit_for(sums->sum);
	char self[16], total[16], backward[48];
	const struct column columns[] = {
		COLUMN_NUMBER(self, "self_ns", UNIT_NS),
		COLUMN_NUMBER(total, "total_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("calls", "launches", UNIT_COUNT),
		LINE_COLUMNS(report),
		USER_LINE_COLUMNS,
		COLUMN_DATA("generated", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	snprintf(self, sizeof(self), "self %s", unit.name);
	snprintf(total, sizeof(total), "total %s", unit.name);
	report_title(report, "gpu_lines", "GPU time by Python line", "% of GPU time");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct line_row *row = &sums->rows[i];

		table_add_ns(&table, row->self, unit);
		table_add_ns(&table, row->total, unit);
		table_add_percent(&table, (double)row->self, (double)sums->sum);
		table_add_count(&table, row->launches);
		report_add_line(report, &table, row->line, row->process);
		add_user_line(report, &table, row);
	}
	report_table(report, &table);
	report_more(report, sums->count - shown, "lines", number_in(rest_of(sums, shown), unit), unit.name);
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
	bool news = false;

	snprintf(total, sizeof(total), "total %s", unit.name);
	table_begin(&table, columns);
	for (size_t i = 0; i < sums->total_count && shown < report->rows; i++) {
		const struct line_row *row = &sums->totals[i];

		if (line_is_library(&report->all->lines, row->line))
			continue;
		news |= row->self != row->total;
		table_add_ns(&table, row->total, unit);
		table_add_percent(&table, (double)row->total, (double)sums->sum);
		report_add_line(report, &table, row->line, row->process);
		shown++;
	}
	if (!news && !report->writer) {
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

void report_calls_by_line(struct report *report)
{
	const struct line_sums *sums = &report->all->call_lines;
	size_t shown = report_shown(report, sums->count);
	const struct column columns[] = {
		COLUMN_NUMBER("calls", "launches", UNIT_COUNT),
		COLUMN_NUMBER("with callees", "total_launches", UNIT_COUNT),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		LINE_COLUMNS(report),
		USER_LINE_COLUMNS,
		COLUMN_DATA("generated", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;
	char backward[48];

	if (!sums->count)
		return;
	report_title(report, "call_lines", "CUDA calls by Python line", "kernel and graph launches, copies, fills");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct line_row *row = &sums->rows[i];

		table_add_count(&table, row->self);
		table_add_count(&table, row->total);
		table_add_percent(&table, (double)row->self, (double)sums->sum);
		report_add_line(report, &table, row->line, row->process);
		add_user_line(report, &table, row);
	}
	report_table(report, &table);
	report_more(report, sums->count - shown, "lines", number_count(rest_of(sums, shown)), "calls");
	snprintf(backward, sizeof(backward), "%s calls", number_count(in_nodes(sums)).text);
	put_backward(report, sums, backward);
}

void report_untimed_launches(struct report *report)
{
	const struct untimed *untimed = &report->all->untimed;
	size_t shown = report_shown(report, untimed->count);
	const struct column columns[] = {
		COLUMN_NUMBER("launches", "launches", UNIT_COUNT),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		LINE_COLUMNS(report),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!untimed->count)
		return;
	report_title(report, "untimed_lines", "Launches without GPU times by Python line",
		     "not in the tables of GPU time; why: the last lines");
	report_carries(report, untimed->launches, report->all->complete.launches_meant);
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct untimed_row *row = &untimed->rows[i];

		table_add_count(&table, row->launches);
		table_add_percent(&table, (double)row->launches, (double)untimed->launches);
		report_add_line(report, &table, row->line, row->process);
	}
	report_table(report, &table);
	for (size_t i = shown; i < untimed->count; i++)
		rest += untimed->rows[i].launches;
	report_more(report, untimed->count - shown, "lines", number_count(rest), "launches");
}
