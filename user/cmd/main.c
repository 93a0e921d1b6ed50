/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the command line to a subcommand and its exit code. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "attach/inject/lend.h"
#include "cmd/options/command_line.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/confine.h"
#include "cmd/first_process.h"
#include "cmd/last_trace.h"
#include "cmd/privileges.h"

/* Whether the subcommand only reads files: with the rights of the user who runs it, without gputrace's capabilities. */
static bool only_reads(const struct options *options)
{
	switch (options->subcommand) {
	case SUBCOMMAND_REPORT:
	case SUBCOMMAND_EXPORT:
	case SUBCOMMAND_DIFF:
	case SUBCOMMAND_MERGE:
	case SUBCOMMAND_VIEW:
		return true;
	case SUBCOMMAND_WHY:
		return options->log || options->reads_last;
	default:
		return false;
	}
}

/* Whether the subcommand looks at processes, for which rights help. */
static bool looks_at_processes(const struct options *options)
{
	return !only_reads(options) && options->subcommand != SUBCOMMAND_MCP &&
	       options->subcommand != SUBCOMMAND_HELP && options->subcommand != SUBCOMMAND_VERSION &&
	       options->subcommand != SUBCOMMAND_ENV;
}

static int run(const struct options *options)
{
	switch (options->subcommand) {
	case SUBCOMMAND_RECORD:
	case SUBCOMMAND_TOP:
		return record_command(options);
	case SUBCOMMAND_REPORT:
		return report_command(options);
	case SUBCOMMAND_EXPORT:
		return export_command(options);
	case SUBCOMMAND_DIFF:
		return diff_command(options);
	case SUBCOMMAND_MERGE:
		return merge_command(options);
	case SUBCOMMAND_WHY:
		return options->log ? (int)report_command(options) : record_command(options);
	case SUBCOMMAND_VIEW:
		return view_command(options);
	case SUBCOMMAND_DUMP:
		return dump_command(options);
	case SUBCOMMAND_DOCTOR:
		return doctor_command(options);
	case SUBCOMMAND_ENV:
		return env_command();
	case SUBCOMMAND_MCP:
		return mcp_command(options);
	case SUBCOMMAND_HELP:
		usage_print(stdout, options->help_for, options->help_all);
		return EXIT_GOOD;
	case SUBCOMMAND_VERSION:
		puts("gputrace " GPUTRACE_VERSION);
		return EXIT_GOOD;
	}
	return EXIT_FAILED; /* not reached */
}

int main(int argc, char **argv)
{
	struct options options;
	int code;
	char why[512];

	if (argc && !strcmp(argv[0], INJECT_LENDER))
		return inject_lend_main(argc, argv);
	command_keep_statuses();
	/* Text is measured as the terminal shows it; numbers stay in the C locale, on which every format depends. */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (options_parse(argc, argv, &options, why, sizeof(why))) {
		msg_error("%s", why);
		options_free(&options);
		return EXIT_USAGE;
	}
	if (looks_at_processes(&options))
		privileges_take_installed(argv);
	msg_set_level(options.level);
	if (only_reads(&options)) {
		privileges_drop();
		confine_reader(&options);
	}
	if (options.reads_last && last_trace_choose(&options)) {
		options_free(&options);
		return EXIT_USAGE;
	}
	if (options.command)
		first_process_split();
	code = run(&options);
	options_free(&options);
	return code;
}
