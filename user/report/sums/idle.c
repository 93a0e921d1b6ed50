/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which line lets a GPU idle. */
#include <stdlib.h>

#include "report/parts.h"

static char *cause_text(const struct idle_row *row)
{
	switch (row->cause) {
	case IDLE_LATE:
		return xstrdup("launched late");
	case IDLE_WAITED:
		return xasprintf("%s %s", api_class(row->api) == GPT_CLASS_NONE ? "in" : "waited in",
				 api_name(row->api));
	case IDLE_GPU:
		return xstrdup("GPU side");
	default:
		return xstrdup("");
	}
}

static char *charged_to(struct report *report, const struct idle_row *row)
{
	switch (row->cause) {
	case IDLE_SHORT:
		return xstrdup("(gaps under 5 us)");
	case IDLE_BEFORE:
		return xstrdup("(before the first GPU operation seen)");
	case IDLE_AFTER:
		return xstrdup("(after the last GPU operation)");
	default:
		return line_label(&report->all->lines, row->line);
	}
}

static bool has_line(const struct idle_row *row)
{
	return row->cause != IDLE_SHORT && row->cause != IDLE_BEFORE && row->cause != IDLE_AFTER;
}

static void add_row(struct report *report, struct table *table, const struct idle_row *row, struct time_unit unit)
{
	char *line = charged_to(report, row), *why = cause_text(row);

	table_add_ns(table, row->ns, unit);
	table_add_percent(table, (double)row->ns, idle_is_edge(row->cause) ? 0 : (double)report->all->idle.sum);
	table_add_count(table, row->count);
	table_add(table, line);
	report_add_place(report, table, has_line(row) ? row->line : NONE);
	table_add(table, why);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	report_add_process(report, table, row->process);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
	free(line);
	free(why);
}

/* What the words mean that stand in the rows. */
static void explain(struct report *report, size_t shown)
{
	static const struct {
		enum idle_cause cause;
		const char *text;
	} words[] = {
		{IDLE_LATE, "  launched late: the GPU had nothing to do until that line launched"},
		{IDLE_GPU,
		 "  GPU side: launched in time, but not begun: the launch's latency, or it waited for other work"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (size_t k = 0; k < shown; k++)
			if (report->all->idle.rows[k].cause == words[i].cause) {
				report_line(report, "%s", words[i].text);
				break;
			}
}

void report_idle(struct report *report)
{
	const struct idle *idle = &report->all->idle;
	size_t gaps = idle->count - idle->edges, shown = report_shown(report, gaps);
	struct time_unit unit = time_unit_for(idle->sum || !idle->count ? idle->sum : idle->rows[0].ns);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "idle_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("gaps", "gaps", UNIT_COUNT),
		LABEL_COLUMNS("line", "line"),
		COLUMN_NAME("why", "why", TEXT_TRUNCATE_MIDDLE),
		USER_LINE_COLUMNS,
		PROCESS_COLUMN(report),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!idle->count)
		return;
	report_title(report, "idle", "GPU idle by Python line",
		     "% of idle time between operations; who kept the GPU waiting");
	table_begin(&table, columns);
	for (size_t i = 0; i < idle->count; i++)
		if (i < shown || i >= gaps)
			add_row(report, &table, &idle->rows[i], unit);
		else
			rest += idle->rows[i].ns;
	report_table(report, &table);
	report_more(report, gaps - shown, "causes", number_in(rest, unit), unit.name);
	explain(report, shown);
}
