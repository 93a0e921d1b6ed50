/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/option_parser.h"

#include <string.h>

int parse_tree(struct parse *parse, const char *value)
{
	parse->options->wants_tree = true;
	return 0;
}

int parse_by(struct parse *parse, const char *value)
{
	static const char *const names[] = {[TREE_BY_GPU] = "gpu",
					    [TREE_BY_CPU] = "cpu",
					    [TREE_BY_CALLS] = "calls",
					    [TREE_BY_MEMORY] = "memory",
					    NULL};
	int chosen = option_choose(value, names);

	parse->options->tree_option = "by";
	if (chosen < 0)
		return option_refuse(parse, "by", value, "gpu, cpu, calls and memory");
	parse->options->tree.by = (enum tree_by)chosen;
	return 0;
}

int parse_min_percent(struct parse *parse, const char *value)
{
	unsigned percent;

	parse->options->tree_option = "min-percent";
	if (value_percent(value, &percent))
		return option_fail(
			parse, "--min-percent %s: a percentage from 0 to 100 is accepted, with at most three decimals",
			value);
	parse->options->tree.min_percent = percent;
	return 0;
}

int parse_depth(struct parse *parse, const char *value)
{
	uint64_t depth;

	parse->options->tree_option = "depth";
	if (value_count(value, TREE_DEPTH_MAX, &depth))
		return option_fail(parse, "--depth %s: a number of levels from 1 to %u is accepted", value,
				   TREE_DEPTH_MAX);
	parse->options->tree.depth = (unsigned)depth;
	return 0;
}

int parse_show_all(struct parse *parse, const char *value)
{
	parse->options->tree_option = "show-all";
	parse->options->tree.all_frames = true;
	return 0;
}

int parse_lines(struct parse *parse, const char *value)
{
	struct options *options = parse->options;

	if (value && !*value)
		return option_fail(parse, "--lines=: a file or a function is accepted after it, or nothing at all");
	options->wants_lines = true;
	options->lines.what = value;
	options->lines_word = !value;
	return 0;
}

/* report --lines WORD FILE.gpt, report FILE.gpt --lines WORD; in report --lines FILE.gpt the word is the log. */
bool take_lines_word(struct parse *parse, const char *word)
{
	struct options *options = parse->options;

	if (!options->lines_word)
		return false;
	options->lines_word = false;
	options->lines.what = word;
	return true;
}

int tree_options_check(struct parse *parse)
{
	const struct options *options = parse->options;
	int instead =
		options->wants_tree + options->wants_lines + (options->ops && options->subcommand == SUBCOMMAND_REPORT);

	if (options->tree_option && !options->wants_tree)
		return option_fail(parse, "--%s: is for the tree of calls; it goes with --tree", options->tree_option);
	if (instead > 1)
		return option_fail(parse, "--tree, --lines, --ops: each is instead of the report; one of them");
	return 0;
}
