/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between two traces, as text or as tables for programs (table_writer.h): the step, then lines, kernels
 * and ops by how much they changed.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "analyze/steps/differences.h"
#include "report/table/table_writer.h"

/* The traces of before, or of after. */
struct differences_side {
	const char *const *names;	      /* of the traces */
	const struct per_step_tables *tables; /* of each; their rows are not used */
	size_t count;
};

struct differences_options {
	struct differences_side before, after;
	unsigned width, rows; /* 0: the defaults; rows: per table */
	bool truncates;	      /* truncates names that are wider than the page: for a terminal */
	bool color;
	bool only_layers;		   /* and their kernels */
	const struct table_format *format; /* csv, json, md; NULL: a page of text */
	const char *table;		   /* the id of the one table that is requested, NULL: all */
	char **tables;			   /* gets the names of all tables on -ENOENT, for the caller to free; NULL */
};

/* Returns 0 or -errno of writing; -ENOENT: there is no table of the requested name. */
int report_write_differences(FILE *out, const struct differences *all, const struct differences_options *options);
