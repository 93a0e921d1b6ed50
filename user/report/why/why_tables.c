/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace why` as tables, for programs and for pasting. */
#include <stdlib.h>

#include "report/why/why_tables.h"
#include "report/why/why_words.h"

#define LOSSES_SHOWN 3u /* in notes, in formats for people */

static const char *verdict_of(const struct analyses *all, bool unknown)
{
	if (unknown)
		return "cannot_be_said";
	return why_worth(all) ? "losses" : "nothing_to_mend";
}

static void put_answer(struct report *report)
{
	const struct analyses *all = report->all;
	const struct why *why = &all->why;
	struct time_unit unit = time_unit_for(why->looked_ns);
	char looked[32];
	const struct column columns[] = {
		COLUMN_NAME("answer", "answer", TEXT_TRUNCATE_END),
		COLUMN_NUMBER(looked, "looked_at_ns", UNIT_NS),
		COLUMN_NUMBER("busy %", "busy_percent", UNIT_PERCENT),
		COLUMN_NUMBER("lost %", "lost_percent", UNIT_PERCENT),
		COLUMN_NUMBER("steps", "steps", UNIT_COUNT),
		COLUMN_DATA("before_ns", UNIT_NS),
		COLUMN_END,
	};
	char *unknown = why_unknown(all), *caution;
	struct table table;

	snprintf(looked, sizeof(looked), "looked at, %s", unit.name);
	report_title(report, "why", "Why the GPU stood still", NULL);
	table_begin(&table, columns);
	table_add(&table, verdict_of(all, unknown));
	table_add_ns(&table, why->looked_ns, unit);
	table_add_percent(&table, (double)(why->looked_ns - why->idle_ns), (double)why->looked_ns);
	table_add_percent(&table, (double)why->lost_ns, (double)why->looked_ns);
	table_add_count(&table, why->step_count);
	table_add_integer(&table, number_time(why->before_ns), why->before_ns);
	report_table(report, &table);
	if (unknown)
		report_text(report, 0, "%s", unknown);
	for (unsigned i = 0; !unknown && (caution = why_caution(all, i)); i++) {
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

static void add_line_or_unknown(struct report *report, struct table *table, uint32_t line)
{
	AUTO_FREE char *label = line == NONE ? NULL : line_label(&report->all->lines, line);

	if (label)
		table_add(table, label);
	else
		table_add_unknown(table, "");
}

/* The line beside its place: what ran for it, who called it, and whose it is. */
#define CULPRIT_COLUMNS                                                                                                \
	COLUMN_DATA("innermost", UNIT_TEXT), COLUMN_DATA("innermost_lines", UNIT_COUNT),                               \
		COLUMN_DATA("called_from", UNIT_TEXT), COLUMN_DATA("callers", UNIT_COUNT),                             \
		COLUMN_DATA("stack", UNIT_TEXT), COLUMN_DATA("process", UNIT_TEXT), COLUMN_DATA("pid", UNIT_ID),       \
		COLUMN_DATA("layer", UNIT_TEXT), COLUMN_DATA("layer_ns", UNIT_NS), COLUMN_DATA("layers", UNIT_COUNT)

static void add_layer(struct report *report, struct table *table, const struct why_line *line)
{
	AUTO_FREE char *layer = why_layer(report->all, line);

	if (layer)
		table_add(table, layer);
	else
		table_add_unknown(table, "");
	table_add_integer(table, number_time(line->layer_ns), line->layer_ns);
	table_add_count(table, line->layers);
}

static void add_culprit(struct report *report, struct table *table, const struct why_line *line)
{
	AUTO_FREE char *stack = line->stack == NONE ? NULL : stack_text(report->all, line->stack);

	add_line_or_unknown(report, table, line->inner_line);
	table_add_count(table, line->inner_lines);
	add_line_or_unknown(report, table, line->caller);
	table_add_count(table, line->callers);
	if (stack)
		table_add(table, stack);
	else
		table_add_unknown(table, "");
	report_add_process(report, table, line->process);
	table_add_id(table, report->model->processes[line->process].pid);
	add_layer(report, table, line);
}

static void add_loss(struct report *report, struct table *table, const struct why_loss *loss, struct time_unit unit)
{
	const struct why *why = &report->all->why;
	AUTO_FREE char *where = why_where(report->all, loss, &loss->lines[0]), *seen = why_evidence(report->all, loss);
	AUTO_FREE char *advice = why_advice(report->all, loss);

	table_add_ns(table, loss->ns, unit);
	table_add_percent(table, (double)loss->ns, (double)why->looked_ns);
	if (why->step_count)
		table_add_ns(table, loss->ns / why->step_count, unit);
	else
		table_add_unknown(table, "-");
	table_add_count(table, loss->count);
	table_add_ns(table, loss->longest_ns, unit);
	table_add(table, why_title(report->all, loss->cause));
	table_add(table, why_cause_name(loss->cause));
	table_add(table, where);
	report_add_place(report, table, loss->lines[0].line);
	table_add(table, seen);
	table_add(table, advice);
	add_culprit(report, table, &loss->lines[0]);
}

/* All losses worth mentioning, also beyond the third. */
static void put_losses(struct report *report, size_t count)
{
	const struct why *why = &report->all->why;
	struct time_unit unit = time_unit_for(count ? why->losses[0].ns : 0);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("per step", "per_step_ns", UNIT_NS),
		COLUMN_NUMBER("times", "times", UNIT_COUNT),
		COLUMN_NUMBER("longest", "longest_ns", UNIT_NS),
		COLUMN_NAME("cause", "cause", TEXT_TRUNCATE_END),
		COLUMN_DATA("cause_id", UNIT_TEXT),
		COLUMN_NAME("where", "where", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("file", UNIT_TEXT),
		COLUMN_DATA("line_number", UNIT_ID),
		COLUMN_DATA("seen", UNIT_TEXT),
		COLUMN_DATA("try", UNIT_TEXT),
		CULPRIT_COLUMNS,
		COLUMN_END,
	};
	struct table table;

	report_title(report, "why_losses", "What was lost, by cause", "% of the time looked at; most first");
	table_begin(&table, columns);
	for (size_t i = 0; i < count; i++)
		add_loss(report, &table, &why->losses[i], unit);
	report_table(report, &table);
	for (size_t i = 0; report->options->format->is_brief && i < count && i < LOSSES_SHOWN; i++)
		write_loss(report, &why->losses[i], i + 1);
}

static void put_lines(struct report *report, size_t count)
{
	const struct why *why = &report->all->why;
	struct time_unit unit = time_unit_for(count ? why->losses[0].ns : 0);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),
		COLUMN_NUMBER("times", "times", UNIT_COUNT),
		COLUMN_NAME("cause", "cause_short", TEXT_TRUNCATE_END),
		COLUMN_DATA("cause_id", UNIT_TEXT),
		COLUMN_NAME("where", "where", TEXT_TRUNCATE_MIDDLE),
		COLUMN_DATA("file", UNIT_TEXT),
		COLUMN_DATA("line_number", UNIT_ID),
		CULPRIT_COLUMNS,
		COLUMN_END,
	};
	struct table table;

	report_title(report, "why_lines", "The lines of these causes", NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++) {
			const struct why_line *line = &why->losses[i].lines[k];
			AUTO_FREE char *where = why_where(report->all, &why->losses[i], line);

			table_add_ns(&table, line->ns, unit);
			table_add_count(&table, line->count);
			table_add(&table, why_short(why->losses[i].cause));
			table_add(&table, why_cause_name(why->losses[i].cause));
			table_add(&table, where);
			report_add_place(report, &table, line->line);
			add_culprit(report, &table, line);
		}
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
