/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the command line to a subcommand and its exit code. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/inject/file_server.h"
#include "cmd/options/command_line.h"
#include "cmd/options/subcommands.h"
#include "cmd/record/command.h"
#include "cmd/commands.h"
#include "cmd/output/confine.h"
#include "cmd/record/first_process.h"
#include "cmd/output/last_trace.h"
#include "cmd/process/caller.h"
#include "cmd/process/privileges.h"

static enum exit_code help_command(const struct options *options)
{
	usage_print(stdout, options->help_for, options->help_all);
	return EXIT_GOOD;
}

static enum exit_code version_command(const struct options *options)
{
	puts("gputrace " GPUTRACE_VERSION);
	return EXIT_GOOD;
}

static int why_command(const struct options *options)
{
	return options->log ? (int)report_command(options) : record_command(options);
}

/* Names of users become numbers, which are what a log has. */
static int find_users(struct selection *selection)
{
	for (size_t i = 0; i < selection->values[SELECTION_USER].count; i++) {
		char **user = &selection->values[SELECTION_USER].items[i];
		uid_t uid;

		if (!(*user)[strspn(*user, "0123456789")])
			continue;
		if (user_database_uid(*user, &uid)) {
			msg_error("--user %s: no such user is known here; give the number, as in --user 1000", *user);
			return -1;
		}
		free(*user);
		*user = xasprintf("%u", uid);
	}
	return 0;
}

static int run_subcommand(const struct options *options)
{
#define SUBCOMMAND(name, command)                                                                                      \
	if (options->subcommand == SUBCOMMAND_##name)                                                                  \
		return command(options);
	SUBCOMMANDS(SUBCOMMAND)
#undef SUBCOMMAND
	return EXIT_FAILED; /* not reached */
}

int main(int argc, char **argv)
{
	struct options options;
	enum subcommand_needs needs;
	int code;
	char why[512];

	if (argc && !strcmp(argv[0], INJECT_FILE_SERVER))
		return inject_file_server_main(argc, argv);
	command_keep_statuses();
	/* Text is measured as the terminal shows it; numbers stay in the C locale, on which every format depends. */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (options_parse(argc, argv, &options, why, sizeof(why))) {
		msg_error("%s", why);
		options_free(&options);
		return EXIT_USAGE;
	}
	if (find_users(&options.targets) || find_users(&options.slice.selection)) {
		options_free(&options);
		return EXIT_USAGE;
	}
	needs = subcommand_needs(&options);
	if (needs == NEEDS_PROCESSES)
		privileges_take_installed(argv);
	msg_set_level(options.level);
	if (needs == NEEDS_FILES) {
		privileges_drop();
		confine_reader(&options);
	}
	if (options.reads_last && last_trace_choose(&options)) {
		options_free(&options);
		return EXIT_USAGE;
	}
	if (options.command)
		first_process_split();
	code = run_subcommand(&options);
	options_free(&options);
	return code;
}
