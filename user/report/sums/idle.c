/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU idle time by Python line. */

#include "report/page/parts.h"
#include "report/why/why_words.h"

static char *charged_to(struct report *report, const struct idle_row *row)
{
	switch (row->cause) {
	case WHY_SHORT:
		return xstrdup("(gaps under 5 us)");
	case WHY_BEFORE:
		return xstrdup("(before the first GPU operation seen)");
	case WHY_AFTER:
		return xstrdup("(after the last GPU operation)");
	default:
		return line_label(&report->all->lines, row->line);
	}
}

static bool has_line(const struct idle_row *row)
{
	return row->cause != WHY_SHORT && !idle_is_edge(row->cause);
}

/* Whether another line launched. */
static bool has_other_launch(const struct idle_row *row)
{
	return row->launch_line != NONE && row->launch_line != row->line;
}

static bool has_other_launches(const struct report *report, size_t shown)
{
	return any_of(shown, i, has_other_launch(&report->all->idle.rows[i]));
}

/* Also true if a process without GPU work is to blame. */
static bool has_other_processes(const struct report *report, size_t shown)
{
	const struct idle_row *rows = report->all->idle.rows;
	uint32_t process = NONE;

	for (size_t i = 0; i < shown; i++)
		if (rows[i].process != NONE)
			process_note(&process, rows[i].process);
	return report->all->active > 1 || process == PROCESS_MANY;
}

/* Of a line of the user's own, the caller is only told where there are several. */
static bool shows_caller(const struct report *report, const struct idle_row *row)
{
	return has_line(row) &&
	       (row->is_divided || row->user_lines > 1 || line_is_library(&report->all->lines, row->line));
}

static void add_row(struct report *report, struct table *table, const struct idle_row *row, bool has_launches)
{
	const struct idle *idle = &report->all->idle;
	AUTO_FREE char *line = charged_to(report, row), *why = idle_words(idle, row);
	AUTO_FREE char *launch =
		has_other_launch(row) ? line_label(&report->all->lines, row->launch_line) : xstrdup("");

	table_add_ns(table, "%s", "idle_ns", row->ns);
	table_add_percent(table, "%", "percent", (double)row->ns, idle_is_edge(row->cause) ? 0 : (double)idle->sum);
	table_add_count(table, "gaps", "gaps", row->count);
	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, line);
	report_add_place(report, table, "file", "line_number", has_line(row) ? row->line : NONE);
	table_add_name(table, "why", "why", TEXT_TRUNCATE_MIDDLE, why);
	table_add_name(table, has_launches ? "launch" : NULL, "launch", TEXT_TRUNCATE_PLACE, launch);
	report_add_place(report, table, "launch_file", "launch_line_number", row->launch_line);
	table_add_word(table, "cause_id", idle_is_edge(row->cause) ? "" : why_cause_name(row->cause));
	report_add_user_line(report, table, row->user_line, row->user_lines);
	report_add_process(report, table, row->process);
	if (shows_caller(report, row))
		report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

/* Explains the words in the rows. */
static void explain_rows(struct report *report, size_t shown)
{
	const struct idle_row *rows = report->all->idle.rows;
	bool late = false, after = false, small = false, gpu = false, unsampled = false;

	for (size_t i = 0; i < shown; i++) {
		late |= (rows[i].cause == WHY_PYTHON || rows[i].cause == WHY_PROGRAM) && !rows[i].after;
		unsampled |= rows[i].inner == WHY_UNSAMPLED;
		after |= rows[i].after;
		small |= rows[i].cause == WHY_LAUNCH;
		gpu |= rows[i].cause == WHY_GPU;
	}
	if (late)
		report_line(report, "  launched late: the GPU had nothing to do until that line had launched");
	if (unsampled)
		report_line(report, "  not sampled: no sample and no wait says what the thread did");
	if (after)
		report_line(report,
			    "  after a call: had the thread not waited in it, it would have launched earlier by "
			    "that");
	if (small)
		report_line(report, "  small kernels: they run shorter than it takes to launch them");
	if (gpu)
		report_line(report, "  GPU side: launched, but not begun: the launch's latency, or it waited for other "
				    "work");
}

void report_idle(struct report *report)
{
	const struct idle *idle = &report->all->idle;
	size_t gaps = idle->count - idle->edges, shown = report_shown(report, gaps);
	struct table table = {.unit = time_unit_for(idle->sum || !idle->count ? idle->sum : idle->rows[0].ns),
			      .shows_process = has_other_processes(report, shown)};
	bool has_launches = has_other_launches(report, shown);
	uint64_t rest = 0;

	if (!idle->count)
		return;
	report_title(report, "idle", "GPU idle by Python line",
		     "% of idle time between operations; who kept the GPU waiting");
	report_carries(report, idle->sum, report_ns(report));
	for (size_t i = 0; i < idle->count; i++) {
		if (i >= shown && i < gaps) {
			rest += idle->rows[i].ns;
			continue;
		}
		table_begin_row(&table);
		add_row(report, &table, &idle->rows[i], has_launches);
	}
	report_table(report, &table);
	report_more(report, gaps - shown, "cause", number_in(rest, table.unit), table.unit.name);
	explain_rows(report, shown);
}
