/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* getopt_long behind the tables of options and of subcommands, and what options mean together. */
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "cmd/format.h"
#include "cmd/merge_tar.h"
#include "cmd/option_rows.h"
#include "cmd/subcommands.h"
#include "cmd/table_options.h"
#include "cmd/tree_options.h"

#define DEFAULT_BUFFER (64u << 20)
/* Not what CUPTI knows of waits: their calls are seen anyway, and HTA counts such rows as work of the GPU. */
#define SETS_DEFAULT (1u << GPT_AGENT_SET_CUDA | 1u << GPT_AGENT_SET_MEMORY)

static const char *subcommand_name(enum subcommand subcommand)
{
	const struct subcommand_row *row = subcommand_row_of(subcommand);

	return row->name ? row->name : "tracing";
}

static void build_tables(bool stop_at_word, struct option longs[OPTION_ROWS_MAX], char shorts[2 * OPTION_ROWS_MAX + 3])
{
	/* "+" ends at COMMAND, "-" gives words as option 1; ":" tells a missing value from an unknown option. */
	char *at = shorts;

	*at++ = stop_at_word ? '+' : '-';
	*at++ = ':';
	for (const struct option_row *row = option_rows; row->name; row++) {
		*longs++ = (struct option){row->name,
					   row->value	  ? required_argument
					   : row->metavar ? optional_argument
							  : no_argument,
					   NULL, row->code};
		if (row->code >= OPTION_LETTERS)
			continue;
		*at++ = (char)row->code;
		if (row->value)
			*at++ = ':';
	}
	*longs = (struct option){0};
	*at = 0;
}

/* The row for that subcommand, else one of another; NULL: no option has that code. */
static const struct option_row *row_of(int code, enum subcommand subcommand)
{
	const struct option_row *found = NULL;

	for (const struct option_row *row = option_rows; row->name; row++)
		if (row->code == code && (!found || row->where & subcommand))
			found = row;
	return found;
}

/* A word of report or export: the log; after `-o FILE` of export also one more output. */
static int parse_word(struct parse *parse, const char *word)
{
	struct options *options = parse->options;

	if (!subcommand_row_of(options->subcommand)->reads_log)
		return option_fail(parse, "%s takes no '%s'; a process is named with -p PID",
				   subcommand_name(options->subcommand), word);
	if (take_lines_word(parse, word))
		return 0;
	if (options->subcommand == SUBCOMMAND_MERGE)
		array_push(&options->logs.list, word);
	if (!options->log) {
		options->log = word;
		return 0;
	}
	if (options->subcommand == SUBCOMMAND_MERGE)
		return 0;
	if (options->subcommand == SUBCOMMAND_EXPORT && parse->after_output)
		return option_add_output(parse, word);
	if (options->subcommand == SUBCOMMAND_DIFF && !options->log_after) {
		options->log_after = word;
		return 0;
	}
	if (options->subcommand == SUBCOMMAND_DIFF)
		return option_fail(parse, "diff takes two logs, but got '%s', '%s' and '%s'", options->log,
				   options->log_after, word);
	return option_fail(parse, "%s takes one log, but got '%s' and '%s'", subcommand_name(options->subcommand),
			   options->log, word);
}

static int parse_option(struct parse *parse, int code, char **argv)
{
	enum subcommand subcommand = parse->options->subcommand;
	bool fault = code == ':' || code == '?'; /* then optopt says of which option */
	const struct option_row *row = row_of(fault ? optopt : code, subcommand);

	if (code == ':')
		return option_fail(parse, "--%s needs %s after it", row ? row->name : "?",
				   row ? row->value : "a value");
	if (code == '?' && row)
		return option_fail(parse, "--%s takes no value: '%s'", row->name, argv[optind - 1]);
	if (code == '?' && optopt)
		return option_fail(parse, "unknown option '-%c'; gputrace --help lists them", optopt);
	if (!row)
		return option_fail(parse, "unknown option '%s'; gputrace --help lists them", argv[optind - 1]);
	if (!(row->where & subcommand))
		return option_fail(parse, "--%s does not apply to %s; gputrace --help says where it does", row->name,
				   subcommand_name(subcommand));
	parse->after_output = false;
	return row->parse(parse, optarg);
}

/* A --format that is not that of standard output. */
static int check_report_format(struct parse *parse)
{
	struct options *options = parse->options;

	options->report_format = table_format_by_name(options->format);
	if (options->subcommand == SUBCOMMAND_EXPORT ||
	    (!options->report_format && strcmp(options->format, "text") != 0))
		return option_fail(parse,
				   "--format %s: only goes with --output -; of a file the suffix picks the format",
				   options->format);
	if (options->report_table && !options->report_format)
		return option_fail(parse, "--table %s: goes with a report in csv, json or md: --format",
				   options->report_table);
	return 0;
}

/* Looked at where the option is read. */
static bool has_own_formats(const struct options *options, const char *path)
{
	return options->subcommand == SUBCOMMAND_DIFF ||
	       (options->subcommand == SUBCOMMAND_MERGE && merge_is_tar(path));
}

static int check_outputs(struct parse *parse)
{
	const struct options *options = parse->options;
	struct format format;
	const char *why;

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
	if (options->report_table)
		return option_fail(parse, "--table %s: goes with a report in csv, json or md: --format",
				   options->report_table);
	if (!options_use_stdout(options))
		return 0;
	if (options->subcommand == SUBCOMMAND_DIFF) /* writes one format of files */
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

/* How steps are counted while they are made: by what tells of them when they begin. */
static int find_step_by(struct parse *parse)
{
	const struct step_wish *wish = &parse->options->step.wish;
	struct gpt_schedule *schedule = &parse->options->schedule;

	switch (wish->source) {
	case STEP_FITTING:
		schedule->by = GPT_STEP_BY_FIRST;
		return 0;
	case STEP_PROFILER:
		schedule->by = GPT_STEP_BY_PROFILER;
		return 0;
	case STEP_OPTIMIZER:
		schedule->by = GPT_STEP_BY_OPTIMIZER;
		return 0;
	case STEP_RANGE:
		if (wish->name[strlen(wish->name) - 1] == '*')
			return option_fail(parse, "--step range:%s: --schedule needs the whole name of a range",
					   wish->name);
		schedule->by = GPT_STEP_BY_RANGE;
		schedule->name = gpt_schedule_hash(wish->name);
		return 0;
	case STEP_BACKWARD:
		schedule->by = GPT_STEP_BY_BACKWARD;
		return 0;
	default:
		return option_fail(
			parse,
			"--step py:%s: --schedule has to know of a step when it begins; that a Python function "
			"begins is known from all Python calls, or from stacks of launches, and neither is "
			"there in steps that are not recorded; --step profiler, optimizer, backward and "
			"range:NAME tell in time",
			wish->name);
	}
}

static int check_schedule_outputs(struct parse *parse)
{
	const struct options *options = parse->options;
	struct format format;

	if (options->schedule.repeat != 1 && options->format && !options_use_stdout(options))
		return option_fail(
			parse, "--format %s: --schedule makes a report for each cycle: repeat=1, or later from the log",
			options->format);
	for (size_t i = 0; options->schedule.repeat != 1 && i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (!format_path_is_per_cycle(path) && !format_path_is_folder(path) &&
		    (!format_by_path(path, &format) || format.writer))
			return option_fail(
				parse,
				"--output %s: --schedule makes a file for each cycle: %%c in its name is the "
				"number of the cycle; or repeat=1",
				path);
	}
	return 0;
}

static int check_schedule(struct parse *parse)
{
	const struct options *options = parse->options;

	if (!options->schedule.active) {
		for (size_t i = 0; options->subcommand == SUBCOMMAND_RECORD && i < options->outputs.list.count; i++)
			if (format_path_is_per_cycle(options->outputs.list.items[i]))
				return option_fail(parse, "--output %s: %%c is the number of a cycle of --schedule",
						   options->outputs.list.items[i]);
		return 0;
	}
	if (!options->command && !options->pids.list.count)
		return option_fail(parse,
				   "--schedule: counts the steps of a program: one is named with -p PID or started "
				   "with -- COMMAND");
	if (options->python_calls)
		return option_fail(parse, "--python-calls: costs the same in every step: it excludes --schedule");
	return find_step_by(parse) ? -EINVAL : check_schedule_outputs(parse);
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

/* It reads a log, or records: PyTorch's ops, too, which tell of data loading. */
static int why_check(struct parse *parse)
{
	struct options *options = parse->options;

	if (options_use_stdout(options))
		return option_fail(parse, "--output -: why writes its answer there");
	if (!options->log && !options->command && !options->pids.list.count)
		return option_fail(parse,
				   "why needs a log (gputrace why FILE.gpt), a process (-p PID) or a command (-- "
				   "COMMAND)");
	if (!options->log) {
		options->ops = options->agent != ATTACH_AGENT_OFF;
		return options_want_slice(options)
			       ? option_fail(parse,
					     "why: --from, --to, --steps and such choose a part of a log: gputrace "
					     "why FILE.gpt")
			       : 0;
	}
	if (options->command || options->pids.list.count)
		return option_fail(parse,
				   "why looks at %s or at what it records itself (-p PID, -- COMMAND): one of "
				   "the two",
				   options->log);
	if (options->duration_ns || options->outputs.list.count)
		return option_fail(parse, "--%s: is for what is recorded; why reads %s",
				   options->duration_ns ? "duration" : "output", options->log);
	return 0;
}

static int check_whole(struct parse *parse)
{
	const struct options *options = parse->options;
	enum subcommand subcommand = options->subcommand;

	if (subcommand == SUBCOMMAND_WHY && why_check(parse))
		return -EINVAL;
	if (subcommand_row_of(subcommand)->reads_log && !options->log && parse->options->lines.what) {
		/* the only word there is */
		parse->options->log = parse->options->lines.what;
		parse->options->lines.what = NULL;
	}
	if (subcommand_row_of(subcommand)->reads_log && subcommand != SUBCOMMAND_WHY && !options->log)
		return option_fail(parse, "%s needs a log: gputrace %s FILE.gpt", subcommand_name(subcommand),
				   subcommand_name(subcommand));
	if (subcommand == SUBCOMMAND_DIFF && !options->log_after)
		return option_fail(parse, "diff needs two logs: gputrace diff %s AFTER.gpt", options->log);
	if (subcommand == SUBCOMMAND_EXPORT && !options->outputs.list.count)
		return option_fail(parse, "export needs an output: gputrace export %s -o trace.json", options->log);
	if (options->command && options->pids.list.count)
		return option_fail(parse, "--pid and a command to start ('%s') exclude each other",
				   options->command[0]);
	if (options->command && !options->command[0][0])
		return option_fail(parse, "the command to start is empty");
	if (options->has_activity_sets && options->agent == ATTACH_AGENT_OFF)
		return option_fail(
			parse, "--trace and --kernels-only choose what the agent records: they exclude --agent off");
	if (subcommand == SUBCOMMAND_RECORD && (options->activity_sets >> GPT_AGENT_SET_NVTX & 1) && !options->command)
		return option_fail(parse,
				   "--trace nvtx: a program decides at its first range who gets them, so gputrace has "
				   "to start it: gputrace ... -- COMMAND");
	if (options->ops && options->agent == ATTACH_AGENT_OFF)
		return option_fail(parse, "--ops: only the agent sees PyTorch's ops: it excludes --agent off");
	if (options->cupti && options->agent == ATTACH_AGENT_OFF)
		return option_fail(parse, "--cupti: only the agent uses it: it excludes --agent off");
	if (options->cupti && subcommand == SUBCOMMAND_DOCTOR && !options->pids.list.count)
		return option_fail(parse, "--cupti: doctor looks at it for a process; one is named with -p PID");
	if (options->lists &&
	    (options->wants_tree || options->wants_lines || (options->ops && subcommand == SUBCOMMAND_REPORT)))
		return option_fail(
			parse,
			"--gpu-trace, --gpu-sum and --api-sum exclude --tree, --lines and --ops: each is instead "
			"of the report");
	if (table_options_check(parse) || tree_options_check(parse) || check_slice(parse) || check_schedule(parse))
		return -EINVAL;
	return check_outputs(parse);
}

int options_parse(int argc, char **argv, struct options *out, char *why, size_t why_size)
{
	const struct subcommand_row *named = argc > 1 ? subcommand_by_name(argv[1]) : NULL;
	struct parse parse = {.options = out, .why = why, .why_size = why_size};
	struct option longs[OPTION_ROWS_MAX];
	char shorts[2 * OPTION_ROWS_MAX + 3];
	bool recording = !named, may_start = recording || named->subcommand == SUBCOMMAND_WHY;
	int code, err = 0;

	*out = (struct options){.subcommand = named ? named->subcommand : SUBCOMMAND_RECORD,
				.buffer_bytes = DEFAULT_BUFFER,
				.activity_sets = SETS_DEFAULT,
				.tree = {.min_percent = TREE_MIN_PERCENT},
				.level = MSG_NORMAL};
	if (named) {
		argv++;
		argc--;
	}
	build_tables(recording, longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: start afresh, also with another order of words and options */
	while (!err && (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		err = code == 1 ? parse_word(&parse, optarg) : parse_option(&parse, code, argv);
		if (out->subcommand == SUBCOMMAND_HELP || out->subcommand == SUBCOMMAND_VERSION)
			return err;
	}
	for (; !err && optind < argc && !may_start; optind++)
		err = parse_word(&parse, argv[optind]);
	if (err)
		return err;
	if (may_start && optind < argc)
		out->command = argv + optind;
	else if (may_start && argc > 1 && !strcmp(argv[argc - 1], "--"))
		return option_fail(&parse, "a command is missing after --");
	return check_whole(&parse);
}

void options_free(struct options *options)
{
	array_free(&options->pids.list);
	array_free(&options->outputs.list);
	array_free(&options->logs.list);
	name_list_free(&options->slice.processes);
	step_value_free(&options->step);
}

bool options_want_slice(const struct options *options)
{
	const struct slice_options *slice = &options->slice;

	return slice->from.kind || slice->to.kind || slice->processes.list.count || slice->thread.tid ||
	       slice->has_gpu || options_want_steps(options);
}

bool options_want_steps(const struct options *options)
{
	return options->slice.steps.has_any || options->slice.cycle;
}

bool options_use_stdout(const struct options *options)
{
	for (size_t i = 0; i < options->outputs.list.count; i++)
		if (!strcmp(options->outputs.list.items[i], "-"))
			return true;
	return false;
}
