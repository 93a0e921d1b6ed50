/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* getopt_long behind two tables: the options with the subcommands they belong to, and their parsers. */
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/agent.h>

#include "attach/inject.h"
#include "cmd/format.h"

#define DEFAULT_BUFFER (64u << 20)
/* Not what CUPTI knows of waits: their calls are seen anyway, and HTA counts such rows as work of the GPU. */
#define TAKE_DEFAULT (1u << GPT_AGENT_TAKE_CUDA | 1u << GPT_AGENT_TAKE_MEMORY)

struct parse {
	struct options *options;
	char *why;
	size_t why_size;
	bool after_output; /* export: the last thing read was an output file */
};

static int fail(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct parse *parse, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(parse->why, parse->why_size, format, args);
	va_end(args);
	return -EINVAL;
}

static int parse_pid(struct parse *parse, const char *value)
{
	const char *bad;
	int length;

	if (value_pids(value, &parse->options->pids, &bad, &length) == 0)
		return 0;
	return fail(parse,
		    "--pid %s: '%.*s' is not a process id; one or more numbers are accepted, as in -p 41230,41231",
		    value, length, bad);
}

static int parse_duration(struct parse *parse, const char *value)
{
	switch (value_duration(value, &parse->options->duration_ns)) {
	case 0:
		return 0;
	case -EDOM:
		return fail(parse, "--duration %s: say which unit: %sms, %ss, %sm or %sh", value, value, value, value,
			    value);
	default:
		return fail(parse, "--duration %s: a time above 0 with its unit is accepted, as in 500ms, 10s, 2m, 1h",
			    value);
	}
}

static int parse_output(struct parse *parse, const char *value)
{
	struct options *options = parse->options;

	if (!strcmp(value, "-") && options_use_stdout(options))
		return fail(parse, "--output -: given twice; there is only one standard output");
	array_push(&options->outputs.list, value);
	parse->after_output = true;
	return 0;
}

static int parse_format(struct parse *parse, const char *value)
{
	struct format format;

	if (!format_by_name(value, &format))
		return fail(parse, "--format %s: not known; accepted are %s", value, format_names());
	parse->options->format = value;
	return 0;
}

/* The index of value in a NULL-terminated list, -1. */
static int choose(const char *value, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(value, names[i]))
			return i;
	return -1;
}

static int parse_metric(struct parse *parse, const char *value)
{
	static const char *const names[] = {
		[METRIC_DEFAULT] = "", [METRIC_GPU] = "gpu", [METRIC_LAUNCHES] = "launches", NULL};
	int chosen = choose(value, names);

	if (chosen <= METRIC_DEFAULT)
		return fail(parse, "--metric %s: accepted are gpu and launches", value);
	parse->options->metric = (enum metric)chosen;
	return 0;
}

static int parse_agent(struct parse *parse, const char *value)
{
	static const char *const names[] = {
		[ATTACH_AGENT_AUTO] = "auto", [ATTACH_AGENT_REQUIRE] = "require", [ATTACH_AGENT_OFF] = "off", NULL};
	int chosen = choose(value, names);

	if (chosen < 0)
		return fail(parse, "--agent %s: accepted are auto, require and off", value);
	parse->options->agent = (enum attach_agent)chosen;
	return 0;
}

static int parse_cupti(struct parse *parse, const char *value)
{
	if (*value != '/')
		return fail(parse, "--cupti %s: the whole path is needed, from / on, as the traced process sees it",
			    value);
	if (strlen(value) >= INJECT_PATH_MAX)
		return fail(parse, "--cupti %.40s...: a path of at most %u bytes is accepted", value,
			    INJECT_PATH_MAX - 1);
	parse->options->cupti = value;
	return 0;
}

static int parse_min_complete(struct parse *parse, const char *value)
{
	if (value_percent(value, &parse->options->min_complete))
		return fail(parse, "--min-complete %s: a whole percentage from 0 to 100 is accepted", value);
	parse->options->has_min_complete = true;
	return 0;
}

static int parse_buffer(struct parse *parse, const char *value)
{
	if (value_buffer(value, &parse->options->buffer_bytes))
		return fail(parse, "--buffer %s: a power of two from 64K to 1G is accepted, as in 64M", value);
	return 0;
}

static int parse_native(struct parse *parse, const char *value)
{
	parse->options->native = true;
	return 0;
}

static int parse_python_calls(struct parse *parse, const char *value)
{
	parse->options->python_calls = true;
	return 0;
}

static int take_by_name(const char *name, size_t length)
{
#define NAME(enumerator, name) [GPT_AGENT_TAKE_##enumerator] = #name,
	static const char *const names[] = {GPT_AGENT_TAKES(NAME)};
#undef NAME

	for (int i = 0; i < GPT_AGENT_TAKE_COUNT; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			return i;
	return -1;
}

static int parse_trace(struct parse *parse, const char *value)
{
#define NAME(enumerator, name) " " #name
	static const char names[] = GPT_AGENT_TAKES(NAME);
#undef NAME
	const char *at = value;

	if (parse->options->has_takes)
		return fail(parse, "--trace %s: what to trace was said before; --trace or --kernels-only, once", value);
	parse->options->has_takes = true;
	parse->options->takes = 0;
	for (;; at++) {
		size_t length = strcspn(at, ",");
		int take = take_by_name(at, length);

		if (take < 0)
			return fail(parse, "--trace %s: '%.*s' is not known; accepted, by commas, are%s", value,
				    (int)length, at, names);
		parse->options->takes |= 1u << take;
		at += length;
		if (!*at)
			return 0;
	}
}

static int parse_kernels_only(struct parse *parse, const char *value)
{
	if (parse->options->has_takes)
		return fail(parse, "--kernels-only: what to trace was said before; --trace or --kernels-only, once");
	parse->options->has_takes = true;
	parse->options->takes = 0;
	return 0;
}

static int parse_quiet(struct parse *parse, const char *value)
{
	parse->options->level = MSG_QUIET;
	return 0;
}

static int parse_verbose(struct parse *parse, const char *value)
{
	parse->options->level = MSG_VERBOSE;
	return 0;
}

static int parse_help(struct parse *parse, const char *value)
{
	parse->options->help_for = parse->options->subcommand;
	parse->options->subcommand = SUBCOMMAND_HELP;
	return 0;
}

static int parse_version(struct parse *parse, const char *value)
{
	parse->options->subcommand = SUBCOMMAND_VERSION;
	return 0;
}

#define RECORD SUBCOMMAND_RECORD
#define REPORT SUBCOMMAND_REPORT
#define EXPORT SUBCOMMAND_EXPORT
#define DOCTOR SUBCOMMAND_DOCTOR
#define LETTERS 256
#define ALL (RECORD | REPORT | EXPORT | DOCTOR)

static const struct option_row {
	const char *name;
	int code;	   /* the letter of the short form, above LETTERS when there is none */
	const char *value; /* what it takes, NULL: nothing */
	unsigned where;	   /* subcommands that know it */
	int (*parse)(struct parse *parse, const char *value);
} rows[] = {
	{"pid", 'p', "a process id", RECORD | DOCTOR, parse_pid},
	{"duration", 'd', "a time such as 10s", RECORD, parse_duration},
	{"output", 'o', "a file name", RECORD | EXPORT, parse_output},
	{"format", LETTERS + 0, "a format", RECORD | EXPORT, parse_format},
	{"metric", LETTERS + 1, "gpu or launches", RECORD | REPORT | EXPORT, parse_metric},
	{"agent", LETTERS + 2, "auto, require or off", RECORD, parse_agent},
	{"cupti", LETTERS + 13, "the path of a libcupti", RECORD | DOCTOR, parse_cupti},
	{"min-complete", LETTERS + 3, "a percentage", RECORD | REPORT | EXPORT, parse_min_complete},
	{"buffer", LETTERS + 4, "a size such as 64M", RECORD, parse_buffer},
	{"native", LETTERS + 5, NULL, RECORD, parse_native},
	{"python-calls", LETTERS + 10, NULL, RECORD, parse_python_calls},
	{"trace", LETTERS + 11, "a list such as cuda,sync", RECORD, parse_trace},
	{"kernels-only", LETTERS + 12, NULL, RECORD, parse_kernels_only},
	{"quiet", 'q', NULL, ALL, parse_quiet},
	{"verbose", 'v', NULL, ALL, parse_verbose},
	{"help", 'h', NULL, ALL, parse_help},
	{"version", 'V', NULL, ALL, parse_version},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct subcommand_row {
	const char *name;
	enum subcommand subcommand;
} subcommands[] = {
	{"report", SUBCOMMAND_REPORT},
	{"export", SUBCOMMAND_EXPORT},
	{"doctor", SUBCOMMAND_DOCTOR},
};

static const char *subcommand_name(enum subcommand subcommand)
{
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (subcommands[i].subcommand == subcommand)
			return subcommands[i].name;
	return "tracing";
}

static enum subcommand find_subcommand(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (!strcmp(argv[1], subcommands[i].name))
			return subcommands[i].subcommand;
	return SUBCOMMAND_RECORD;
}

static void build_tables(bool stop_at_word, struct option longs[ROWS + 1], char shorts[2 * ROWS + 3])
{
	/* "+" ends at COMMAND, "-" gives words as option 1; ":" tells a missing value from an unknown option. */
	char *at = shorts;

	*at++ = stop_at_word ? '+' : '-';
	*at++ = ':';
	for (size_t i = 0; i < ROWS; i++) {
		longs[i] = (struct option){rows[i].name, rows[i].value ? required_argument : no_argument, NULL,
					   rows[i].code};
		if (rows[i].code >= LETTERS)
			continue;
		*at++ = (char)rows[i].code;
		if (rows[i].value)
			*at++ = ':';
	}
	longs[ROWS] = (struct option){0};
	*at = 0;
}

static const struct option_row *row_of(int code)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

/* A word of report or export: the log; after `-o FILE` of export also one more output. */
static int parse_word(struct parse *parse, const char *word)
{
	struct options *options = parse->options;

	if (options->subcommand == SUBCOMMAND_DOCTOR)
		return fail(parse, "doctor takes no '%s'; a process is named with -p PID", word);
	if (!options->log) {
		options->log = word;
		return 0;
	}
	if (options->subcommand == SUBCOMMAND_EXPORT && parse->after_output)
		return parse_output(parse, word);
	return fail(parse, "%s takes one log, but got '%s' and '%s'", subcommand_name(options->subcommand),
		    options->log, word);
}

static int parse_option(struct parse *parse, int code, char **argv)
{
	const struct option_row *row = row_of(code);
	enum subcommand subcommand = parse->options->subcommand;

	if (code == ':') {
		row = row_of(optopt);
		return fail(parse, "--%s needs %s after it", row ? row->name : "?", row ? row->value : "a value");
	}
	if (code == '?' && row_of(optopt))
		return fail(parse, "--%s takes no value: '%s'", row_of(optopt)->name, argv[optind - 1]);
	if (code == '?' && optopt)
		return fail(parse, "unknown option '-%c'; gputrace --help lists them", optopt);
	if (!row)
		return fail(parse, "unknown option '%s'; gputrace --help lists them", argv[optind - 1]);
	if (!(row->where & subcommand))
		return fail(parse, "--%s does not apply to %s; gputrace --help says where it does", row->name,
			    subcommand_name(subcommand));
	parse->after_output = false;
	return row->parse(parse, optarg);
}

static int check_outputs(struct parse *parse)
{
	const struct options *options = parse->options;
	const char *why;

	for (size_t i = 0; i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (!strcmp(path, "-"))
			continue;
		why = format_check_path(path);
		if (why)
			return fail(parse, "--output %s: %s", path, why);
	}
	if (options_use_stdout(options) && !options->format)
		return fail(parse, "--output -: say what to write with --format; accepted are %s", format_names());
	if (options->format && !options_use_stdout(options))
		return fail(parse, "--format %s: only goes with --output -; of a file the suffix picks the format",
			    options->format);
	return 0;
}

static int check_whole(struct parse *parse)
{
	const struct options *options = parse->options;
	enum subcommand subcommand = options->subcommand;

	if ((subcommand == SUBCOMMAND_REPORT || subcommand == SUBCOMMAND_EXPORT) && !options->log)
		return fail(parse, "%s needs a log: gputrace %s FILE.gpt", subcommand_name(subcommand),
			    subcommand_name(subcommand));
	if (subcommand == SUBCOMMAND_EXPORT && !options->outputs.list.count)
		return fail(parse, "export needs an output: gputrace export %s -o trace.json", options->log);
	if (options->command && options->pids.list.count)
		return fail(parse, "--pid and a command to start ('%s') exclude each other", options->command[0]);
	if (options->command && !options->command[0][0])
		return fail(parse, "the command to start is empty");
	if (options->has_takes && options->agent == ATTACH_AGENT_OFF)
		return fail(parse,
			    "--trace and --kernels-only choose what the agent records: they exclude --agent off");
	if (subcommand == SUBCOMMAND_RECORD && (options->takes >> GPT_AGENT_TAKE_NVTX & 1) && !options->command)
		return fail(parse, "--trace nvtx: a program decides at its first range who gets them, so gputrace has "
				   "to start it: gputrace ... -- COMMAND");
	if (options->cupti && options->agent == ATTACH_AGENT_OFF)
		return fail(parse, "--cupti: only the agent uses it: it excludes --agent off");
	if (options->cupti && subcommand == SUBCOMMAND_DOCTOR && !options->pids.list.count)
		return fail(parse, "--cupti: doctor looks at it for a process; one is named with -p PID");
	return check_outputs(parse);
}

int options_parse(int argc, char **argv, struct options *out, char *why, size_t why_size)
{
	struct parse parse = {.options = out, .why = why, .why_size = why_size};
	struct option longs[ROWS + 1];
	char shorts[2 * ROWS + 3];
	bool recording;
	int code, err = 0;

	*out = (struct options){.subcommand = find_subcommand(argc, argv),
				.buffer_bytes = DEFAULT_BUFFER,
				.takes = TAKE_DEFAULT,
				.level = MSG_NORMAL};
	recording = out->subcommand == SUBCOMMAND_RECORD;
	if (!recording) {
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
	for (; !err && optind < argc && !recording; optind++)
		err = parse_word(&parse, argv[optind]);
	if (err)
		return err;
	if (recording && optind < argc)
		out->command = argv + optind;
	else if (recording && argc > 1 && !strcmp(argv[argc - 1], "--"))
		return fail(&parse, "a command is missing after --");
	return check_whole(&parse);
}

void options_free(struct options *options)
{
	array_free(&options->pids.list);
	array_free(&options->outputs.list);
}

bool options_use_stdout(const struct options *options)
{
	for (size_t i = 0; i < options->outputs.list.count; i++)
		if (!strcmp(options->outputs.list.items[i], "-"))
			return true;
	return false;
}
