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

/* The place now, the place before, and the name; title and keys NULL: not said. */
static void add_place(struct table *table, const struct difference_row *row, const char *title, const char *before,
		      const char *name)
{
	AUTO_FREE char *place = place_of(row);

	table_add_named(table, title, title, TEXT_TRUNCATE_PLACE, row->after && !*place ? "-" : place,
			row->after ? row->after->place : "");
	table_unset_unless(table, row->after, place);
	table_add_word(table, before, row->before ? row->before->place : NULL);
	table_add_name(table, name, name, TEXT_TRUNCATE_MIDDLE, name_of(row));
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

/* Writes the table of shown rows (of one, for its columns, if none is), on a page only if there are any, and the rest.
 */
static void put_table(struct report *report, struct table *table, const struct differences *all,
		      const struct difference_rows *rows, size_t shown)
{
	if (!shown)
		table_drop_rows(table);
	if (shown || report->writer)
		report_table(report, table);
	else
		table_free(table);
	put_rest(report, all, rows, shown);
}

void difference_put_rows(struct report *report, const struct differences *all, const char *id, const char *title,
			 const struct difference_rows *rows, const char *name)
{
	static const char *const counts[] = {"launches_before", "launches_after", "launches_change", "launches_noise"};
	bool is_of_lines = rows == &all->lines, by_launches = all->by_launches;
	const char *place = is_of_lines ? "line" : rows == &all->layer_kernels ? "layer" : NULL;
	enum measure measure = by_launches ? MEASURE_COUNT : MEASURE_TIME;
	size_t shown = rows_shown(report, rows, measure);
	struct time_unit unit = unit_of_rows(rows, shown, measure);
	struct table table = {.unit = unit};

	if (!rows->list.count)
		return;
	report_title(report, id, title, NULL);
	for (size_t i = 0; i < shown || !table.count; i++) {
		const struct difference_row *row = &rows->list.items[i];
		const struct difference *of = by_launches ? &row->count : &row->cost;

		table_begin_row(&table);
		difference_add_shown(&table, *unit.name ? "before %s" : "before", of, unit);
		table_add_shown(&table, by_launches ? NULL : "calls", launches_of(&row->count));
		difference_add_data(&table, DIFFERENCE_KEYS("_ns"), UNIT_NS_AVG, by_launches ? NULL : &row->cost);
		difference_add_data(&table, counts, UNIT_COUNT_AVG, &row->count);
		difference_add_judgement(&table, of);
		add_place(&table, row, place, is_of_lines ? "line_before" : NULL, name);
	}
	put_table(report, &table, all, rows, shown);
}

/* ---- losses, waits, memory --------------------------------------------------------------------------------------- */

/* A table of costs of lines other than GPU time. */
struct costs {
	const char *id, *title, *remark;
	enum measure measure;
	const char *kind; /* name of the column that says more than the line */
	const char *call; /* for programs: name of a column with the call of losses; NULL: none */
	void (*add_kind)(struct table *table, const char *title, const struct per_step_row *row);
};

static void add_cause(struct table *table, const char *title, const struct per_step_row *row)
{
	AUTO_FREE char *shown = row->api == NONE ? xstrdup(why_short((enum why_cause)row->what))
						 : xasprintf("in %s", api_name((uint16_t)row->api));

	table_add_named(table, title, title, TEXT_TRUNCATE_END, shown, why_cause_name((enum why_cause)row->what));
}

static void add_call(struct table *table, const char *title, const struct per_step_row *row)
{
	table_add_name(table, title, title, TEXT_TRUNCATE_END, api_name((uint16_t)row->api));
}

static void add_memory(struct table *table, const char *title, const struct per_step_row *row)
{
	table_add_name(table, title, title, TEXT_TRUNCATE_END, row->what == GPT_TORCH_CPU ? "CPU" : "GPU");
}

static void put_costs(struct report *report, const struct differences *all, const struct costs *costs,
		      const struct difference_rows *rows)
{
	size_t shown = rows_shown(report, rows, costs->measure);
	bool bytes = costs->measure == MEASURE_BYTES;
	struct table table = {.unit = unit_of_rows(rows, shown, costs->measure)};

	if (!rows->list.count)
		return;
	report_title(report, costs->id, costs->title, costs->remark);
	for (size_t i = 0; i < shown || !table.count; i++) {
		const struct difference_row *row = &rows->list.items[i];
		const struct per_step_row *either = row->after ? row->after : row->before;

		table_begin_row(&table);
		difference_add_shown(&table, "before %s", &row->cost, table.unit);
		difference_add_data(&table, bytes ? DIFFERENCE_KEYS("_bytes") : DIFFERENCE_KEYS("_ns"),
				    bytes ? UNIT_BYTES_AVG : UNIT_NS_AVG, &row->cost);
		difference_add_judgement(&table, &row->cost);
		costs->add_kind(&table, costs->kind, either);
		table_add_word(&table, costs->call, either->api != NONE ? api_name((uint16_t)either->api) : NULL);
		add_place(&table, row, "line", "line_before", "function");
	}
	put_table(report, &table, all, rows, shown);
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
