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

int parse_whole_report(struct parse *parse, const char *value)
{
	(void)value;
	parse->options->whole_report = true;
	return 0;
}

int parse_table(struct parse *parse, const char *value)
{
	parse->options->report_table = value;
	return 0;
}

int parse_metric(struct parse *parse, const char *value)
{
	static const char *const names[] = {
		[METRIC_DEFAULT] = "", [METRIC_GPU] = "gpu",   [METRIC_LAUNCHES] = "launches",
		[METRIC_CPU] = "cpu",  [METRIC_IDLE] = "idle", NULL};
	int chosen = option_choose(value, names);

	if (chosen <= METRIC_DEFAULT)
		return option_refuse(parse, "metric", value, "gpu, launches, cpu and idle");
	parse->options->metric = (enum metric)chosen;
	return 0;
}

int parse_backward(struct parse *parse, const char *value)
{
	static const char *const names[] = {"caller", "forward", NULL};
	int chosen = option_choose(value, names);

	if (chosen < 0)
		return option_refuse(parse, "backward", value, "caller and forward");
	parse->options->attribution.forward = chosen;
	return 0;
}

int parse_graphs(struct parse *parse, const char *value)
{
	static const char *const names[] = {
		[GRAPHS_DEFAULT] = "", [GRAPHS_REPLAY] = "replay", [GRAPHS_CAPTURE] = "capture", NULL};
	int chosen = option_choose(value, names);

	if (chosen <= GRAPHS_DEFAULT)
		return option_refuse(parse, "graphs", value, "replay and capture");
	parse->options->attribution.graphs = (enum graph_attribution)chosen;
	return 0;
}

int parse_folded_by(struct parse *parse, const char *value)
{
	static const char *const names[] = {
		[FOLDED_BY_CALLS] = "", [FOLDED_BY_SELF_CPU] = "self-cpu", [FOLDED_BY_SELF_CUDA] = "self-cuda", NULL};
	int chosen = option_choose(value, names);

	if (chosen <= FOLDED_BY_CALLS)
		return option_refuse(parse, "folded-by", value, "self-cpu and self-cuda");
	parse->options->folded_by = (enum folded_by)chosen;
	return 0;
}

int parse_fail_above(struct parse *parse, const char *value)
{
	if (value_percent(value, &parse->options->fail_above))
		return option_fail(
			parse, "--fail-above %s: a percentage from 0 to 100 is accepted, with at most three decimals",
			value);
	parse->options->has_fail_above = true;
	return 0;
}

int parse_comm_kernel(struct parse *parse, const char *value)
{
	char *why = comm_kernels_add(&parse->options->comm_kernels, value);
	int err = why ? option_fail(parse, "--comm-kernel %s: not a POSIX extended regular expression: %s", value, why)
		      : 0;

	free(why);
	return err;
}

int parse_unaligned(struct parse *parse, const char *value)
{
	parse->options->unaligned = true;
	return 0;
}

int parse_max_size(struct parse *parse, const char *value)
{
	parse->options->max_size_text = value;
	if (value_size(value, &parse->options->max_size) == 0)
		return 0;
	return option_fail(parse, "--max-size %s: a size is accepted, as in 200M, 500K, 1G", value);
}
