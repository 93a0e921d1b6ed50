/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints a shell's completion script for gputrace, made from the tables of subcommands and options:
 *     completion bash|zsh|fish
 * Words after "--" belong to another program and are completed as such.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/options/format.h"
#include "cmd/options/option_rows.h"
#include "cmd/options/subcommands.h"

#define TRACING "tracing" /* the scripts' name for a command line without a subcommand */

static const char *name_of(const struct subcommand_row *command)
{
	return command->name ? command->name : TRACING;
}

static const struct subcommand_row *next_command(const struct subcommand_row *last)
{
	for (const struct subcommand_row *row = last ? last + 1 : subcommand_rows;
	     row < subcommand_rows + SUBCOMMAND_COUNT; row++)
		if (row->summary)
			return row;
	return NULL;
}

/* The words "a", "b" of "a|b" or "a, b", each after `lead`. */
static void print_words(const char *list, const char *lead)
{
	while (*list) {
		size_t length = strcspn(list, "|, ");

		if (length)
			printf("%s%.*s", lead, (int)length, list);
		list += length + (list[length] != 0);
	}
}

/* The possible values of the option, as a list of words, each after `lead`. */
static void print_values(const struct option_row *row, const char *lead)
{
	if (row->parse == parse_format || row->parse == parse_report_format) {
		if (row->where != SUBCOMMAND_EXPORT)
			print_words("text, csv, json, md", lead);
		if (row->parse == parse_format)
			print_words(format_names(), lead);
	} else if (strchr(row->metavar, '|')) {
		print_words(row->metavar, lead);
	}
}

enum value_kind { VALUE_NONE, VALUE_OTHER, VALUE_WORDS, VALUE_FILE, VALUE_PID };

static enum value_kind value_kind(const struct option_row *row)
{
	if (!row->value)
		return VALUE_NONE;
	if (!strncmp(row->metavar, "PID", 3))
		return VALUE_PID;
	if (!strcmp(row->metavar, "FILE") || !strcmp(row->metavar, "PATH"))
		return VALUE_FILE;
	if (!strcmp(row->metavar, "FORMAT") || strchr(row->metavar, '|'))
		return VALUE_WORDS;
	return VALUE_OTHER;
}

/* The help's lines joined, with a backslash before each character of `special`, and for zsh ' as '\''. */
static void print_help(const char *help, const char *special)
{
	for (; *help; help++) {
		if (*help == '\'' && !strchr(special, '\''))
			fputs("'\\'", stdout);
		else if (strchr(special, *help))
			putchar('\\');
		putchar(*help == '\n' ? ' ' : *help);
	}
}

static void print_command_names(const char *between)
{
	const char *lead = "";

	for (const struct subcommand_row *command = NULL; (command = next_command(command));)
		if (command->name) {
			printf("%s%s", lead, command->name);
			lead = between;
		}
}

/* ---- bash ------------------------------------------------------------------------------------------------------ */

static void bash_options(const struct subcommand_row *command)
{
	printf("\t%s) options='", name_of(command));
	for (const struct option_row *row = option_rows; row->name; row++) {
		if (!(row->where & command->subcommand))
			continue;
		printf(" --%s", row->name);
		if (row->letter)
			printf(" -%c", row->letter);
	}
	puts("' ;;");
}

static void bash_value(const struct subcommand_row *command, const struct option_row *row)
{
	printf("\t%s:--%s", name_of(command), row->name);
	if (row->letter)
		printf(" | %s:-%c", name_of(command), row->letter);
	switch (value_kind(row)) {
	case VALUE_PID:
		fputs(") values=$(cd /proc && echo [1-9]*) ;;", stdout);
		break;
	case VALUE_WORDS:
		fputs(") values='", stdout);
		print_values(row, " ");
		fputs("' ;;", stdout);
		break;
	case VALUE_FILE:
		fputs(") files=yes ;;", stdout);
		break;
	default:
		fputs(") values=' ' ;;", stdout);
	}
	putchar('\n');
}

static void print_bash(void)
{
	puts("# Completion of gputrace for bash, made of its table of options.\n"
	     "_gputrace()\n{\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} command=" TRACING "\n"
	     "\tlocal i options values='' files=''\n"
	     "\tCOMPREPLY=()\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\t[[ ${COMP_WORDS[i]} == -- ]] || continue\n"
	     "\t\tif declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); return; fi\n"
	     "\t\tif ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- \"$word\")); fi\n"
	     "\t\tcompopt -o default 2>/dev/null\n"
	     "\t\treturn\n"
	     "\tdone\n"
	     "\t# --option=value comes as three words.\n"
	     "\tif [[ $word == = ]]; then word=''; elif [[ $last == = ]]; then last=${COMP_WORDS[COMP_CWORD - 2]}; fi");
	fputs("\tif ((COMP_CWORD > 1)); then case ${COMP_WORDS[1]} in ", stdout);
	print_command_names(" | ");
	puts(") command=${COMP_WORDS[1]} ;; esac; fi\n\tcase $command in");
	for (const struct subcommand_row *command = NULL; (command = next_command(command));)
		bash_options(command);
	puts("\tesac\n\tcase $command:$last in");
	for (const struct subcommand_row *command = NULL; (command = next_command(command));)
		for (const struct option_row *row = option_rows; row->name; row++)
			if ((row->where & command->subcommand) && row->value)
				bash_value(command, row);
	fputs("\tesac\n"
	      "\tif [[ -n $values ]]; then COMPREPLY=($(compgen -W \"$values\" -- \"$word\")); return; fi\n"
	      "\tif [[ -z $files && $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return; "
	      "fi\n"
	      "\tif [[ -z $files && $COMP_CWORD == 1 ]]; then COMPREPLY=($(compgen -W '",
	      stdout);
	print_command_names(" ");
	puts("' -- \"$word\")); return; fi\n"
	     "\tcompopt -o default 2>/dev/null\n"
	     "}\n"
	     "complete -F _gputrace gputrace");
}

/* ---- zsh ------------------------------------------------------------------------------------------------------- */

static void zsh_option(const struct option_row *row)
{
	if (row->letter)
		printf(" \\\n\t\t\t'*'{-%c,--%s%s}'[", row->letter, row->name, row->value ? "=" : "");
	else
		printf(" \\\n\t\t\t'*--%s%s[", row->name, row->value ? "=" : row->metavar ? "=-" : "");
	print_help(row->help, "[]:\\");
	putchar(']');
	switch (value_kind(row)) {
	case VALUE_PID:
		fputs(":process:_pids", stdout);
		break;
	case VALUE_WORDS:
		fputs(":value:(", stdout);
		print_values(row, " ");
		putchar(')');
		break;
	case VALUE_FILE:
		fputs(":file:_files", stdout);
		break;
	case VALUE_OTHER:
		fputs(":value: ", stdout);
		break;
	case VALUE_NONE:
		if (row->metavar)
			fputs("::value: ", stdout);
	}
	putchar('\'');
}

static void print_zsh(void)
{
	fputs("#compdef gputrace\n"
	      "# Completion of gputrace for zsh, made of its table of options.\n"
	      "_gputrace() {\n"
	      "\tlocal command=" TRACING " at=${words[(i)--]}\n"
	      "\tif (( at < CURRENT )); then\n"
	      "\t\tshift $at words; (( CURRENT -= at )); _normal; return\n"
	      "\tfi\n"
	      "\tif (( CURRENT > 2 )); then\n\t\tcase $words[2] in (",
	      stdout);
	print_command_names("|");
	puts(") command=$words[2]; shift words; (( CURRENT-- )) ;; esac\n\tfi\n\tcase $command in");
	for (const struct subcommand_row *command = NULL; (command = next_command(command));) {
		printf("\t(%s)\n\t\t_arguments -s -S", name_of(command));
		for (const struct option_row *row = option_rows; row->name; row++)
			if (row->where & command->subcommand)
				zsh_option(row);
		if (command->name) {
			puts(" \\\n\t\t\t'*:file:_files' ;;");
			continue;
		}
		fputs(" \\\n\t\t\t'1:subcommand:((", stdout);
		for (const struct subcommand_row *named = NULL; (named = next_command(named));)
			if (named->name) {
				printf(" %s\\:\"", named->name);
				print_help(named->summary, ":\\\"");
				putchar('"');
			}
		puts("))' ;;");
	}
	puts("\tesac\n}\n_gputrace \"$@\"");
}

/* ---- fish ------------------------------------------------------------------------------------------------------ */

static void fish_option(const struct subcommand_row *command, const struct option_row *row)
{
	printf("complete -c gputrace -n '__gputrace_in %s' -l %s", name_of(command), row->name);
	if (row->letter)
		printf(" -s %c", row->letter);
	switch (value_kind(row)) {
	case VALUE_PID:
		fputs(" -x -a '(__fish_complete_pids)'", stdout);
		break;
	case VALUE_WORDS:
		fputs(" -x -a '", stdout);
		print_values(row, " ");
		putchar('\'');
		break;
	case VALUE_FILE:
		fputs(" -r -F", stdout);
		break;
	case VALUE_OTHER:
		fputs(" -x", stdout);
		break;
	case VALUE_NONE:
		break;
	}
	fputs(" -d '", stdout);
	print_help(row->help, "'\\");
	puts("'");
}

static void print_fish(void)
{
	fputs("# Completion of gputrace for fish, made of its table of options.\n"
	      "function __gputrace_in\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tcontains -- -- $words; and return 1\n"
	      "\tset -l command " TRACING "\n"
	      "\tif set -q words[2]; and contains -- $words[2] ",
	      stdout);
	print_command_names(" ");
	puts("\n\t\tset command $words[2]\n"
	     "\tend\n"
	     "\ttest $command = $argv[1]\n"
	     "end\n"
	     "function __gputrace_command\n"
	     "\tset -l words (commandline -opc)\n"
	     "\tset -l at (contains -i -- -- $words); or return\n"
	     "\tcomplete -C (string join -- ' ' (string escape -- $words[(math $at + 1)..]) (commandline -ct))\n"
	     "end\n"
	     "complete -c gputrace -n 'contains -- -- (commandline -opc)' -x -a '(__gputrace_command)'\n"
	     "complete -c gputrace -n '__gputrace_in " TRACING "' -f");
	for (const struct subcommand_row *command = NULL; (command = next_command(command));) {
		if (command->name) {
			printf("complete -c gputrace -n '__gputrace_in " TRACING
			       "; and test (count (commandline -opc)) -eq 1' -a %s -d '",
			       command->name);
			print_help(command->summary, "'\\");
			puts("'");
		}
		for (const struct option_row *row = option_rows; row->name; row++)
			if (row->where & command->subcommand)
				fish_option(command, row);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

	for (size_t i = 0; argc == 2 && i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(argv[1], shells[i].name)) {
			shells[i].print();
			return 0;
		}
	fputs("usage: completion bash|zsh|fish\n", stderr);
	return 2;
}
