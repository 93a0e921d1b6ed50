/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the caller of a report, or of one of its lists, may choose. */
#pragma once

#include <stdbool.h>

#include "analyze/events/attribution.h"
#include "report/table/table_writer.h"

struct analyses;
struct verdict;

#define REPORT_LINES 50u /* of a report on a terminal without --all */

struct report_options {
	unsigned width;			   /* columns, 0: 100; at least 80 are used */
	bool truncates;			   /* truncates names that are wider than the page: for a terminal */
	bool color;			   /* the caller looks at isatty and NO_COLOR */
	bool is_ascii;			   /* branches of trees are drawn in ASCII */
	unsigned rows;			   /* per table of the page, 0: 10 */
	const struct table_format *format; /* csv, json, md; NULL: a page of text */
	void *keeper;			   /* for a format that writes nothing: where it keeps what it gets */
	const char *table;		   /* the id of the one table that is requested, NULL: all */
	unsigned lines;			   /* of a page: at most that many, tables under 1 % are left out; 0: all */
	struct verdict *verdict;	   /* gets the verdict in any format, for the caller to free; NULL */
	bool is_verdict_brief;		   /* it is for a screen: verdict_make_brief */
	char **tables;			   /* gets the names of all tables on -ENOENT, for the caller to free; NULL */
	struct attribution attribution;
	const struct comm_kernels *comm_kernels; /* names of a user's own collectives; NULL: none */
};
