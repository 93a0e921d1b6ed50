/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints the man page of a subcommand: its description and options from docs/gputrace.1, with synopsis, examples and
 * exit status from the table of subcommands:
 *     man_page SUBCOMMAND <docs/gputrace.1
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options/option_rows.h"
#include "cmd/options/subcommands.h"

#define LINE_MAX_BYTES 4096

/* Prints text escaped for troff: dashes can be copied, and no line begins with a request. */
static void print_text(const char *text)
{
	bool starts_line = true;

	for (; *text; text++) {
		if (starts_line && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
		starts_line = *text == '\n';
	}
}

/* The long name of a heading such as `.BR \-d ", " \-\-duration " \fITIME\fR"`; false: it names no option. */
static bool option_in(const char *heading, char *name, size_t size)
{
	const char *at = strstr(heading, "\\-\\-");
	size_t length = 0;

	if (!at)
		return false;
	for (at += 4; (isalnum((unsigned char)*at) || *at == '-' || *at == '\\') && length + 1 < size; at++)
		if (*at != '\\')
			name[length++] = *at;
	name[length] = 0;
	return length > 0;
}

static bool has_option(const char *heading, unsigned subcommand)
{
	char name[64];

	if (!option_in(heading, name, sizeof(name)))
		return false;
	for (const struct option_row *row = option_rows; row->name; row++)
		if (!strcmp(row->name, name) && (row->where & subcommand))
			return true;
	return false;
}

static bool is_command(const char *heading, const char *name)
{
	return !strncmp(heading, ".B ", 3) && !strncmp(heading + 3, name, strlen(name)) &&
	       heading[3 + strlen(name)] == '\n';
}

/*
 * Copies entries (.TP, a heading, text) of a section: the entries of the subcommand's options, or, without its heading,
 * the entry of the subcommand itself.
 */
static bool copy_entries(FILE *page, const char *section, const struct subcommand_row *command, bool options)
{
	char line[LINE_MAX_BYTES];
	bool inside = false, heading = false, wanted = false, copied = false;

	rewind(page);
	while (fgets(line, sizeof(line), page)) {
		if (!strncmp(line, ".SH ", 4)) {
			inside = !strncmp(line + 4, section, strlen(section));
			wanted = false;
		} else if (inside && !strcmp(line, ".TP\n")) {
			heading = true;
		} else if (inside && heading) {
			heading = false;
			wanted = options ? has_option(line, command->subcommand) : is_command(line, command->name);
			if (wanted && options)
				printf(".TP\n%s", line);
			copied |= wanted;
		} else if (wanted) {
			fputs(line, stdout);
		}
	}
	return copied;
}

static void print_synopsis(const struct subcommand_row *command)
{
	for (const char *line = command->synopsis; *line;) {
		char text[LINE_MAX_BYTES];
		size_t length = strcspn(line, "\n");

		snprintf(text, sizeof(text), "gputrace %.*s\n", (int)length, line);
		print_text(text);
		line += length + (line[length] == '\n');
	}
}

static int print_page(FILE *page, const struct subcommand_row *command)
{
	bool complete;

	fputs(".\\\" SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"
	      ".\\\" Made of docs/gputrace.1 and gputrace's tables.\n.TH GPUTRACE\\-",
	      stdout);
	for (const char *letter = command->name; *letter; letter++)
		putchar(toupper((unsigned char)*letter));
	printf(" 1 \"\" \"gputrace\" \"User commands\"\n.SH NAME\ngputrace\\-%s \\- ", command->name);
	print_text(command->summary);
	puts("\n.SH SYNOPSIS\n.nf");
	print_synopsis(command);
	puts(".fi\n.SH DESCRIPTION");
	complete = copy_entries(page, "SUBCOMMANDS", command, false);
	puts(".SH OPTIONS");
	complete &= copy_entries(page, "OPTIONS", command, true);
	puts(".SH EXIT STATUS");
	print_text(command->exit_status);
	puts("\n.SH EXAMPLES\n.nf");
	print_text(command->examples);
	puts(".fi\n.SH SEE ALSO\n.BR gputrace (1),\nwhich has the sections that are named here and are not on this "
	     "page");
	return complete ? 0 : 1;
}

int main(int argc, char **argv)
{
	const struct subcommand_row *command = argc == 2 ? subcommand_by_name(argv[1]) : NULL;

	if (!command || !command->summary) {
		fputs("usage: man_page SUBCOMMAND <gputrace.1\n", stderr);
		return 2;
	}
	if (print_page(stdin, command)) {
		fprintf(stderr, "man_page: gputrace.1 has no entry of %s, or of its options\n", command->name);
		return 1;
	}
	return 0;
}
