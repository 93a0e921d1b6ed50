/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/option_parser.h"

#define ROWS_MAX 1000000u

int parse_sort(struct parse *parse, const char *value)
{
	parse->options->table.sort = key_sort_by_name(value);
	parse->options->table_option = "sort";
	if (!parse->options->table.sort)
		return option_refuse(parse, "sort", value, key_sort_names());
	return 0;
}

int parse_rows(struct parse *parse, const char *value)
{
	parse->options->table_option = "rows";
	if (value_count(value, ROWS_MAX, &parse->options->table.rows))
		return option_fail(parse, "--rows %s: a number from 1 to %u is accepted", value, ROWS_MAX);
	return 0;
}

int parse_top_level(struct parse *parse, const char *value)
{
	parse->options->table_option = "top-level";
	parse->options->table.top_level = true;
	return 0;
}

int parse_group_by_shape(struct parse *parse, const char *value)
{
	parse->options->table_option = "group-by-shape";
	parse->options->table.by_shape = true;
	return 0;
}

int parse_group_by_stack(struct parse *parse, const char *value)
{
	uint64_t frames;

	parse->options->table_option = "group-by-stack";
	if (value_count(value, KEY_STACK_MAX, &frames))
		return option_fail(parse, "--group-by-stack %s: a number of Python lines from 1 to %u is accepted",
				   value, KEY_STACK_MAX);
	parse->options->table.stack_frames = (unsigned)frames;
	return 0;
}

int table_options_check(struct parse *parse)
{
	const struct options *options = parse->options;

	if (options->table_option && !options->ops)
		return option_fail(parse, "--%s: is for the table of ops; it goes with --ops", options->table_option);
	return 0;
}
