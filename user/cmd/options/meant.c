/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Knows the names of subcommands and options, and looks whether a word is a file. */
#include "cmd/options/meant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options/format.h"
#include "cmd/options/nearest.h"
#include "cmd/options/option_rows.h"
#include "cmd/options/subcommands.h"

static const char *const recording_words[] = {"record", "profile", "trace", "attach", "run", "start"};

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789,") == strlen(word);
}

static struct nearest nearest_subcommand(const char *word)
{
	struct nearest nearest = nearest_to(word);

	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
		if (subcommand_rows[i].name)
			nearest_offer(&nearest, subcommand_rows[i].name);
	return nearest;
}

static bool is_script(const char *program)
{
	size_t length = strlen(program);

	return length > 3 && !strcmp(program + length - 3, ".py");
}

/* "python3 " before a script that cannot be started by its name. */
static const char *interpreter_of(const char *program)
{
	return is_script(program) && !(strchr(program, '/') && !access(program, X_OK)) ? "python3 " : "";
}

/*
 * The program and its first argument, of a command line that begins where a subcommand stands.  Other tools name one
 * there (record, profile), and the program after it or after two dashes.
 */
static const char *command_of(char **argv)
{
	static char command[128];

	for (char **at = argv; *at; at++)
		if (!strcmp(*at, "--") && at[1])
			argv = at + 1;
	snprintf(command, sizeof(command), "%s%s%s%s%s", interpreter_of(argv[0]), argv[0], argv[1] ? " " : "",
		 argv[1] ? argv[1] : "", argv[1] && argv[2] ? " ..." : "");
	return command;
}

/* What other tools call recording; argv: what follows the word. */
static int fail_with_recording(struct parse *parse, const char *word, char **argv)
{
	static const char without[] = "gputrace records without a subcommand";

	if (!argv[0])
		return option_fail(parse, "'%s': %s: gputrace -p PID, or gputrace -- COMMAND", word, without);
	if (is_number(argv[0]))
		return option_fail(parse, "'%s': %s: gputrace -p %s", word, without, argv[0]);
	if (!strcmp(argv[0], "-p") && argv[1])
		return option_fail(parse, "'%s': %s: gputrace -p %s", word, without, argv[1]);
	return option_fail(parse, "'%s': %s: gputrace -- %s", word, without, command_of(argv));
}

static int fail_with_list(struct parse *parse, char **argv)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < SUBCOMMAND_COUNT && used < sizeof(names); i++)
		if (subcommand_rows[i].name)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 subcommand_rows[i].name);
	return option_fail(parse,
			   "there is no subcommand '%s' (there are %s); a program to start and trace goes after "
			   "two dashes: gputrace -- %s",
			   argv[0], names, command_of(argv));
}

int meant_instead_of_topic(struct parse *parse, const char *word)
{
	const struct nearest near = nearest_subcommand(word);

	if (*near.name)
		return option_fail(parse, "help %s: did you mean %s?", word, near.name);
	return option_fail(parse, "help %s: there is no such subcommand; gputrace help all lists all", word);
}

int meant_instead_of_word(struct parse *parse, char **argv)
{
	const char *word = argv[0];
	const struct subcommand_row *named = subcommand_by_name(word);
	const struct nearest near = nearest_subcommand(word);
	struct format format;

	if (!*word)
		return option_fail(parse, "the command to start is empty: gputrace -- COMMAND");
	if (!strcmp(word, "help"))
		return option_fail(parse,
				   "help comes first, or after a subcommand: gputrace help, gputrace why --help");
	if (named)
		return option_fail(parse, "%s: a subcommand comes first, its options after it: gputrace %s ...", word,
				   word);
	if (parse->options->pids.list.count)
		return option_fail(parse, "'%s' after --pid PID: several processes are one list, as in -p 41230,41231",
				   word);
	if (!strcmp(word, "version"))
		return option_fail(parse, "'version': gputrace --version");
	if (is_number(word))
		return option_fail(parse, "'%s': a process is named with -p: gputrace -p %s", word, word);
	for (size_t i = 0; i < sizeof(recording_words) / sizeof(recording_words[0]); i++)
		if (!strcmp(word, recording_words[i]))
			return fail_with_recording(parse, word, argv + 1);
	if (*near.name)
		return option_fail(parse,
				   "there is no subcommand '%s': did you mean %s? A program to start and trace "
				   "goes after two dashes: gputrace -- %s",
				   word, near.name, command_of(argv));
	if (format_by_path(word, &format) && !access(word, F_OK))
		return option_fail(parse, "'%s' is a file: gputrace report %s", word, word);
	return fail_with_list(parse, argv);
}

/* Fails if the name is the start of several options' names: no slip, but not enough. */
static int refuse_start(struct parse *parse, const char *name)
{
	char names[256] = "";
	size_t used = 0, count = 0;

	for (const struct option_row *row = option_rows; row->name && *name && used < sizeof(names); row++) {
		bool is_again = false;

		for (const struct option_row *before = option_rows; before < row; before++)
			is_again |= !strcmp(before->name, row->name);
		if (is_again || strncmp(row->name, name, strlen(name)) != 0)
			continue;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s--%s", used ? ", " : "", row->name);
		count++;
	}
	return count > 1 ? option_fail(parse, "--%s: is the start of %s: name one of them whole", name, names) : 0;
}

/* A subcommand's own options first: what it does not know is no help. */
static struct nearest nearest_option(const char *name, enum subcommand subcommand)
{
	struct nearest nearest = nearest_to(name);

	for (const struct option_row *row = option_rows; row->name; row++)
		if (row->where & subcommand)
			nearest_offer(&nearest, row->name);
	for (const struct option_row *row = option_rows; row->name && !*nearest.name; row++)
		nearest_offer(&nearest, row->name);
	return nearest;
}

const char *meant_help_of(enum subcommand subcommand)
{
	static char command[64];
	const struct subcommand_row *row = subcommand_row_of(subcommand);

	if (!row->name)
		return "gputrace --help-all";
	snprintf(command, sizeof(command), "gputrace %s --help", row->name);
	return command;
}

int meant_instead_of_option(struct parse *parse, const char *option)
{
	enum subcommand subcommand = parse->options->subcommand;
	size_t length = strcspn(option, "=");
	char name[NEAREST_NAME_MAX + 1];
	struct nearest near;

	if (strncmp(option, "--", 2) != 0 || length - 2 > NEAREST_NAME_MAX)
		return option_fail(parse, "unknown option '%s'; %s lists them", option, meant_help_of(subcommand));
	snprintf(name, sizeof(name), "%.*s", (int)(length - 2), option + 2);
	if (refuse_start(parse, name))
		return -EINVAL;
	near = nearest_option(name, subcommand);
	if (*near.name)
		return option_fail(parse, "unknown option --%s: did you mean --%s? %s lists all", name, near.name,
				   meant_help_of(subcommand));
	return option_fail(parse, "unknown option '%s'; %s lists them", option, meant_help_of(subcommand));
}

int meant_instead_of_letters(struct parse *parse, const char *word)
{
	enum subcommand subcommand = parse->options->subcommand;

	for (const struct option_row *row = option_rows; row->name && word[0] == '-' && word[1] != '-'; row++)
		if ((row->where & subcommand) && word[1] && word[2] && !strcmp(row->name, word + 1))
			return option_fail(parse, "%s: a long option has two dashes: --%s", word, row->name);
	return 0;
}

int meant_instead_of_process(struct parse *parse, const char *word)
{
	const char *name = subcommand_words(parse->options->subcommand);

	return option_fail(parse, "%s takes no '%s'; a process is named with -p: gputrace %s -p %s", name, word, name,
			   is_number(word) ? word : "PID");
}

int meant_instead_of_file(struct parse *parse, const char *first, const char *second)
{
	const char *name = subcommand_words(parse->options->subcommand);
	bool records = parse->options->subcommand == SUBCOMMAND_WHY;
	struct format format;

	if (records && is_script(first))
		return option_fail(
			parse, "why: '%s' is a program; one to start goes after two dashes: gputrace why -- %s%s%s%s",
			first, interpreter_of(first), first, second ? " " : "", second ? second : "");
	if (!strcmp(first, "-") || !access(first, F_OK)) /* "-" is standard input */
		return 0;
	if (is_number(first) && records)
		return option_fail(parse, "why: there is no file '%s'; a process is named with -p: gputrace why -p %s",
				   first, first);
	if (is_number(first))
		return option_fail(parse, "%s reads files, and '%s' is none; a process is traced by gputrace -p %s",
				   name, first, first);
	if (records && (second || !format_by_path(first, &format)))
		return option_fail(parse,
				   "why: there is no file '%s'; a program to start goes after two dashes: "
				   "gputrace why -- %s%s%s",
				   first, first, second ? " " : "", second ? second : "");
	return 0;
}
