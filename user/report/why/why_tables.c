/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace why` as tables, for programs and for pasting. */
#include <stdlib.h>

#include "report/page/row_table.h"
#include "report/why/why_tables.h"
#include "report/why/why_words.h"

#define LOSSES_SHOWN 3u /* in notes, in formats for people */

static const char *verdict_of(const struct analyses *all, bool unknown)
{
	if (unknown)
		return "cannot_be_said";
	return why_worth(all) ? "losses" : "nothing_to_mend";
}

static void add_answer(struct report *report, struct table *table, const void *item)
{
	const struct why *why = item;
	AUTO_FREE char *unknown = why_unknown(report->all);

	table_add_name(table, "answer", "answer", TEXT_TRUNCATE_END, verdict_of(report->all, unknown));
	table_add_ns(table, "looked at, %s", "looked_at_ns", why->looked_ns);
	table_add_percent(table, "busy %", "busy_percent", (double)(why->looked_ns - why->idle_ns),
			  (double)why->looked_ns);
	table_add_percent(table, "lost %", "lost_percent", (double)why->lost_ns, (double)why->looked_ns);
	table_add_count(table, "steps", "steps", why->step_count);
	table_add_data(table, "before_ns", UNIT_NS, why->before_ns);
}

static const struct row_table answer_table = {.id = "why", .title = "Why the GPU stood still", .add_row = add_answer};

static void put_answer(struct report *report)
{
	const struct why *why = &report->all->why;
	char *unknown = why_unknown(report->all), *caution;

	report_rows(report, &answer_table, &(struct row_list){ROWS(why, 1), .unit_ns = why->looked_ns});
	if (unknown)
		report_text(report, 0, "%s", unknown);
	for (unsigned i = 0; !unknown && (caution = why_caution(report->all, i)); i++) {
		report_text(report, 0, "%s", caution);
		free(caution);
	}
	free(unknown);
}

/* Writes a loss as a note: in pasted tables, cells are too narrow for sentences. */
static void write_loss(struct report *report, const struct why_loss *loss, size_t number)
{
	AUTO_FREE char *where = why_where(report->all, loss, &loss->lines[0]), *seen = why_evidence(report->all, loss);
	AUTO_FREE char *advice = why_advice(report->all, loss);
	report_text(report, 0, "%zu. %s. %s %s", number, where, seen, advice);
}

/* The frames of a stack, innermost first; a stack that was cut says where. */
static char *stack_text(const struct analyses *all, uint32_t number)
{
	const struct model *model = all->model;
	const struct model_stack *stack = &model->stacks[number];
	char *text = xstrdup("");

	for (uint32_t i = 0; i <= stack->depth; i++) {
		if (stack->missing && stack->gap == i)
			text = xjoin(text, " <- ", xstrdup("[cut]"));
		if (i < stack->depth)
			text = xjoin(
				text, " <- ",
				line_label(&all->lines, all->lines.of_frame[model->stack_frames[stack->first + i]]));
	}
	return text;
}

static void add_line(struct report *report, struct table *table, const char *key, uint32_t line)
{
	AUTO_FREE char *label = line == NONE ? NULL : line_label(&report->all->lines, line);

	table_add_word(table, key, label);
}

/* The line beside its place: what ran for it, who called it, and whose it is. */
static void add_culprit(struct report *report, struct table *table, const struct why_line *line)
{
	AUTO_FREE char *stack = line->stack == NONE ? NULL : stack_text(report->all, line->stack);
	AUTO_FREE char *layer = why_layer(report->all, line);

	add_line(report, table, "innermost", line->inner_line);
	table_add_data(table, "innermost_lines", UNIT_COUNT, line->inner_lines);
	add_line(report, table, "called_from", line->caller);
	table_add_data(table, "callers", UNIT_COUNT, line->callers);
	table_add_word(table, "stack", stack);
	report_add_process(report, table, line->process);
	table_add_id(table, NULL, "pid", report->model->processes[line->process].pid);
	table_add_word(table, "layer", layer);
	table_add_data(table, "layer_ns", UNIT_NS, line->layer_ns);
	table_add_data(table, "layers", UNIT_COUNT, line->layers);
}

static void add_loss(struct report *report, struct table *table, const void *item)
{
	const struct why_loss *loss = item;
	const struct why *why = &report->all->why;
	AUTO_FREE char *where = why_where(report->all, loss, &loss->lines[0]), *seen = why_evidence(report->all, loss);
	AUTO_FREE char *advice = why_advice(report->all, loss);

	table_add_ns(table, "%s", "ns", loss->ns);
	table_add_percent(table, "%", "percent", (double)loss->ns, (double)why->looked_ns);
	table_add_ns(table, "per step", "per_step_ns", loss->ns / (why->step_count ?: 1));
	table_unset_unless(table, why->step_count, "-");
	table_add_count(table, "times", "times", loss->count);
	table_add_ns(table, "longest", "longest_ns", loss->longest_ns);
	table_add_name(table, "cause", "cause", TEXT_TRUNCATE_END, why_title(report->all, loss->cause));
	table_add_word(table, "cause_id", why_cause_name(loss->cause));
	table_add_name(table, "where", "where", TEXT_TRUNCATE_MIDDLE, where);
	report_add_place(report, table, "file", "line_number", loss->lines[0].line);
	table_add_word(table, "seen", seen);
	table_add_word(table, "try", advice);
	add_culprit(report, table, &loss->lines[0]);
}

static const struct row_table loss_table = {
	.id = "why_losses",
	.title = "What was lost, by cause",
	.remark = "% of the time looked at; most first",
	.add_row = add_loss,
	.amount = offsetof(struct why_loss, ns),
	.unit_of_first = true,
};

/* All losses worth mentioning, also beyond the third. */
static void put_losses(struct report *report, size_t count)
{
	const struct why *why = &report->all->why;

	report_rows(report, &loss_table,
		    &(struct row_list){ROWS(why->losses, count), .process = ROW_PROCESS_NOT_SHOWN, .has_all = true});
	for (size_t i = 0; report->options->format->is_brief && i < count && i < LOSSES_SHOWN; i++)
		write_loss(report, &why->losses[i], i + 1);
}

static void add_line_of_loss(struct report *report, struct table *table, const struct why_loss *loss,
			     const struct why_line *line)
{
	AUTO_FREE char *where = why_where(report->all, loss, line);

	table_begin_row(table);
	table_add_ns(table, "%s", "ns", line->ns);
	table_add_count(table, "times", "times", line->count);
	table_add_name(table, "cause", "cause_short", TEXT_TRUNCATE_END, why_short(loss->cause));
	table_add_word(table, "cause_id", why_cause_name(loss->cause));
	table_add_name(table, "where", "where", TEXT_TRUNCATE_MIDDLE, where);
	report_add_place(report, table, "file", "line_number", line->line);
	add_culprit(report, table, line);
}

static void put_lines(struct report *report, size_t count)
{
	const struct why *why = &report->all->why;
	struct table table = {.unit = time_unit_for(why->losses[0].ns)};

	report_title(report, "why_lines", "The lines of these causes", NULL);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			add_line_of_loss(report, &table, &why->losses[i], &why->losses[i].lines[k]);
	report_table(report, &table);
}

void why_put_tables(struct report *report)
{
	size_t count = why_worth(report->all);

	put_answer(report);
	if (!count)
		return;
	put_losses(report, count);
	put_lines(report, count);
}
