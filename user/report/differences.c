/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/differences.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"

#define WIDTH_DEFAULT 100u
#define ROWS_DEFAULT 10u

static struct number format(const char *how, double value)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), how, value);
	return number;
}

static struct number percent(const struct difference *difference)
{
	double value = difference_percent(difference);

	if (isinf(value))
		return (struct number){"new"};
	if (difference->after <= 0 && difference->before > 0)
		return (struct number){"gone"};
	return format("%+.1f %%", value);
}

static struct number noise_in(const struct difference *difference, double unit)
{
	if (isnan(difference->noise))
		return (struct number){"not known"};
	return format("%.1f", difference->noise / unit);
}

static struct time_unit unit_of(const struct difference *difference)
{
	double most = difference->before > difference->after ? difference->before : difference->after;

	return time_unit_for((uint64_t)most);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static void add_difference(struct table *table, const char *name, const struct difference *difference,
			   struct time_unit unit)
{
	char *title = *unit.name ? xasprintf("%s, %s", name, unit.name) : xstrdup(name);

	table_add(table, title);
	table_add_number(table, format("%.1f", difference->before / unit.ns));
	table_add_number(table, format("%.1f", difference->after / unit.ns));
	table_add_number(table, format("%+.1f", (difference->after - difference->before) / unit.ns));
	table_add_number(table, percent(difference));
	table_add_number(table, noise_in(difference, unit.ns));
	free(title);
}

static void put_step(struct report *report, const struct differences *all)
{
	bool steps = all->before->has_steps && all->after->has_steps;
	const struct column columns[] = {
		COLUMN_NAME(steps ? "a step" : "all of it", NULL, TEXT_TRUNCATE_END),
		COLUMN_NUMBER("before", NULL, UNIT_TEXT),
		COLUMN_NUMBER("after", NULL, UNIT_TEXT),
		COLUMN_NUMBER("change", NULL, UNIT_TEXT),
		COLUMN_NUMBER("", NULL, UNIT_TEXT),
		COLUMN_NUMBER("noise", NULL, UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	table_begin(&table, columns);
	add_difference(&table, "wall time", &all->wall_ns, unit_of(&all->wall_ns));
	if (!all->by_launches)
		add_difference(&table, "GPU time", &all->gpu_ns, unit_of(&all->gpu_ns));
	add_difference(&table, "launches", &all->launches, (struct time_unit){"", 1});
	report_table(report, &table);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A mean is a sum of fractions. */
static bool is_whole(double mean)
{
	return fabs(mean - round(mean)) < 1e-6;
}

/* "4", or "4 > 6" where that changed. */
static struct number launches_of(const struct difference *launches)
{
	struct number before = format(is_whole(launches->before) ? "%.0f" : "%.1f", launches->before);
	struct number after = format(is_whole(launches->after) ? "%.0f" : "%.1f", launches->after);
	struct number both;

	if (!strcmp(before.text, after.text))
		return before;
	snprintf(both.text, sizeof(both.text), "%.13s > %.13s", before.text, after.text);
	return both;
}

/* Where it is now, and where it was. */
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

static void add_row(struct table *table, const struct difference_row *row, bool by_launches, struct time_unit unit,
		    bool has_places)
{
	const struct difference *shown = by_launches ? &row->launches : &row->gpu_ns;
	char *place;

	table_add_number(table, format("%.1f", shown->before / unit.ns));
	table_add_number(table, format("%.1f", shown->after / unit.ns));
	table_add_number(table, format("%+.1f", (shown->after - shown->before) / unit.ns));
	table_add_number(table, percent(shown));
	table_add_number(table, noise_in(shown, unit.ns));
	if (!by_launches)
		table_add_number(table, launches_of(&row->launches));
	if (has_places) {
		place = place_of(row);
		table_add(table, place);
		free(place);
	}
	table_add(table, name_of(row));
}

static struct time_unit unit_of_rows(const struct difference_rows *rows, size_t shown, bool by_launches)
{
	double most = 0;

	if (by_launches)
		return (struct time_unit){"", 1};
	for (size_t i = 0; i < shown; i++) {
		const struct difference *gpu_ns = &rows->list.items[i].gpu_ns;

		most = fmax(most, fmax(gpu_ns->before, gpu_ns->after));
	}
	return time_unit_for((uint64_t)most);
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

static void put_rows(struct report *report, const struct differences *all, const char *title,
		     const struct difference_rows *rows, const char *name)
{
	bool has_places = rows == &all->lines, by_launches = all->by_launches;
	size_t shown = rows->changed < report->rows ? rows->changed : report->rows;
	struct time_unit unit = unit_of_rows(rows, shown, by_launches);
	char *before = xasprintf("before%s%s", *unit.name ? " " : "", unit.name);
	const struct column all_columns[] = {
		COLUMN_NUMBER(before, NULL, UNIT_TEXT),
		COLUMN_NUMBER("after", NULL, UNIT_TEXT),
		COLUMN_NUMBER("change", NULL, UNIT_TEXT),
		COLUMN_NUMBER("", NULL, UNIT_TEXT),
		COLUMN_NUMBER("noise", NULL, UNIT_TEXT),
		COLUMN_NUMBER("launches", NULL, UNIT_TEXT),
		COLUMN_NAME("line", NULL, TEXT_TRUNCATE_START),
		COLUMN_NAME(name, NULL, TEXT_TRUNCATE_MIDDLE),
		COLUMN_END,
	};
	struct column columns[sizeof(all_columns) / sizeof(all_columns[0])];
	size_t count = 0;
	struct table table;

	for (size_t i = 0; i < sizeof(all_columns) / sizeof(all_columns[0]); i++)
		if (!(i == 5 && by_launches) && !(i == 6 && !has_places))
			columns[count++] = all_columns[i];
	report_title(report, "differences", title, NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_row(&table, &rows->list.items[i], by_launches, unit, has_places);
	if (shown)
		report_table(report, &table);
	else
		table_free(&table);
	put_rest(report, all, rows, shown);
	free(before);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void put_trace(struct report *report, const char *which, const char *name, const struct per_step_tables *tables)
{
	char *steps = tables->has_steps
			      ? xasprintf("%s step%s", number_count(tables->steps).text, tables->steps == 1 ? "" : "s")
			      : xstrdup("no steps were found in it");

	report_line(report, "%s %s, %s, %s%s", which, name, number_time(tables->wall_ns).text, steps,
		    tables->has_gpu ? "" : ", no GPU times");
	if (tables->outside_ns)
		report_line(report, "         %s of GPU time are of no step", number_time(tables->outside_ns).text);
	free(steps);
}

static void put_all(struct report *report, const struct differences *all, const struct differences_options *options)
{
	bool by_launches = all->by_launches;

	put_trace(report, "before:", options->before, all->before);
	put_trace(report, "after: ", options->after, all->after);
	if (all->before->has_steps != all->after->has_steps)
		report_line(report, "  only one of them has steps: what is compared is not the same");
	else if (!all->before->has_steps)
		report_line(report, "  whole traces are compared, and noise is not known: --step says what steps are");
	fputc('\n', report->out);
	put_step(report, all);
	put_rows(report, all, by_launches ? "Launches by line" : "GPU time by line", &all->lines, "function");
	if (!by_launches)
		put_rows(report, all, "GPU time by kernel", &all->kernels, "kernel");
	if (all->before->has_ops && all->after->has_ops)
		put_rows(report, all, by_launches ? "Ops" : "GPU time by op", &all->ops, "op");
}

int report_write_differences(FILE *out, const struct differences *all, const struct differences_options *options)
{
	struct report report = {.out = out,
				.width = options->width ? options->width : WIDTH_DEFAULT,
				.rows = options->rows ? options->rows : ROWS_DEFAULT,
				.color = options->color};

	text_begin();
	put_all(&report, all, options);
	text_end();
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
