/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of `gputrace serve`: what it is asked for, and its own options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options/format.h"
#include "cmd/options/option_parser.h"

#define SECOND_NS 1000000000ull
#define INTERVAL_NS (10 * SECOND_NS)
#define INTERVAL_NS_MIN (2 * SECOND_NS)
#define INTERVAL_NS_MAX (60 * SECOND_NS)
#define RECORDER_TEXT "30s"
#define SUMS_LIMIT 150u /* 0.15 % */
#define PORT 9877
#define PROFILES_KEEP 1440u /* a day */
#define PROFILES_KEEP_MOST 100000u

int parse_serve_word(struct parse *parse, const char *word)
{
	static const char *const words[] = {"status", "write", "stop"};

	if (parse->options->log)
		return option_fail(parse, "serve: one of status, write and stop, but got '%s' and '%s'",
				   parse->options->log, word);
	parse->options->log = word;
	if (any_of(sizeof(words) / sizeof(words[0]), i, !strcmp(word, words[i])))
		return 0;
	return option_fail(parse, "serve takes status, write and stop, but got '%s'; a process is named with -p PID",
			   word);
}

int parse_log_output(struct parse *parse, const char *value)
{
	struct format format;

	if (parse->options->outputs.list.count)
		return option_fail(parse, "--output %s: one name is accepted, and there is %s", value,
				   parse->options->outputs.list.items[0]);
	if (!strcmp(value, "-") || !format_by_path(value, &format) || format.writer)
		return option_fail(parse, "--output %s: serve writes logs: a name that ends in .gpt is accepted",
				   value);
	array_push(&parse->options->outputs.list, value);
	return 0;
}

int parse_profiles(struct parse *parse, const char *value)
{
	static const char keep[] = ",keep=";
	struct options *options = parse->options;
	const char *comma = strstr(value, keep);
	uint64_t count = PROFILES_KEEP;
	char *folder;

	if (comma == value || !*value || (comma && value_count(comma + strlen(keep), PROFILES_KEEP_MOST, &count)))
		return option_fail(parse,
				   "--profiles %s: a folder is accepted, and after it how many files stay there, up to "
				   "%u, as in /var/log/gpu,keep=600",
				   value, PROFILES_KEEP_MOST);
	folder = comma ? strndup(value, (size_t)(comma - value)) : xstrdup(value);
	array_push(&options->outputs.made, folder);
	options->profiles = folder;
	options->profiles_keep = (unsigned)count;
	return 0;
}

int parse_sums_limit(struct parse *parse, const char *value)
{
	unsigned *limit = &parse->options->sums_limit;

	return !value_percent(value, limit) && *limit
		       ? 0
		       : option_fail(parse,
				     "--sums-limit %s: a percentage above 0 is accepted, with at most three decimals, "
				     "as in 0.5%%",
				     value);
}

int parse_socket(struct parse *parse, const char *value)
{
	parse->options->socket = value;
	return *value ? 0 : option_fail(parse, "--socket: a path is accepted");
}

/* Only where to ask goes with a question. */
static bool has_other_options(const struct options *options)
{
	return options->pids.list.count || options->gpu_processes || !selection_is_empty(&options->slice.selection) ||
	       options->outputs.list.count || options->profiles || options->port || options->duration_ns ||
	       options->recorder_ns || options->interval_ns || options->sums_limit || options->agent || options->way;
}

int serve_rules_check(struct parse *parse)
{
	struct options *options = parse->options;

	if (options->log)
		return has_other_options(options)
			       ? option_fail(parse, "serve %s: asks one that runs: only --socket goes with it",
					     options->log)
			       : 0;
	if (!options->recorder_ns && parse_flight_recorder(parse, RECORDER_TEXT))
		return -EINVAL;
	options->interval_ns = options->interval_ns ? options->interval_ns : INTERVAL_NS;
	if (options->interval_ns < INTERVAL_NS_MIN || options->interval_ns > INTERVAL_NS_MAX)
		return option_fail(parse, "--interval: from 2s to 60s is accepted");
	options->sums_limit = options->sums_limit ? options->sums_limit : SUMS_LIMIT;
	options->port = options->port ? options->port : PORT;
	options->trigger.counts_steps = options->ops;
	return 0;
}
