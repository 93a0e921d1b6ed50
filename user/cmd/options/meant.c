/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Knows the names of subcommands and options, and looks whether a word is a file. */
#include "cmd/options/meant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options/format.h"
#include "cmd/options/option_rows.h"
#include "cmd/options/subcommands.h"

#define NAME_MAX_LENGTH 32u /* no name of a subcommand or an option is longer */
#define NEAR 2u		    /* the most letters that are missing, wrong, too many or swapped */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters have to be put in, left out, replaced or swapped with the next one to make `name` of `word`. */
static unsigned edits(const char *word, const char *name)
{
	unsigned rows[NAME_MAX_LENGTH + 1][NAME_MAX_LENGTH + 1];
	size_t w = strlen(word), n = strlen(name);

	if (w > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH)
		return NAME_MAX_LENGTH;
	for (size_t i = 0; i <= w; i++) {
		for (size_t j = 0; j <= n; j++) {
			if (!i || !j) {
				rows[i][j] = (unsigned)(i + j);
				continue;
			}
			rows[i][j] = least(least(rows[i - 1][j], rows[i][j - 1]) + 1,
					   rows[i - 1][j - 1] + (word[i - 1] != name[j - 1]));
			if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
				rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[w][n];
}

/* Whether the name is near, and nearer than *distance, which it then sets. More than half a word is no slip. */
static bool is_nearer(const char *word, const char *name, unsigned *distance)
{
	unsigned found = edits(word, name);

	if (found > NEAR || found >= *distance || 2 * found >= strlen(word))
		return false;
	*distance = found;
	return true;
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789,") == strlen(word);
}

static const char *near_subcommand(const char *word)
{
	unsigned distance = NAME_MAX_LENGTH;
	const char *found = NULL;

	for (size_t i = 0; i < SUBCOMMAND_ROWS; i++)
		if (subcommand_rows[i].name && is_nearer(word, subcommand_rows[i].name, &distance))
			found = subcommand_rows[i].name;
	return found;
}

static int fail_with_list(struct parse *parse, const char *word)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < SUBCOMMAND_ROWS && used < sizeof(names); i++)
		if (subcommand_rows[i].name)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 subcommand_rows[i].name);
	return option_fail(parse,
			   "there is no subcommand '%s' (there are %s); a program to start and trace goes after "
			   "two dashes: gputrace -- %s",
			   word, names, word);
}

int meant_instead_of_word(struct parse *parse, char **argv)
{
	const char *word = argv[0], *near = near_subcommand(word);
	const struct subcommand_row *named = subcommand_by_name(word);
	struct format format;

	if (!*word)
		return option_fail(parse, "the command to start is empty: gputrace -- COMMAND");
	if (named)
		return option_fail(parse, "%s: a subcommand comes first, its options after it: gputrace %s ...", word,
				   word);
	if (parse->options->pids.list.count)
		return option_fail(parse, "'%s' after --pid PID: several processes are one list, as in -p 41230,41231",
				   word);
	if (!strcmp(word, "help"))
		return option_fail(parse, "'help': gputrace --help, or gputrace SUBCOMMAND --help");
	if (!strcmp(word, "version"))
		return option_fail(parse, "'version': gputrace --version");
	if (is_number(word))
		return option_fail(parse, "'%s': a process is named with -p: gputrace -p %s", word, word);
	if (near)
		return option_fail(parse,
				   "there is no subcommand '%s'; was '%s' meant? A program to start and trace "
				   "goes after two dashes: gputrace -- %s",
				   word, near, word);
	if (format_by_path(word, &format) && !access(word, F_OK))
		return option_fail(parse, "'%s' is a file: gputrace report %s", word, word);
	return fail_with_list(parse, word);
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

int meant_instead_of_option(struct parse *parse, const char *option)
{
	size_t length = strcspn(option, "=");
	unsigned distance = NAME_MAX_LENGTH;
	const char *found = NULL;
	char name[NAME_MAX_LENGTH + 1];

	if (strncmp(option, "--", 2) != 0 || length - 2 > NAME_MAX_LENGTH)
		return option_fail(parse, "unknown option '%s'; gputrace --help lists them", option);
	snprintf(name, sizeof(name), "%.*s", (int)(length - 2), option + 2);
	if (refuse_start(parse, name))
		return -EINVAL;
	for (const struct option_row *row = option_rows; row->name; row++)
		if (is_nearer(name, row->name, &distance))
			found = row->name;
	if (found)
		return option_fail(parse, "unknown option '--%s'; was --%s meant? gputrace --help lists all", name,
				   found);
	return option_fail(parse, "unknown option '%s'; gputrace --help lists them", option);
}

int meant_instead_of_file(struct parse *parse, const char *first, const char *second)
{
	const char *name = subcommand_words(parse->options->subcommand);
	bool records = parse->options->subcommand == SUBCOMMAND_WHY;
	struct format format;

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
