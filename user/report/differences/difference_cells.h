/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cells of differences (differences.h): a value before, one after, the change and the noise. */
#pragma once

#include "analyze/steps/differences.h"
#include "report/page/page.h"

/* The kind of a value. */
enum measure { MEASURE_TIME, MEASURE_COUNT, MEASURE_BYTES };

double difference_most(const struct difference *difference);
/* The unit for values, the largest of which is most. */
struct time_unit difference_unit(enum measure measure, double most);
/* "1,234.5" with a sign where it is negative, or `plus` before it. */
struct number difference_tenths(double value, const char *plus);

/* Cells that a page shows, in a unit that fits; before: the title of the first. */
void difference_add_shown(struct table *table, const char *before, const struct difference *difference,
			  struct time_unit unit);
/* Cells that a program gets, of keys "before_ns", "after_ns", ...; NULL: no value. */
void difference_add_data(struct table *table, const char *const keys[4], enum unit unit,
			 const struct difference *difference);
void difference_add_judgement(struct table *table, const struct difference *difference);

/* The keys of those. */
#define DIFFERENCE_KEYS(suffix)                                                                                        \
	((const char *const[4]){"before" suffix, "after" suffix, "change" suffix, "noise" suffix})
