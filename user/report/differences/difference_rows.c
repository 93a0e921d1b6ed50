/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/differences/difference_rows.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "report/differences/difference_cells.h"
#include "report/why/why_words.h"

/* Whether a mean is an integer; it is a sum of fractions. */
static bool is_whole(double mean)
{
	return fabs(mean - round(mean)) < 1e-6;
}

static struct number count_of(double mean)
{
	return is_whole(mean) && mean >= 0 ? number_count((uint64_t)(mean + 0.5)) : difference_tenths(mean, "");
}

/* "4", or "4 > 6" if it changed. */
static struct number launches_of(const struct difference *launches)
{
	struct number before = count_of(launches->before), after = count_of(launches->after);
	struct number both;

	if (!strcmp(before.text, after.text))
		return before;
	snprintf(both.text, sizeof(both.text), "%.13s > %.13s", before.text, after.text);
	return both;
}

/* The place now, and the place before. */
static char *place_of(const struct difference_row *row)
{
	const struct per_step_row *before = row->before, *after = row->after;
	const char *was;

	if (!before || !after)
		return xstrdup(after ? after->place : before ? before->place : "");
	if (!strcmp(before->place, after->place))
		return xstrdup(after->place);
	was = strrchr(before->place, ':');
	return xasprintf("%s (was %s)", after->place, was ? was : before->place);
}

static const char *name_of(const struct difference_row *row)
{
	return row->after ? row->after->name : row->before ? row->before->name : "";
}

/* Adds the place now, the place before, and the name. */
static void add_place(struct table *table, const struct difference_row *row)
{
	AUTO_FREE char *place = place_of(row);

	if (row->after)
		table_add_named(table, *place ? place : "-", row->after->place);
	else
		table_add_unknown(table, place);
	table_add_text(table, row->before ? row->before->place : NULL, "");
	table_add(table, name_of(row));
}

static void add_row(struct table *table, const struct difference_row *row, bool by_launches, struct time_unit unit)
{
	const struct difference *shown = by_launches ? &row->count : &row->cost;

	difference_add_shown(table, shown, unit);
	table_add_number(table, launches_of(&row->count));
	difference_add_data(table, by_launches ? NULL : &row->cost);
	difference_add_data(table, &row->count);
	difference_add_judgement(table, shown);
	add_place(table, row);
}

static struct time_unit unit_of_rows(const struct difference_rows *rows, size_t shown, enum measure measure)
{
	double most = 0;

	for (size_t i = 0; measure != MEASURE_COUNT && i < shown; i++)
		most = fmax(most, difference_most(&rows->list.items[i].cost));
	return difference_unit(measure, most);
}

static void put_rest(struct report *report, const struct differences *all, const struct difference_rows *rows,
		     size_t shown)
{
	size_t quiet = rows->list.count - rows->changed;
	const char *how = isnan(all->wall_ns.noise) ? "did not change" : "did not change by more than the noise";

	if (rows->changed > shown)
		report_line(report, "  %zu more changed", rows->changed - shown);
	if (quiet)
		report_line(report, "  %zu %s", quiet, how);
}

/* The number of rows to show: all for a program; else those whose change is shown as at least 0.1 of the unit. */
static size_t rows_shown(const struct report *report, const struct difference_rows *rows, enum measure measure)
{
	size_t shown = rows->changed < report->rows ? rows->changed : report->rows;
	double unit = unit_of_rows(rows, shown, measure).ns;

	if (report->rows == UINT_MAX)
		return rows->list.count;
	while (shown && measure != MEASURE_COUNT && difference_change(&rows->list.items[shown - 1].cost) < 0.05 * unit)
		shown--;
	return shown;
}

/* Writes the table of shown rows, on a page only if there are any, and the number of other rows. */
static void put_table(struct report *report, struct table *table, const struct differences *all,
		      const struct difference_rows *rows, size_t shown)
{
	if (shown || report->writer)
		report_table(report, table);
	else
		table_free(table);
	put_rest(report, all, rows, shown);
}

void difference_put_rows(struct report *report, const struct differences *all, const char *id, const char *title,
			 const struct difference_rows *rows, const char *name)
{
	bool is_of_lines = rows == &all->lines, by_launches = all->by_launches;
	const char *place = is_of_lines ? "line" : rows == &all->layer_kernels ? "layer" : NULL;
	enum measure measure = by_launches ? MEASURE_COUNT : MEASURE_TIME;
	size_t shown = rows_shown(report, rows, measure);
	struct time_unit unit = unit_of_rows(rows, shown, measure);
	AUTO_FREE char *before = xasprintf("before%s%s", *unit.name ? " " : "", unit.name);
	const struct column columns[] = {
		SHOWN_COLUMNS(before),
		COLUMN_NUMBER(by_launches ? COLUMN_NOT_SHOWN : "calls", NULL, UNIT_TEXT),
		DATA_COLUMNS("_ns", UNIT_NS_AVG),
		COLUMN_DATA("launches_before", UNIT_COUNT_AVG),
		COLUMN_DATA("launches_after", UNIT_COUNT_AVG),
		COLUMN_DATA("launches_change", UNIT_COUNT_AVG),
		COLUMN_DATA("launches_noise", UNIT_COUNT_AVG),
		COLUMN_DATA("change_percent", UNIT_PERCENT),
		COLUMN_DATA("changed", UNIT_TEXT),
		COLUMN_NAME(place ? place : COLUMN_NOT_SHOWN, place, TEXT_TRUNCATE_PLACE),
		COLUMN_DATA(is_of_lines ? "line_before" : NULL, UNIT_TEXT),
		COLUMN_NAME(name, name, TEXT_TRUNCATE_MIDDLE),
		COLUMN_END,
	};
	struct table table;

	if (!rows->list.count)
		return;
	report_title(report, id, title, NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_row(&table, &rows->list.items[i], by_launches, unit);
	put_table(report, &table, all, rows, shown);
}

/* ---- losses, waits, memory --------------------------------------------------------------------------------------- */

/* A table of costs of lines other than GPU time. */
struct costs {
	const char *id, *title, *remark;
	enum measure measure;
	const char *kind; /* name of the column that says more than the line */
	const char *call; /* for programs: name of a column with the call of losses; NULL: none */
	void (*add_kind)(struct table *table, const struct per_step_row *row);
};

static void add_cause(struct table *table, const struct per_step_row *row)
{
	AUTO_FREE char *shown = row->api == NONE ? xstrdup(why_short((enum why_cause)row->what))
						 : xasprintf("in %s", api_name((uint16_t)row->api));

	table_add_named(table, shown, why_cause_name((enum why_cause)row->what));
}

static void add_call(struct table *table, const struct per_step_row *row)
{
	table_add(table, api_name((uint16_t)row->api));
}

static void add_memory(struct table *table, const struct per_step_row *row)
{
	table_add(table, row->what == GPT_TORCH_CPU ? "CPU" : "GPU");
}

static void put_costs(struct report *report, const struct differences *all, const struct costs *costs,
		      const struct difference_rows *rows)
{
	size_t shown = rows_shown(report, rows, costs->measure);
	bool bytes = costs->measure == MEASURE_BYTES;
	struct time_unit unit = unit_of_rows(rows, shown, costs->measure);
	AUTO_FREE char *before = xasprintf("before %s", unit.name);
	const struct column columns[] = {
		SHOWN_COLUMNS(before),
		COLUMN_DATA(bytes ? "before_bytes" : "before_ns", bytes ? UNIT_BYTES_AVG : UNIT_NS_AVG),
		COLUMN_DATA(bytes ? "after_bytes" : "after_ns", bytes ? UNIT_BYTES_AVG : UNIT_NS_AVG),
		COLUMN_DATA(bytes ? "change_bytes" : "change_ns", bytes ? UNIT_BYTES_AVG : UNIT_NS_AVG),
		COLUMN_DATA(bytes ? "noise_bytes" : "noise_ns", bytes ? UNIT_BYTES_AVG : UNIT_NS_AVG),
		COLUMN_DATA("change_percent", UNIT_PERCENT),
		COLUMN_DATA("changed", UNIT_TEXT),
		COLUMN_NAME(costs->kind, costs->kind, TEXT_TRUNCATE_END),
		COLUMN_DATA(costs->call, UNIT_TEXT),
		COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE),
		COLUMN_DATA("line_before", UNIT_TEXT),
		COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE),
		COLUMN_END,
	};
	struct table table;

	if (rows->list.count) {
		report_title(report, costs->id, costs->title, costs->remark);
		table_begin(&table, columns);
		for (size_t i = 0; i < shown; i++) {
			const struct difference_row *row = &rows->list.items[i];
			const struct per_step_row *either = row->after ? row->after : row->before;

			difference_add_shown(&table, &row->cost, unit);
			difference_add_data(&table, &row->cost);
			difference_add_judgement(&table, &row->cost);
			costs->add_kind(&table, either);
			table_add_text(&table, either->api != NONE ? api_name((uint16_t)either->api) : NULL, "");
			add_place(&table, row);
		}
		put_table(report, &table, all, rows, shown);
	}
}

void difference_put_costs(struct report *report, const struct differences *all)
{
	static const struct costs losses = {.id = "diff_losses",
					    .title = "Time that GPUs lost by cause and line",
					    .remark = "as gputrace why has it",
					    .kind = "cause",
					    .call = "call",
					    .add_kind = add_cause};
	static const struct costs waits = {
		.id = "diff_waits", .title = "CPU waiting for the GPU by line", .kind = "call", .add_kind = add_call};
	static const struct costs memory = {.id = "diff_memory",
					    .title = "Memory of PyTorch by line: held more after a step",
					    .measure = MEASURE_BYTES,
					    .kind = "memory",
					    .add_kind = add_memory};
	static const struct costs peaks = {.id = "diff_memory_peaks",
					   .title = "Memory of PyTorch by line: held when most was",
					   .measure = MEASURE_BYTES,
					   .kind = "memory",
					   .add_kind = add_memory};

	put_costs(report, all, &losses, &all->losses);
	put_costs(report, all, &waits, &all->waits);
	put_costs(report, all, &memory, &all->memory);
	put_costs(report, all, &peaks, &all->peaks);
}
