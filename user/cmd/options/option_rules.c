/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which options need, exclude or imply one another; of those that choose when to record: schedule_rules.c. */
#include "cmd/options/option_parser.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options/format.h"
#include "cmd/options/subcommands.h"

/* Whether a page of text has its tables by name. */
static bool prints_tables(const struct options *options)
{
	return (options->subcommand == SUBCOMMAND_RECORD || options->subcommand == SUBCOMMAND_REPORT ||
		options->subcommand == SUBCOMMAND_MERGE) &&
	       !options_use_stdout(options) && (!options_replace_report(options) || options->wants_layers);
}

/* Checks a --format that is for the report, not for --output -. */
static int check_report_format(struct parse *parse)
{
	struct options *options = parse->options;

	options->report_format = table_format_by_name(options->format);
	if (options->subcommand == SUBCOMMAND_EXPORT ||
	    (!options->report_format && strcmp(options->format, "text") != 0))
		return option_fail(parse,
				   "--format %s: only goes with --output -; of a file the suffix picks the format",
				   options->format);
	if (options->report_table && !options->report_format && !prints_tables(options))
		return option_fail(parse, "--table %s: goes with a report in csv, json or md: --format",
				   options->report_table);
	return 0;
}

/* Whether the format was checked when the option was parsed. */
static bool has_own_formats(const struct options *options, const char *path)
{
	return options->subcommand == SUBCOMMAND_DIFF ||
	       (options->subcommand == SUBCOMMAND_MERGE && format_path_is_archive(path));
}

static int check_outputs(struct parse *parse)
{
	const struct options *options = parse->options;
	struct format format;
	const char *why;

	if (options->whole_report && (options->report_table || options->wants_layers || !prints_tables(options)))
		return option_fail(parse,
				   "--all: is of the whole report: give it without --table, --tree and the like");
	for (size_t i = 0; i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (!strcmp(path, "-"))
			continue;
		why = has_own_formats(options, path) ? NULL : format_check_path(path);
		if (format_path_is_folder(path) &&
		    (options->subcommand == SUBCOMMAND_DIFF || options->subcommand == SUBCOMMAND_MERGE))
			why = "a file name is missing";
		if (why)
			return option_fail(parse, "--output %s: %s", path, why);
	}
	if (options->format && !options_use_stdout(options))
		return check_report_format(parse);
	if (options->report_table && !prints_tables(options))
		return option_fail(parse, "--table %s: goes with a report in csv, json or md: --format",
				   options->report_table);
	if (!options_use_stdout(options))
		return 0;
	if (options->subcommand == SUBCOMMAND_DIFF) /* it writes only .folded */
		return options->format
			       ? option_fail(parse, "--output -: writes the stacks there: --format is for the report")
			       : 0;
	if (!options->format)
		return option_fail(parse, "--output -: say what to write with --format; accepted are %s",
				   format_names());
	if (!format_by_name(options->format, &format))
		return option_fail(parse, "--output - --format %s: there is no report then; accepted are %s",
				   options->format, format_names());
	why = format_check_stdout(&format, isatty(STDOUT_FILENO));
	return why ? option_fail(parse, "--output - --format %s: %s", options->format, why) : 0;
}

static int check_max_size(struct parse *parse)
{
	const struct options *options = parse->options;
	struct format format;

	for (size_t i = 0; i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (!strcmp(path, "-"))
			return option_fail(parse, "--max-size: makes several files, and --output - is one");
		if (format_by_path(path, &format) && (!format.writer || !format.writer->has_times))
			return option_fail(
				parse, "--max-size: %s cannot be cut at times; it is for .json, .json.gz and .pftrace",
				path);
	}
	return 0;
}

static int check_slice(struct parse *parse)
{
	const struct slice_options *slice = &parse->options->slice;
	struct format format;

	if (slice->steps.has_any && slice->cycle)
		return option_fail(parse, "--cycle: says which steps are wanted, as --steps does; one of the two");
	if (options_want_steps(parse->options) && (slice->from.kind || slice->to.kind))
		return option_fail(
			parse, "--steps and --cycle: say which times are wanted, as --from and --to do; one of them");
	if (slice->from.kind == slice->to.kind &&
	    (slice->from.kind == MOMENT_SINCE_START || slice->from.kind == MOMENT_OF_DATE) &&
	    slice->to.ns <= slice->from.ns)
		return option_fail(parse, "--to: is not after --from; nothing lies between them");
	for (size_t i = 0; options_want_slice(parse->options) && i < parse->options->outputs.list.count; i++)
		if (format_by_path(parse->options->outputs.list.items[i], &format) && !format.writer)
			return option_fail(parse, "--output %s: a log cannot be cut; a slice is for the other formats",
					   parse->options->outputs.list.items[i]);
	return parse->options->max_size ? check_max_size(parse) : 0;
}

/* An option for a recording only, which was given; NULL: none. */
static const char *recording_option(const struct options *options)
{
	const struct {
		const char *name;
		bool given;
	} all[] = {
		{"duration", options->duration_ns},
		{"start-at", options->start_at.text},
		{"cpu", options->cpu_frequency},
		{"off-cpu", options->off_cpu_min_ns},
		{"no-cpu", options->cpu_unwanted},
		{"no-off-cpu", options->off_cpu_unwanted},
		{"no-gpu-counters", options->gpu_counters_unwanted},
		{"output", options->outputs.list.count},
		{"metric", options->metric}, /* of an output */
		{"agent", options->agent},
		{"way", options->way},
		{"cupti", options->cupti},
		{"no-keep", !options->keeps_log},
		{"as-root", options->as_root},
		{"label", options->labels.list.count},
		{"native", options->native},
		{"python-calls", options->python_calls},
		{"trace", options->has_activity_sets},
		{"capture-range", options->captures},
		{"prove-cost", options->proof_ms},
		{"cost-limit", options->cost_limit},
		{"memory-limit", options->memory_limit},
		{"schedule", options->schedule.active},
		{"flight-recorder", options->recorder_ns},
		{"trigger", trigger_is_wanted(&options->trigger)},
		{"shapes", options->shapes},
		{"forward-lines", options->forward_lines},
		{"memory", options->torch_memory},
		{"ops", options->ops},
	};

	return value_of_first(sizeof(all) / sizeof(all[0]), i, all[i].given, all[i].name, NULL);
}

static int check_activity(struct parse *parse)
{
	const struct options *options = parse->options;

	if (options->cpu_unwanted && options->cpu_frequency)
		return option_fail(parse, "--no-cpu: excludes --cpu and --frequency, which ask for samples");
	if (options->off_cpu_unwanted && options->off_cpu_min_ns)
		return option_fail(parse, "--no-off-cpu: excludes --off-cpu, which asks for waits");
	return 0;
}

/* What is printed instead of the report, and what goes with that alone. */
static int check_instead(struct parse *parse)
{
	const struct options *options = parse->options;
	int instead = options->wants_tree + options->wants_layers + options->wants_lines + (options->every_ns != 0) +
		      (options->ops && options->subcommand == SUBCOMMAND_REPORT);

	if (options->table_option && !options->ops)
		return option_fail(parse, "--%s: is for the table of ops; it goes with --ops", options->table_option);
	if (options->tree_option && !options->wants_tree)
		return option_fail(parse, "--%s: is for the tree of calls; it goes with --tree", options->tree_option);
	if (options->depth_option && !options->wants_tree && !options->wants_layers)
		return option_fail(parse, "--%s: is for trees; it goes with --tree or --layers", options->depth_option);
	if (options->folded_by == FOLDED_BY_LAYER && options->metric == METRIC_CPU)
		return option_fail(parse,
				   "--folded-by layer: modules have GPU time, launches and idle time: it excludes "
				   "--metric cpu");
	if (instead > 1)
		return option_fail(parse,
				   "--tree, --layers, --lines, --every, --ops: each is instead of the report; one of "
				   "them");
	if (instead && options->lists)
		return option_fail(parse, "--gpu-trace, --gpu-sum and --api-sum exclude --tree, --layers, --lines, "
					  "--every and --ops: each is instead of the report");
	if (options->every_ns && options_want_steps(options))
		return option_fail(parse, "--every: cuts the trace by time: it excludes --steps and --cycle");
	return 0;
}

/* What chooses processes of a log chooses those to be recorded, where there is no log yet. */
static int check_targets(struct parse *parse)
{
	struct options *options = parse->options;

	if (options->gpu_processes && options->pids.list.count)
		return option_fail(parse, "-p gpu and -p PID exclude each other; one of them");
	if (options->log || options->reads_last)
		return 0;
	options->targets = options->slice.selection;
	options->slice.selection = (struct selection){0};
	if (options_select(options) && (options->command || options->pids.list.count))
		return option_fail(parse,
				   "-p gpu, --user, --comm, --cgroup, --container and --pod choose among the processes "
				   "of the machine: they exclude -p PID and a command");
	return 0;
}

/* Whether a part of a log is wanted that can only be chosen when the log is there; a GPU is chosen before. */
static bool wants_part(struct options options)
{
	options.slice.has_gpu = false;
	return options_want_slice(&options);
}

/* why reads a log, or records, then with PyTorch's ops, which show data loading. */
static int why_check(struct parse *parse)
{
	struct options *options = parse->options;

	if (options_use_stdout(options))
		return option_fail(parse, "--output -: why writes its answer there; name a file, as in -o all.gpt");
	if (!options->log && !options->command && !options->pids.list.count && !options->gpu_processes) {
		options->reads_last = true;
		return recording_option(options)
			       ? option_fail(parse,
					     "--%s: is for what is recorded; why needs a process (-p PID) or a command "
					     "(-- COMMAND) for that",
					     recording_option(options))
			       : 0;
	}
	if (!options->log) {
		if (check_targets(parse))
			return -EINVAL;
		options->ops |= options->agent != ATTACH_AGENT_OFF;
		return wants_part(*options)
			       ? option_fail(parse,
					     "why: --from, --to, --steps and such choose a part of a log: gputrace "
					     "why FILE.gpt")
			       : 0;
	}
	if (options->command || options->pids.list.count || options->gpu_processes)
		return option_fail(parse,
				   "why looks at %s or at what it records itself (-p PID, -- COMMAND): one of "
				   "the two",
				   options->log);
	return recording_option(options) ? option_fail(parse, "--%s: is for what is recorded; why reads %s",
						       recording_option(options), options->log)
					 : 0;
}

static int dump_check(struct parse *parse)
{
	const struct options *options = parse->options;
	int given = (options->pids.list.count != 0) + options->gpu_processes + options->all_processes;

	if (!given)
		return option_fail(parse, "dump needs a process: gputrace dump -p PID, -p gpu or --all");
	if (options->keeps_on && !options->hang_ns)
		return option_fail(parse, "--keep goes on after a hang: it needs --when hang=TIME");
	return given > 1 ? option_fail(parse, "-p PID, -p gpu and --all exclude each other; one of them") : 0;
}

/* diff: two logs, or several of before, --, and several of after. */
static int check_sides(struct parse *parse)
{
	struct options *options = parse->options;
	size_t count = options->logs.list.count;

	if (count < 2)
		return option_fail(parse, "diff needs two logs: gputrace diff %s AFTER.gpt", options->log);
	if (!options->before && count > 2)
		return option_fail(parse,
				   "diff takes two logs, but got '%s', '%s' and '%s'; several runs of each: "
				   "gputrace diff BEFORE.gpt... -- AFTER.gpt...",
				   options->log, options->logs.list.items[1], options->logs.list.items[2]);
	if (options->before == count)
		return option_fail(parse, "diff needs a log after --: gputrace diff BEFORE.gpt... -- AFTER.gpt...");
	if (!options->before)
		options->before = 1;
	return 0;
}

/* Of `report --lines WORD` the word is the log, unless it can only say what to list. */
static bool names_log(const char *word)
{
	const char *suffix = strrchr(word, '.');
	struct format format;

	if (!strcmp(word, "-") || format_by_path(word, &format))
		return true;
	return !access(word, F_OK) && (!suffix || strcmp(suffix, ".py") != 0);
}

static bool is_recording(enum subcommand subcommand)
{
	return subcommand == SUBCOMMAND_RECORD || subcommand == SUBCOMMAND_WHY || subcommand == SUBCOMMAND_TOP ||
	       subcommand == SUBCOMMAND_SERVE;
}

/* Which log is read: that of the command line, or the last one. */
static int choose_log(struct parse *parse)
{
	struct options *options = parse->options;
	enum subcommand subcommand = options->subcommand;

	if (!subcommand_row_of(subcommand)->reads_log || is_recording(subcommand))
		return 0;
	if (!options->log && options->lines.what && names_log(options->lines.what)) {
		options->log = options->lines.what;
		options->lines.what = NULL;
	}
	options->reads_last = !options->log && subcommand != SUBCOMMAND_MERGE;
	if (!options->log && !options->reads_last)
		return option_fail(parse, "merge needs a log: gputrace merge FILE.gpt...");
	if (subcommand == SUBCOMMAND_DIFF && options->log && check_sides(parse))
		return -EINVAL;
	if (subcommand == SUBCOMMAND_EXPORT && !options->outputs.list.count)
		return option_fail(parse, "export needs an output: gputrace export%s%s -o trace.json",
				   options->log ? " " : "", options->log ? options->log : "");
	return 0;
}

int option_rules_check(struct parse *parse)
{
	struct options *options = parse->options;
	enum subcommand subcommand = options->subcommand;

	options->torch_memory |= options->memory_lines;
	options->ops |= options->shapes || options->forward_lines || options->torch_memory;
	if (subcommand == SUBCOMMAND_DUMP) /* none of the options below applies to it */
		return dump_check(parse);
	if (subcommand == SUBCOMMAND_MCP)
		return 0;
	if (subcommand == SUBCOMMAND_SERVE && serve_rules_check(parse))
		return -EINVAL;
	if (subcommand == SUBCOMMAND_SERVE && options->log) /* a question to one that runs */
		return 0;
	if (is_recording(subcommand) && subcommand != SUBCOMMAND_WHY && check_targets(parse))
		return -EINVAL;
	if (subcommand == SUBCOMMAND_WHY && why_check(parse))
		return -EINVAL;
	if (choose_log(parse))
		return -EINVAL;
	if (options->command && options->pids.list.count)
		return option_fail(parse, "--pid and a command to start ('%s') exclude each other; one of the two",
				   options->command[0]);
	if (options->command && !options->command[0][0])
		return option_fail(parse, "the command to start is empty: gputrace -- COMMAND");
	if (options->has_activity_sets && options->agent == ATTACH_AGENT_OFF)
		return option_fail(
			parse, "--trace and --kernels-only choose what the agent records: they exclude --agent off");
	if (is_recording(subcommand) && (options->activity_sets >> GPT_AGENT_SET_NVTX & 1) && !options->command)
		return option_fail(parse,
				   "--trace nvtx: a program decides at its first range who gets them, so gputrace has "
				   "to start it: gputrace ... -- COMMAND");
	if (options->ops && options->agent == ATTACH_AGENT_OFF)
		return option_fail(parse, "--ops: only the agent sees PyTorch's ops: it excludes --agent off");
	if (options->cupti && options->agent == ATTACH_AGENT_OFF)
		return option_fail(parse, "--cupti: only the agent uses it: it excludes --agent off");
	if (options->cupti && subcommand == SUBCOMMAND_DOCTOR && !options->pids.list.count)
		return option_fail(parse, "--cupti: doctor looks at it for a process; one is named with -p PID");
	if (check_activity(parse) || check_instead(parse) || check_slice(parse) || schedule_rules_check(parse))
		return -EINVAL;
	return check_outputs(parse);
}
