/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/differences/difference_cells.h"

#include <math.h>

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

struct number difference_tenths(double value, const char *plus)
{
	struct number number = number_tenths(fabs(value)), signed_number;

	snprintf(signed_number.text, sizeof(signed_number.text), "%s%.30s", value < 0 ? "-" : plus, number.text);
	return signed_number;
}

static struct number noise_in(const struct difference *difference, double unit)
{
	if (isnan(difference->noise))
		return (struct number){"not known"};
	return difference_tenths(difference->noise / unit, "");
}

struct time_unit difference_unit(enum measure measure, double most)
{
	static const struct time_unit bytes[] = {{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}};

	if (measure == MEASURE_TIME)
		return time_unit_for((uint64_t)most);
	for (size_t i = 0; measure == MEASURE_BYTES && i < sizeof(bytes) / sizeof(bytes[0]); i++)
		if (most >= bytes[i].ns)
			return bytes[i];
	return (struct time_unit){measure == MEASURE_BYTES ? "B" : "", 1};
}

double difference_most(const struct difference *difference)
{
	return fmax(fabs(difference->before), fabs(difference->after));
}

void difference_add_shown(struct table *table, const char *before, const struct difference *difference,
			  struct time_unit unit)
{
	double change = (difference->after - difference->before) / unit.ns;
	struct number shown = {"-"};

	if (fabs(change) >= LEAST_SHOWN || isnan(change))
		shown = difference_tenths(change, "+");
	table_add_shown(table, before, difference_tenths(difference->before / unit.ns, ""));
	table_add_shown(table, "after", difference_tenths(difference->after / unit.ns, ""));
	table_add_shown(table, "change", shown);
	table_add_shown(table, "", format_percent(difference));
	table_add_shown(table, "noise", noise_in(difference, unit.ns));
}

void difference_add_data(struct table *table, const char *const keys[4], enum unit unit,
			 const struct difference *difference)
{
	const struct difference none = {.before = NAN, .after = NAN, .noise = NAN};
	const struct difference *of = difference ? difference : &none;
	const double values[] = {of->before, of->after, of->after - of->before, of->noise};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		table_add_value(table, NULL, keys[i], unit, (struct number){""}, values[i]);
}

void difference_add_judgement(struct table *table, const struct difference *difference)
{
	table_add_value(table, NULL, "change_percent", UNIT_PERCENT, (struct number){""},
			difference_percent(difference));
	table_add_word(table, "changed", difference_is_seen(difference) ? "yes" : "no");
}
