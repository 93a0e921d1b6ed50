/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers for people: thousands separators, fitting units, always a point (never the locale's comma). */
#include "report/table/text.h"

#include <inttypes.h>
#include <string.h>

struct number number_count(uint64_t value)
{
	char digits[24];
	struct number number;
	size_t at = 0, length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value);

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			number.text[at++] = ',';
		number.text[at++] = digits[i];
	}
	number.text[at] = '\0';
	return number;
}

struct number number_tenths(double value)
{
	struct number number = {"-"};
	uint64_t tenths;
	size_t length;

	if (!(value >= 0) || value > 1e17)
		return number;
	tenths = (uint64_t)(value * 10 + 0.5);
	number = number_count(tenths / 10);
	length = strlen(number.text);
	snprintf(number.text + length, sizeof(number.text) - length, ".%u", (unsigned)(tenths % 10));
	return number;
}

struct number number_percent(double part, double whole)
{
	return number_tenths(whole > 0 ? 100 * part / whole : -1);
}

struct number number_thousandths(uint32_t value)
{
	struct number number;
	size_t length = (size_t)snprintf(number.text, sizeof(number.text), "%u.%03u", value / 1000, value % 1000);

	while (number.text[length - 1] == '0')
		number.text[--length] = '\0';
	if (number.text[length - 1] == '.')
		number.text[--length] = '\0';
	return number;
}

static struct number with_unit(struct number number, const char *unit)
{
	strncat(number.text, unit, sizeof(number.text) - strlen(number.text) - 1);
	return number;
}

struct number number_time(uint64_t ns)
{
	if (ns < 1000)
		return with_unit(number_count(ns), " ns");
	if (ns < 1000000)
		return with_unit(number_tenths((double)ns / 1e3), " us");
	if (ns < 1000000000)
		return with_unit(number_tenths((double)ns / 1e6), " ms");
	return with_unit(number_tenths((double)ns / 1e9), " s");
}

#define BYTE_UNITS 6

static struct number bytes_in(uint64_t bytes, unsigned step, const char *const units[BYTE_UNITS])
{
	double value = (double)bytes / step;
	size_t unit = 0;

	if (bytes < step)
		return with_unit(number_count(bytes), " B");
	for (; value >= step - 0.05 && unit + 1 < BYTE_UNITS; unit++)
		value /= step;
	return with_unit(number_tenths(value), units[unit]);
}

struct number number_bytes(uint64_t bytes)
{
	static const char *const units[BYTE_UNITS] = {" KB", " MB", " GB", " TB", " PB", " EB"};

	return bytes_in(bytes, 1000, units);
}

struct number number_memory(uint64_t bytes)
{
	static const char *const units[BYTE_UNITS] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};

	return bytes_in(bytes, 1024, units);
}

struct time_unit time_unit_for(uint64_t ns)
{
	if (ns < 10000)
		return (struct time_unit){"ns", 1};
	if (ns < 10000000)
		return (struct time_unit){"us", 1e3};
	if (ns < 100000000000)
		return (struct time_unit){"ms", 1e6};
	return (struct time_unit){"s", 1e9};
}

struct number number_in(uint64_t ns, struct time_unit unit)
{
	return unit.ns > 1 ? number_tenths((double)ns / unit.ns) : number_count(ns);
}
