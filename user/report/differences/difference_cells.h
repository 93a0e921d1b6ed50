/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cells of differences (differences.h): a value before, one after, the change and the noise. */
#pragma once

#include "analyze/steps/differences.h"
#include "report/page/page.h"

/* The kind of a value. */
enum measure { MEASURE_TIME, MEASURE_COUNT, MEASURE_BYTES };

#define SHOWN_COLUMNS(first)                                                                                           \
	COLUMN_NUMBER(first, NULL, UNIT_TEXT), COLUMN_NUMBER("after", NULL, UNIT_TEXT),                                \
		COLUMN_NUMBER("change", NULL, UNIT_TEXT), COLUMN_NUMBER("", NULL, UNIT_TEXT),                          \
		COLUMN_NUMBER("noise", NULL, UNIT_TEXT)

#define DATA_COLUMNS(suffix, unit)                                                                                     \
	COLUMN_DATA("before" suffix, unit), COLUMN_DATA("after" suffix, unit), COLUMN_DATA("change" suffix, unit),     \
		COLUMN_DATA("noise" suffix, unit)

double difference_most(const struct difference *difference);
/* The unit for values, the largest of which is most. */
struct time_unit difference_unit(enum measure measure, double most);
/* "1,234.5" with a sign where it is negative, or `plus` before it. */
struct number difference_tenths(double value, const char *plus);

/* Adds what a page shows, in a unit that fits. */
void difference_add_shown(struct table *table, const struct difference *difference, struct time_unit unit);
/* Adds what a program gets; NULL: no value. */
void difference_add_data(struct table *table, const struct difference *difference);
void difference_add_judgement(struct table *table, const struct difference *difference);
