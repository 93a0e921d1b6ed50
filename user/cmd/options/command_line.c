/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses the command line with getopt_long and the tables of options and of subcommands. */
#include "cmd/options/command_line.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options/meant.h"
#include "cmd/options/option_rows.h"
#include "cmd/options/option_parser.h"
#include "cmd/options/subcommands.h"

/* Without `sync`, CUPTI's records of waits: their calls are seen anyway, and HTA counts such rows as GPU work. */
#define SETS_DEFAULT (1u << GPT_AGENT_SET_CUDA | 1u << GPT_AGENT_SET_MEMORY)

/* The option's code for getopt_long: its letter, or a number above all letters, the same for all rows of a name. */
static int code_of(const struct option_row *row)
{
	const struct option_row *first = option_rows;

	while (strcmp(first->name, row->name) != 0)
		first++;
	return row->letter ? row->letter : UCHAR_MAX + 1 + (int)(first - option_rows);
}

static void build_tables(bool stop_at_word, struct option long_options[OPTION_ROWS_MAX],
			 char short_options[2 * OPTION_ROWS_MAX + 3])
{
	/* "+" stops at COMMAND, "-" returns words as option 1; ":" tells a missing value from an unknown option. */
	char *at = short_options;

	*at++ = stop_at_word ? '+' : '-';
	*at++ = ':';
	for (const struct option_row *row = option_rows; row->name; row++) {
		*long_options++ = (struct option){row->name,
						  row->value	 ? required_argument
						  : row->metavar ? optional_argument
								 : no_argument,
						  NULL, code_of(row)};
		if (!row->letter)
			continue;
		*at++ = row->letter;
		if (row->value)
			*at++ = ':';
	}
	*long_options = (struct option){0};
	*at = 0;
}

/* The row for that subcommand, else a row for another one; NULL: no option has that code. */
static const struct option_row *row_of(int code, enum subcommand subcommand)
{
	const struct option_row *found = NULL;

	for (const struct option_row *row = option_rows; row->name; row++)
		if (code_of(row) == code && (!found || row->where & subcommand))
			found = row;
	return found;
}

/* A word of report or export: the log; after `-o FILE` of export also one more output. */
static int parse_word(struct parse *parse, const char *word)
{
	struct options *options = parse->options;
	bool takes_many;

	if (!subcommand_row_of(options->subcommand)->reads_log)
		return meant_instead_of_process(parse, word);
	if (take_lines_word(parse, word))
		return 0;
	if (options->subcommand == SUBCOMMAND_SERVE)
		return parse_serve_word(parse, word);
	takes_many = options->subcommand == SUBCOMMAND_MERGE || options->subcommand == SUBCOMMAND_DIFF;
	if (takes_many)
		array_push(&options->logs.list, word);
	if (!options->log) {
		options->log = word;
		return 0;
	}
	if (takes_many)
		return 0;
	if (options->subcommand == SUBCOMMAND_EXPORT && parse->after_output)
		return option_add_output(parse, word);
	if (meant_instead_of_file(parse, options->log, word))
		return -EINVAL;
	return option_fail(parse, "%s takes one log, but got '%s' and '%s'", subcommand_words(options->subcommand),
			   options->log, word);
}

/* "-duration" is read as -d with the value "uration", "-memory" as the letters of several options. */
static int refuse_long_name(struct parse *parse, int code, char **argv)
{
	const char *last = argv[optind - 1];

	if (code == '?' && optopt)
		return (argv[optind] && meant_instead_of_letters(parse, argv[optind])) ||
				       meant_instead_of_letters(parse, last)
			       ? -EINVAL
			       : 0;
	return optarg && optarg == last + 2 ? meant_instead_of_letters(parse, last) : 0;
}

/* Sets the member of an enumeration to the value's place in "auto|require|off". */
static int parse_choice(struct parse *parse, const struct option_row *row, const char *value)
{
	char names[64];
	unsigned chosen = row->first;
	const char * or = strstr(row->value, " or ");

	for (const char *word = row->metavar; *word; chosen++) {
		size_t length = strcspn(word, "|");

		if (strlen(value) == length && !strncmp(value, word, length)) {
			*(unsigned *)((char *)parse->options + row->choice) = chosen;
			return 0;
		}
		word += length + (word[length] != 0);
	}
	snprintf(names, sizeof(names), "%.*s and %s", (int)(or -row->value), row->value, or +strlen(" or "));
	return option_refuse(parse, row->name, value, names);
}

static int apply_row(struct parse *parse, const struct option_row *row, const char *value)
{
	char *options = (char *)parse->options;

	if (row->only_with)
		*(const char **)(options + row->only_with) = row->name;
	if (row->flag)
		*(bool *)(options + row->flag) = true;
	if (row->choice)
		return parse_choice(parse, row, value);
	return row->parse ? row->parse(parse, value) : 0;
}

static int parse_option(struct parse *parse, int code, char **argv)
{
	enum subcommand subcommand = parse->options->subcommand;
	bool fault = code == ':' || code == '?'; /* then optopt is the option */
	const struct option_row *row = row_of(fault ? optopt : code, subcommand);

	if (refuse_long_name(parse, code, argv))
		return -EINVAL;
	if (code == ':')
		return option_fail(parse, "--%s needs %s after it", row ? row->name : "?",
				   row ? row->value : "a value");
	if (code == '?' && row)
		return option_fail(parse, "--%s takes no value: '%s'", row->name, argv[optind - 1]);
	if (code == '?' && optopt)
		return meant_instead_of_option(parse, (const char[]){'-', (char)optopt, 0});
	if (!row)
		return meant_instead_of_option(parse, argv[optind - 1]);
	if (!(row->where & subcommand))
		return option_fail(parse, "--%s does not apply to %s; %s lists those that do", row->name,
				   subcommand_words(subcommand), meant_help_of(subcommand));
	parse->after_output = false;
	return apply_row(parse, row, optarg);
}

/* `gputrace help [SUBCOMMAND|all]` is the --help of it. */
static int parse_help_words(struct parse *parse, char **words)
{
	const struct subcommand_row *topic = *words ? subcommand_by_name(*words) : NULL;

	parse->options->subcommand = SUBCOMMAND_HELP;
	parse->options->help_for = topic ? topic->subcommand : SUBCOMMAND_RECORD;
	parse->options->help_all = *words && !strcmp(*words, "all");
	if (!*words || topic || parse->options->help_all || **words == '-')
		return 0;
	return meant_instead_of_topic(parse, *words);
}

/* Whether --help or --version was given: what follows is not read. */
static bool ends_parsing(const struct options *options)
{
	return options->subcommand == SUBCOMMAND_HELP || options->subcommand == SUBCOMMAND_VERSION;
}

/* Parses up to `--`, or to a COMMAND; returns 0 or -EINVAL.  optind is then what follows. */
static int parse_arguments(struct parse *parse, int argc, char **argv, bool stop_at_word)
{
	struct option long_options[OPTION_ROWS_MAX];
	char short_options[2 * OPTION_ROWS_MAX + 3];
	int code, err = 0;

	build_tables(stop_at_word, long_options, short_options);
	opterr = 0;
	optind = 0; /* glibc: start again, also with another order of words and options */
	while (!err && !ends_parsing(parse->options) &&
	       (code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
		err = code == 1 ? parse_word(parse, optarg) : parse_option(parse, code, argv);
	return err;
}

int options_parse(int argc, char **argv, struct options *out, char *why, size_t why_size)
{
	const struct subcommand_row *named = argc > 1 ? subcommand_by_name(argv[1]) : NULL;
	struct parse parse = {.options = out, .why = why, .why_size = why_size};
	bool recording = !named, may_start = recording || named->subcommand == SUBCOMMAND_WHY;
	int err;

	*out = (struct options){.subcommand = named ? named->subcommand : SUBCOMMAND_RECORD,
				.activity_sets = SETS_DEFAULT,
				.tree = {.min_percent = TREE_MIN_PERCENT},
				.keeps_log = true,
				.level = MSG_NORMAL};
	if (argc > 1 && !strcmp(argv[1], "help"))
		return parse_help_words(&parse, argv + 2);
	if (named) {
		argv++;
		argc--;
	}
	err = parse_arguments(&parse, argc, argv, recording);
	if (!err && out->subcommand == SUBCOMMAND_DIFF && optind > 1 && !strcmp(argv[optind - 1], "--")) {
		out->before = out->logs.list.count;
		argc -= optind - 1;
		argv += optind - 1;
		err = parse_arguments(&parse, argc, argv, false);
	}
	if (ends_parsing(out))
		return err;
	for (; !err && optind < argc && !may_start; optind++)
		err = parse_word(&parse, argv[optind]);
	if (err)
		return err;
	/* A word that is no subcommand is never run, so that a mistyped one starts no program of that name. */
	if (recording && optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return meant_instead_of_word(&parse, argv + optind);
	if (out->log && out->subcommand != SUBCOMMAND_SERVE && meant_instead_of_file(&parse, out->log, NULL))
		return -EINVAL;
	if (may_start && optind < argc)
		out->command = argv + optind;
	else if (may_start && argc > 1 && !strcmp(argv[argc - 1], "--"))
		return option_fail(&parse, "a command is missing after --");
	return option_rules_check(&parse);
}
