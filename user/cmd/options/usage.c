/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Help, mostly by examples, made of the tables of subcommands and options; docs/gputrace.1 says the rest. */
#include "cmd/options/command_line.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options/option_rows.h"
#include "cmd/options/subcommands.h"

#define HELP_COLUMN 29 /* where the words about an option begin */

/* Each line of the text after `first`, then after `rest`. */
static void print_lines(FILE *out, const char *text, const char *first, const char *rest)
{
	for (const char *lead = first; *text; lead = rest) {
		size_t length = strcspn(text, "\n");

		fprintf(out, "%s%.*s\n", lead, (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static void print_option(FILE *out, const struct option_row *row)
{
	char names[80], indent[HELP_COLUMN + 1];
	int length;

	length = row->letter ? snprintf(names, sizeof(names), "  -%c, --%s", row->letter, row->name)
			     : snprintf(names, sizeof(names), "      --%s", row->name);
	if (row->metavar)
		length += snprintf(names + length, sizeof(names) - (size_t)length, " %s", row->metavar);
	snprintf(indent, sizeof(indent), "%*s", HELP_COLUMN, "");
	if (length < HELP_COLUMN) {
		fprintf(out, "%-*s", HELP_COLUMN, names);
		print_lines(out, row->help, "", indent);
	} else {
		fprintf(out, "%s\n", names);
		print_lines(out, row->help, indent, indent);
	}
}

void usage_print(FILE *out, enum subcommand subcommand)
{
	const struct subcommand_row *command = subcommand_row_of(subcommand);

	fprintf(out, "gputrace%s%s: %s\n\n", command->name ? " " : "", command->name ? command->name : "",
		command->summary);
	print_lines(out, command->examples, "  ", "  ");
	fputc('\n', out);
	print_lines(out, command->synopsis, "Usage: gputrace ", "       gputrace ");
	for (size_t i = 0; !command->name && i < SUBCOMMAND_ROWS; i++)
		if (subcommand_rows[i].name)
			print_lines(out, subcommand_rows[i].synopsis, "       gputrace ", "       gputrace ");
	fputc('\n', out);
	for (const struct option_row *row = option_rows; row->name; row++)
		if (row->where & subcommand)
			print_option(out, row);
	fprintf(out, "\nExit status: %s\n", command->exit_status);
}
