/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace's tree of calls as text; the caller frees it. Include after cmocka.h. */
#pragma once

#include "report/tree/tree.h"

__attribute__((unused)) static char *tree_of_trace(struct trace *trace, struct attribution attribution,
						   const struct tree_options *options)
{
	const struct report_options page = {.width = 110, .attribution = attribution};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write_tree(out, trace, &page, options), 0);
	fclose(out);
	return text;
}
