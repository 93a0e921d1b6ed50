/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/option_parser.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options/format.h"

#define VARIABLE "%q{" /* NAME}: as Nsight Systems has it */

/* The variable's value for the output's name; NULL: it cannot be used, which a message has said. */
static const char *value_of_variable(struct parse *parse, const char *output, const char *name)
{
	const char *value = getenv(name);

	if (!value && getenv("SUDO_UID"))
		option_fail(parse, "--output %s: sudo has not kept the variable %s: sudo --preserve-env=%s keeps it",
			    output, name, name);
	else if (!value)
		option_fail(parse, "--output %s: gputrace's environment has no variable %s: export it", output, name);
	else if (!*value || strchr(value, '/'))
		option_fail(parse, "--output %s: the variable %s %s: give it a value that is part of a file's name",
			    output, name, *value ? "has a / in it" : "is empty");
	else
		return value;
	return NULL;
}

/* The name with all %q{NAME} replaced; NULL: impossible, which a message has said.  Ignores a %q{ in a value. */
static char *put_variables(struct parse *parse, const char *output)
{
	char *path = xstrdup("");

	for (const char *from = output, *at; from; from = at) {
		const char *end, *value = "";
		char *longer, *name;

		at = strstr(from, VARIABLE);
		end = at ? strchr(at, '}') : NULL;
		if (at && !end)
			option_fail(parse, "--output %s: %%q{ has no } after it: %%q{RANK} is meant so", output);
		if (at) {
			name = end ? strndup(at + sizeof(VARIABLE) - 1, (size_t)(end - at) + 1 - sizeof(VARIABLE))
				   : NULL;
			value = name ? value_of_variable(parse, output, name) : NULL;
			free(name);
		}
		longer = value ? xasprintf("%s%.*s%s", path, at ? (int)(at - from) : INT_MAX, from, value) : NULL;
		free(path);
		path = longer;
		at = path && end ? end + 1 : NULL;
	}
	return path;
}

int option_add_output(struct parse *parse, const char *value)
{
	struct options *options = parse->options;

	if (strstr(value, VARIABLE)) {
		char *made = put_variables(parse, value);

		if (!made)
			return -EINVAL;
		array_push(&options->outputs.made, made);
		value = made;
	}
	if (!strcmp(value, "-") && options_use_stdout(options))
		return option_fail(parse, "--output -: given twice; there is only one standard output");
	array_push(&options->outputs.list, value);
	parse->after_output = true;
	return 0;
}

/* For diff, which has one format. */
int parse_folded_output(struct parse *parse, const char *value)
{
	size_t length = strlen(value);

	if (strcmp(value, "-") != 0 && (length <= 7 || strcmp(value + length - 7, ".folded") != 0))
		return option_fail(parse, "--output %s: diff writes .folded files (or -) alone", value);
	return option_add_output(parse, value);
}

/* For merge: formats that can hold several ranks. */
int parse_merge_output(struct parse *parse, const char *value)
{
	const struct export_format *format = export_format_by_suffix(value);

	if (!format_path_is_archive(value) && (!format || !format->write_merged))
		return option_fail(parse, "--output %s: merge writes .json, .json.gz, .pftrace and .tar files", value);
	if (format_path_is_per_process(value) || format_path_is_per_cycle(value))
		return option_fail(parse, "--output %s: merge has a file for each rank (%%r), not for %%p or %%c",
				   value);
	if (format_path_is_archive(value) && format_path_is_per_rank(value))
		return option_fail(parse, "--output %s: a .tar has all ranks: its name has no %%r", value);
	return option_add_output(parse, value);
}

static bool is_report_format(const char *name)
{
	return !strcmp(name, "text") || table_format_by_name(name);
}

int parse_format(struct parse *parse, const char *value)
{
	struct format format;

	parse->options->format = value;
	if (format_by_name(value, &format))
		return 0;
	if (parse->options->subcommand == SUBCOMMAND_RECORD && is_report_format(value))
		return 0;
	return option_refuse(parse, "format", value, format_names());
}

int parse_report_format(struct parse *parse, const char *value)
{
	if (!is_report_format(value))
		return option_refuse(parse, "format", value, "text, csv, json and md");
	parse->options->format = value;
	return 0;
}

int parse_gpu_trace(struct parse *parse, const char *value)
{
	parse->options->lists |= LIST_GPU_TRACE;
	return 0;
}

int parse_gpu_sum(struct parse *parse, const char *value)
{
	parse->options->lists |= LIST_GPU_SUM;
	return 0;
}

int parse_api_sum(struct parse *parse, const char *value)
{
	parse->options->lists |= LIST_API_SUM;
	return 0;
}

int parse_table(struct parse *parse, const char *value)
{
	parse->options->report_table = value;
	return 0;
}

int parse_backward(struct parse *parse, const char *value)
{
	parse->options->attribution.forward = !strcmp(value, "forward");
	if (!parse->options->attribution.forward && strcmp(value, "caller") != 0)
		return option_refuse(parse, "backward", value, "caller and forward");
	return 0;
}

static int take_percent(struct parse *parse, const char *option, const char *value, unsigned *out)
{
	if (value_percent(value, out) == 0)
		return 0;
	return option_fail(parse, "--%s %s: a percentage from 0 to 100 is accepted, with at most three decimals",
			   option, value);
}

int parse_min_complete(struct parse *parse, const char *value)
{
	parse->options->has_min_complete = true;
	return take_percent(parse, "min-complete", value, &parse->options->min_complete);
}

int parse_fail_above(struct parse *parse, const char *value)
{
	parse->options->has_fail_above = true;
	return take_percent(parse, "fail-above", value, &parse->options->fail_above);
}

int parse_min_percent(struct parse *parse, const char *value)
{
	return take_percent(parse, "min-percent", value, &parse->options->tree.min_percent);
}

int parse_comm_kernel(struct parse *parse, const char *value)
{
	AUTO_FREE char *why = comm_kernels_add(&parse->options->comm_kernels, value);

	return why ? option_fail(parse, "--comm-kernel %s: not a POSIX extended regular expression: %s", value, why)
		   : 0;
}

int parse_max_size(struct parse *parse, const char *value)
{
	parse->options->max_size_text = value;
	if (value_size(value, &parse->options->max_size) == 0)
		return 0;
	return option_fail(parse, "--max-size %s: a size is accepted, as in 200M, 500K, 1G", value);
}

/* ---- the table of ops, the tree of calls, the source ---------------------------------------------------------------
 */

int parse_sort(struct parse *parse, const char *value)
{
	parse->options->table.sort = key_sort_by_name(value);
	if (!parse->options->table.sort)
		return option_refuse(parse, "sort", value, key_sort_names());
	return 0;
}

#define ROWS_MAX 1000000u

int parse_rows(struct parse *parse, const char *value)
{
	if (value_count(value, ROWS_MAX, &parse->options->table.rows))
		return option_fail(parse, "--rows %s: a number from 1 to %u is accepted", value, ROWS_MAX);
	return 0;
}

int parse_group_by_stack(struct parse *parse, const char *value)
{
	uint64_t frames;

	if (value_count(value, KEY_STACK_MAX, &frames))
		return option_fail(parse, "--group-by-stack %s: a number of Python lines from 1 to %u is accepted",
				   value, KEY_STACK_MAX);
	parse->options->table.stack_frames = (unsigned)frames;
	return 0;
}

int parse_every(struct parse *parse, const char *value)
{
	parse->options->every_text = value;
	if (value_duration(value, &parse->options->every_ns) == 0)
		return 0;
	return option_fail(parse, "--every %s: a length of time is accepted, as in 1h, 10m or 30s", value);
}

int parse_depth(struct parse *parse, const char *value)
{
	uint64_t depth;

	if (value_count(value, TREE_DEPTH_MAX, &depth))
		return option_fail(parse, "--depth %s: a number of levels from 1 to %u is accepted", value,
				   TREE_DEPTH_MAX);
	parse->options->tree.depth = (unsigned)depth;
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
