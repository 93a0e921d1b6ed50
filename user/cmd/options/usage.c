/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the help, mostly examples, from the tables of subcommands and options; docs/gputrace.1 has the rest. */
#include "cmd/options/command_line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options/option_rows.h"
#include "cmd/options/subcommands.h"

#define HELP_COLUMN 29 /* where the text of an option begins */

/* Prints the lines of the text, the first one after `first`, the others after `rest`. */
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

#define METAVAR_MAX 30 /* columns: a longer one has a short name on the first page */

#define READS_LOG (SUBCOMMAND_REPORT | SUBCOMMAND_EXPORT | SUBCOMMAND_DIFF | SUBCOMMAND_WHY | SUBCOMMAND_VIEW)
#define EVERY (~0u)

/* The order of the options in the help: each is under the first heading that lists it for its subcommand. */
static const struct heading {
	const char *title; /* NULL: continues the heading before */
	unsigned where;	   /* subcommands, enum subcommand */
	const char *options[24];
} headings[] = {
	{"What most people need",
	 SUBCOMMAND_RECORD,
	 {"pid", "duration", "output", "trace", "ops", "memory", "schedule", "tree", "lines", "help"}},
	{"What to trace",
	 SUBCOMMAND_RECORD | SUBCOMMAND_WHY | SUBCOMMAND_DOCTOR | SUBCOMMAND_DUMP | SUBCOMMAND_TOP | SUBCOMMAND_SERVE,
	 {"pid", "all", "locals", "nccl-ras", "when", "keep", "duration", "start-at", "as-root", "way", "agent",
	  "cupti"}},
	{"What to record",
	 SUBCOMMAND_RECORD,
	 {"cpu",
	  "frequency",
	  "no-cpu",
	  "off-cpu",
	  "no-off-cpu",
	  "no-gpu-counters",
	  "kernels-only",
	  "native",
	  "python-calls",
	  "shapes",
	  "forward-lines",
	  "memory-lines",
	  "step",
	  "capture-range",
	  "capture-range-end",
	  "flight-recorder",
	  "trigger",
	  "rotate",
	  "prove-cost",
	  "label"}},
	{"What to record",
	 SUBCOMMAND_WHY | SUBCOMMAND_TOP | SUBCOMMAND_SERVE,
	 {"ops",
	  "memory",
	  "cpu",
	  "frequency",
	  "no-cpu",
	  "off-cpu",
	  "no-off-cpu",
	  "no-gpu-counters",
	  "trace",
	  "kernels-only",
	  "native",
	  "python-calls",
	  "shapes",
	  "forward-lines",
	  "memory-lines",
	  "schedule",
	  "capture-range",
	  "capture-range-end",
	  "flight-recorder",
	  "trigger",
	  "label"}},
	{NULL,
	 SUBCOMMAND_RECORD | SUBCOMMAND_WHY | SUBCOMMAND_TOP | SUBCOMMAND_SERVE,
	 {"buffer", "cost-limit", "memory-limit"}},
	{"Which part of the trace", READS_LOG, {"from", "to", "process", "thread", "gpu", "steps", "step", "cycle"}},
	{"Report",
	 EVERY & ~SUBCOMMAND_EXPORT,
	 {"tree", "by", "show-all", "layers", "min-percent", "depth", "lines", "gpu-trace", "gpu-sum", "api-sum", "all",
	  "backward", "graphs", "comm-kernel", "unaligned", "fail-above", "min-complete"}},
	{"Table of ops", SUBCOMMAND_REPORT, {"ops", "sort", "rows", "top-level", "group-by-shape", "group-by-stack"}},
	{"Output",
	 EVERY,
	 {"output", "no-keep", "format", "table", "metric", "folded-by", "backward", "graphs", "max-size",
	  "min-complete", "port", "socket", "interval", "sums-limit", "profiles"}},
	{"Other", EVERY, {"quiet", "verbose", "help", "help-all", "version"}},
};
#define HEADINGS (sizeof(headings) / sizeof(headings[0]))

static bool lists_option(const struct heading *heading, const struct option_row *row, unsigned subcommand)
{
	if (!(heading->where & subcommand))
		return false;
	for (size_t i = 0; i < sizeof(heading->options) / sizeof(heading->options[0]) && heading->options[i]; i++)
		if (!strcmp(heading->options[i], row->name))
			return true;
	return false;
}

static const struct heading *heading_of(const struct option_row *row, unsigned subcommand)
{
	return value_of_first(HEADINGS, i, lists_option(&headings[i], row, subcommand), &headings[i],
			      &headings[HEADINGS - 1]);
}

static void print_options(FILE *out, unsigned subcommand)
{
	const char *title = NULL, *printed = NULL;

	for (size_t i = 0; i < HEADINGS; i++) {
		title = headings[i].title ? headings[i].title : title;
		for (const struct option_row *row = option_rows; row->name; row++) {
			if (!(row->where & subcommand) || heading_of(row, subcommand) != &headings[i])
				continue;
			if (printed != title)
				fprintf(out, "\n%s:\n", title);
			printed = title;
			print_option(out, row);
		}
	}
}

/* ---- the first page ---------------------------------------------------------------------------------------------- */

/* What --help of tracing says of the options that most people need, in a line or two of at most 80 columns. */
static const struct brief {
	const char *option, *help;
} briefs[] = {
	{"pid", "these processes and their children (default: the whole machine)"},
	{"duration", "10 (seconds), 500ms, 2m (default: until Ctrl-C or the program's end)"},
	{"output", ".json, .pftrace, .html (timelines), .svg, .folded (flame graphs), .gpt (log),\n"
		   ".prof, .pb.gz, .sqlite, .arrow ...; - is standard output; repeatable"},
	{"ops", "PyTorch's ops, and which op each launch belongs to"},
	{"memory", "--ops, and who held PyTorch's memory at its peak"},
	{"tree", "instead of the report a tree of calls: Python, ops, kernels"},
	{"lines", "instead of the report the source, with what each line costs"},
	{"trace", "what to record besides kernels: cuda, sync, memory, nvtx"},
	{"schedule", "some steps only, as torch.profiler: wait=N,warmup=N,active=N,repeat=N"},
	{"help-all", "every option"},
};

static const struct option_row *row_for(const char *name, unsigned subcommand)
{
	const struct option_row *row = option_rows;

	while (row->name && (strcmp(row->name, name) != 0 || !(row->where & subcommand)))
		row++;
	return row;
}

static void print_briefs(FILE *out)
{
	fputs("\nWhat most people need:\n", out);
	for (size_t i = 0; i < sizeof(briefs) / sizeof(briefs[0]); i++) {
		struct option_row row = *row_for(briefs[i].option, SUBCOMMAND_RECORD);

		row.help = briefs[i].help;
		if (row.metavar && strlen(row.metavar) > METAVAR_MAX)
			row.metavar = "STEPS";
		print_option(out, &row);
	}
}

static void print_first_page(FILE *out)
{
	const struct subcommand_row *tracing = subcommand_row_of(SUBCOMMAND_RECORD);

	fprintf(out, "gputrace: %s\n\n", tracing->summary);
	print_lines(out, tracing->examples, "  ", "  ");
	print_lines(out, tracing->synopsis, "\nUsage: gputrace ", "       gputrace ");
	fputs("       gputrace SUBCOMMAND [OPTIONS] ...\n\nWhat do you want to know?\n", out);
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
		if (subcommand_rows[i].question)
			fprintf(out, "  %-8s %s\n", subcommand_rows[i].name, subcommand_rows[i].question);
	print_briefs(out);
	fputs("\nMore: gputrace SUBCOMMAND --help, gputrace --help-all, man gputrace\n", out);
}

/* ---------------------------------------------------------------------------------------------------------------- */

void usage_print(FILE *out, enum subcommand subcommand, bool all)
{
	const struct subcommand_row *command = subcommand_row_of(subcommand);

	if (!command->name && !all) {
		print_first_page(out);
		return;
	}
	fprintf(out, "gputrace%s%s: %s\n\n", command->name ? " " : "", command->name ? command->name : "",
		command->summary);
	print_lines(out, command->examples, "  ", "  ");
	fputc('\n', out);
	print_lines(out, command->synopsis, "Usage: gputrace ", "       gputrace ");
	for (size_t i = 0; !command->name && i < SUBCOMMAND_COUNT; i++)
		if (subcommand_rows[i].name)
			print_lines(out, subcommand_rows[i].synopsis, "       gputrace ", "       gputrace ");
	print_options(out, subcommand);
	fprintf(out, "\nExit status: %s\n", command->exit_status);
}
