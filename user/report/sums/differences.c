/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/sums/differences.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "report/page/page.h"
#include "report/why/why_words.h"

#define WIDTH_DEFAULT 100u
#define ROWS_DEFAULT 10u

static struct number format_value(const char *how, double value)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), how, value);
	return number;
}

#define LEAST_SHOWN 0.05 /* less is 0.0 with one decimal */

static struct number format_percent(const struct difference *difference)
{
	double value = difference_percent(difference);

	if (isinf(value))
		return (struct number){"new"};
	if (difference->after <= 0 && difference->before > 0)
		return (struct number){"gone"};
	if (fabs(value) < LEAST_SHOWN)
		return (struct number){"-"};
	return format_value("%+.1f %%", value);
}

/* "1,234.5" with a sign where it is negative, or `plus` before it. */
static struct number tenths(double value, const char *plus)
{
	struct number number = number_tenths(fabs(value)), signed_number;

	snprintf(signed_number.text, sizeof(signed_number.text), "%s%.30s", value < 0 ? "-" : plus, number.text);
	return signed_number;
}

static struct number noise_in(const struct difference *difference, double unit)
{
	if (isnan(difference->noise))
		return (struct number){"not known"};
	return tenths(difference->noise / unit, "");
}

/* The kind of a value. */
enum measure { MEASURE_TIME, MEASURE_COUNT, MEASURE_BYTES };

/* The unit for values, the largest of which is most. */
static struct time_unit unit_for(enum measure measure, double most)
{
	static const struct time_unit bytes[] = {{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}};

	if (measure == MEASURE_TIME)
		return time_unit_for((uint64_t)most);
	for (size_t i = 0; measure == MEASURE_BYTES && i < sizeof(bytes) / sizeof(bytes[0]); i++)
		if (most >= bytes[i].ns)
			return bytes[i];
	return (struct time_unit){measure == MEASURE_BYTES ? "B" : "", 1};
}

static double most_of(const struct difference *difference)
{
	return fmax(fabs(difference->before), fabs(difference->after));
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* Adds what a page shows, in a unit that fits. */
static void add_shown(struct table *table, const struct difference *difference, struct time_unit unit)
{
	table_add_number(table, tenths(difference->before / unit.ns, ""));
	table_add_number(table, tenths(difference->after / unit.ns, ""));
	if (fabs(difference->after - difference->before) / unit.ns < LEAST_SHOWN)
		table_add_number(table, (struct number){"-"});
	else
		table_add_number(table, tenths((difference->after - difference->before) / unit.ns, "+"));
	table_add_number(table, format_percent(difference));
	table_add_number(table, noise_in(difference, unit.ns));
}

#define SHOWN_COLUMNS(first)                                                                                           \
	COLUMN_NUMBER(first, NULL, UNIT_TEXT), COLUMN_NUMBER("after", NULL, UNIT_TEXT),                                \
		COLUMN_NUMBER("change", NULL, UNIT_TEXT), COLUMN_NUMBER("", NULL, UNIT_TEXT),                          \
		COLUMN_NUMBER("noise", NULL, UNIT_TEXT)

/* Adds what a program gets; NULL: no value. */
static void add_data(struct table *table, const struct difference *difference)
{
	struct number none = {""};

	table_add_value(table, none, difference ? difference->before : NAN);
	table_add_value(table, none, difference ? difference->after : NAN);
	table_add_value(table, none, difference ? difference->after - difference->before : NAN);
	table_add_value(table, none, difference ? difference->noise : NAN);
}

static void add_judgement(struct table *table, const struct difference *difference)
{
	table_add_value(table, (struct number){""}, difference_percent(difference));
	table_add(table, difference_is_seen(difference) ? "yes" : "no");
}

static void add_difference(struct table *table, const char *name, const struct difference *difference,
			   enum measure measure)
{
	struct time_unit unit = unit_for(measure, most_of(difference));
	AUTO_FREE char *title = *unit.name ? xasprintf("%s, %s", name, unit.name) : xstrdup(name);

	table_add_named(table, title, name);
	add_shown(table, difference, unit);
	add_data(table, measure == MEASURE_TIME ? difference : NULL);
	add_data(table, measure == MEASURE_COUNT ? difference : NULL);
	add_data(table, measure == MEASURE_BYTES ? difference : NULL);
	add_judgement(table, difference);
}

/* Whether growth is large enough for `gputrace why` to name it: all steps together added a hundredth of the peak. */
static bool memory_grows(const struct differences *all)
{
	double least = most_of(&all->peak) / TORCH_MEMORY_GROWTH_LEAST;

	return all->growth.before * (double)all->before->steps >= least ||
	       all->growth.after * (double)all->after->steps >= least;
}

static void put_step(struct report *report, const struct differences *all)
{
	bool steps = all->before->has_steps && all->after->has_steps;
	const struct column columns[] = {
		COLUMN_NAME(steps ? "a step" : "all of it", "what", TEXT_TRUNCATE_END),
		SHOWN_COLUMNS("before"),
		COLUMN_DATA("before_ns", UNIT_NS_AVG),
		COLUMN_DATA("after_ns", UNIT_NS_AVG),
		COLUMN_DATA("change_ns", UNIT_NS_AVG),
		COLUMN_DATA("noise_ns", UNIT_NS_AVG),
		COLUMN_DATA("before", UNIT_COUNT_AVG),
		COLUMN_DATA("after", UNIT_COUNT_AVG),
		COLUMN_DATA("change", UNIT_COUNT_AVG),
		COLUMN_DATA("noise", UNIT_COUNT_AVG),
		COLUMN_DATA("before_bytes", UNIT_BYTES_AVG),
		COLUMN_DATA("after_bytes", UNIT_BYTES_AVG),
		COLUMN_DATA("change_bytes", UNIT_BYTES_AVG),
		COLUMN_DATA("noise_bytes", UNIT_BYTES_AVG),
		COLUMN_DATA("change_percent", UNIT_PERCENT),
		COLUMN_DATA("changed", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	if (report->writer)
		report_title(report, "diff_step", steps ? "A step" : "All of it", NULL);
	table_begin(&table, columns);
	add_difference(&table, "wall time", &all->wall_ns, MEASURE_TIME);
	if (steps)
		add_difference(&table, "median wall time", &all->median_wall_ns, MEASURE_TIME);
	if (!all->by_launches) {
		add_difference(&table, "GPU time", &all->gpu_ns, MEASURE_TIME);
		if (steps)
			add_difference(&table, "median GPU time", &all->median_gpu_ns, MEASURE_TIME);
		if (report->writer || most_of(&all->idle_ns) > 0)
			add_difference(&table, "GPU idle", &all->idle_ns, MEASURE_TIME);
	}
	if (report->writer || most_of(&all->wait_ns) > 0)
		add_difference(&table, "waits for the GPU", &all->wait_ns, MEASURE_TIME);
	add_difference(&table, "launches", &all->launches, MEASURE_COUNT);
	if (report->writer || most_of(&all->other_calls) > 0)
		add_difference(&table, "copies and fills", &all->other_calls, MEASURE_COUNT);
	if (all->has_memory && steps && (report->writer || memory_grows(all)))
		add_difference(&table, "GPU memory grows by", &all->growth, MEASURE_BYTES);
	if (all->has_memory)
		add_difference(&table, "GPU memory at most", &all->peak, MEASURE_BYTES);
	report_table(report, &table);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Whether a mean is an integer; it is a sum of fractions. */
static bool is_whole(double mean)
{
	return fabs(mean - round(mean)) < 1e-6;
}

static struct number count_of(double mean)
{
	return is_whole(mean) && mean >= 0 ? number_count((uint64_t)(mean + 0.5)) : tenths(mean, "");
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
	if (row->before)
		table_add(table, row->before->place);
	else
		table_add_unknown(table, "");
	table_add(table, name_of(row));
}

static void add_row(struct table *table, const struct difference_row *row, bool by_launches, struct time_unit unit)
{
	const struct difference *shown = by_launches ? &row->count : &row->cost;

	add_shown(table, shown, unit);
	table_add_number(table, launches_of(&row->count));
	add_data(table, by_launches ? NULL : &row->cost);
	add_data(table, &row->count);
	add_judgement(table, shown);
	add_place(table, row);
}

static struct time_unit unit_of_rows(const struct difference_rows *rows, size_t shown, enum measure measure)
{
	double most = 0;

	for (size_t i = 0; measure != MEASURE_COUNT && i < shown; i++)
		most = fmax(most, most_of(&rows->list.items[i].cost));
	return unit_for(measure, most);
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

static void put_rows(struct report *report, const struct differences *all, const char *id, const char *title,
		     const struct difference_rows *rows, const char *name)
{
	bool has_places = rows == &all->lines, by_launches = all->by_launches;
	enum measure measure = by_launches ? MEASURE_COUNT : MEASURE_TIME;
	size_t shown = rows_shown(report, rows, measure);
	struct time_unit unit = unit_of_rows(rows, shown, measure);
	AUTO_FREE char *before = xasprintf("before%s%s", *unit.name ? " " : "", unit.name);
	const struct column columns[] = {
		SHOWN_COLUMNS(before),
		COLUMN_NUMBER(by_launches ? COLUMN_NOT_SHOWN : "calls", NULL, UNIT_TEXT),
		COLUMN_DATA("before_ns", UNIT_NS_AVG),
		COLUMN_DATA("after_ns", UNIT_NS_AVG),
		COLUMN_DATA("change_ns", UNIT_NS_AVG),
		COLUMN_DATA("noise_ns", UNIT_NS_AVG),
		COLUMN_DATA("launches_before", UNIT_COUNT_AVG),
		COLUMN_DATA("launches_after", UNIT_COUNT_AVG),
		COLUMN_DATA("launches_change", UNIT_COUNT_AVG),
		COLUMN_DATA("launches_noise", UNIT_COUNT_AVG),
		COLUMN_DATA("change_percent", UNIT_PERCENT),
		COLUMN_DATA("changed", UNIT_TEXT),
		COLUMN_NAME(has_places ? "line" : COLUMN_NOT_SHOWN, has_places ? "line" : NULL, TEXT_TRUNCATE_PLACE),
		COLUMN_DATA(has_places ? "line_before" : NULL, UNIT_TEXT),
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

			add_shown(&table, &row->cost, unit);
			add_data(&table, &row->cost);
			add_judgement(&table, &row->cost);
			costs->add_kind(&table, either);
			if (either->api == NONE)
				table_add_unknown(&table, "");
			else
				table_add(&table, api_name((uint16_t)either->api));
			add_place(&table, row);
		}
		put_table(report, &table, all, rows, shown);
	}
}

static void put_all_costs(struct report *report, const struct differences *all)
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

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void put_trace(struct report *report, const char *which, const char *name, const struct per_step_tables *tables)
{
	AUTO_FREE char *steps = tables->has_steps ? xasprintf("%s step%s", number_count(tables->steps).text,
							      tables->steps == 1 ? "" : "s")
						  : xstrdup("no steps were found in it");

	report_line(report, "%s %s, %s, %s%s", which, name, number_time(tables->wall_ns).text, steps,
		    tables->has_gpu ? "" : ", no GPU times");
	if (tables->outside_ns)
		report_line(report, "         %s of GPU time are of no step", number_time(tables->outside_ns).text);
}

static void put_side(struct report *report, const char *which, const struct differences_side *side)
{
	for (size_t i = 0; i < side->count; i++)
		put_trace(report, i ? "       " : which, side->names[i], &side->tables[i]);
}

/* The same as a row for programs. */
static void add_trace(struct table *table, const char *which, const char *name, const struct per_step_tables *tables)
{
	table_add(table, which);
	table_add(table, name);
	table_add_integer(table, number_time(tables->wall_ns), tables->wall_ns);
	if (tables->has_steps) {
		table_add_count(table, tables->steps);
		table_add_integer(table, number_time(tables->outside_ns), tables->outside_ns);
	} else {
		table_add_unknown(table, "not found");
		table_add_unknown(table, "");
	}
	table_add(table, tables->has_gpu ? "yes" : "no");
}

static void put_table_of_traces(struct report *report, const struct differences_options *options)
{
	const struct column columns[] = {
		COLUMN_NAME("trace", "trace", TEXT_TRUNCATE_END),
		COLUMN_NAME("file", "file", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NUMBER("took", "wall_ns", UNIT_NS),
		COLUMN_NUMBER("steps", "steps", UNIT_COUNT),
		COLUMN_NUMBER("GPU time of no step", "outside_gpu_ns", UNIT_NS),
		COLUMN_NAME("GPU times", "has_gpu_times", TEXT_TRUNCATE_END),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "diff_traces", "Traces compared", NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < options->before.count; i++)
		add_trace(&table, "before", options->before.names[i], &options->before.tables[i]);
	for (size_t i = 0; i < options->after.count; i++)
		add_trace(&table, "after", options->after.names[i], &options->after.tables[i]);
	report_table(report, &table);
}

static void put_traces(struct report *report, const struct differences *all, const struct differences_options *options)
{
	if (report->writer) {
		put_table_of_traces(report, options);
	} else {
		put_side(report, "before:", &options->before);
		put_side(report, "after: ", &options->after);
	}
	if (all->before->has_steps != all->after->has_steps)
		report_line(report, "  only one of them has steps: what is compared is not the same");
	else if (!all->before->has_steps)
		report_line(report,
			    "  whole traces are compared, and noise is not known: steps are found %s, or --step says "
			    "what they are",
			    all->of_other_tools ? "in torch.profiler's ProfilerStep (its step()) and optimizers' ops"
						: "by --ops");
	if (all->before->has_memory != all->after->has_memory)
		report_line(report, "  memory of PyTorch is not compared: it was recorded%s in one of them only",
			    all->of_other_tools ? "" : " (--memory)");
	if (!report->writer)
		fputc('\n', report->out);
}

static void put_all(struct report *report, const struct differences *all, const struct differences_options *options)
{
	bool by_launches = all->by_launches;

	put_traces(report, all, options);
	put_step(report, all);
	put_rows(report, all, "diff_lines", by_launches ? "CUDA calls by line" : "GPU time by line", &all->lines,
		 "function");
	if (!by_launches)
		put_rows(report, all, "diff_kernels", "GPU time by kernel", &all->kernels, "kernel");
	if (all->before->has_ops && all->after->has_ops)
		put_rows(report, all, "diff_ops", by_launches ? "Ops" : "GPU time by op", &all->ops, "op");
	put_all_costs(report, all);
}

int report_write_differences(FILE *out, const struct differences *all, const struct differences_options *options)
{
	struct report_options of_report = {
		.format = options->format, .table = options->table, .tables = options->tables};
	struct report report = {.out = out,
				.options = &of_report,
				.width = options->width ? options->width : WIDTH_DEFAULT,
				.truncates = options->truncates,
				.rows = options->rows ? options->rows : ROWS_DEFAULT,
				.color = options->color};

	report_begin(&report);
	put_all(&report, all, options);
	return report_end(&report);
}
