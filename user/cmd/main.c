/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the command line to a subcommand and its exit code. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "attach/inject.h"
#include "cmd/doctor.h"
#include "cmd/from_log.h"
#include "cmd/options.h"
#include "cmd/record.h"
#include "cmd/usage.h"

static enum exit_code print_help(const struct options *options)
{
	usage_print(stdout, options->help_for);
	return EXIT_GOOD;
}

static enum exit_code print_version(const struct options *options)
{
	puts("gputrace " GPUTRACE_VERSION);
	return EXIT_GOOD;
}

static const struct {
	enum subcommand subcommand;
	enum exit_code (*run)(const struct options *options);
} commands[] = {
	{SUBCOMMAND_RECORD, record_command}, {SUBCOMMAND_REPORT, report_command}, {SUBCOMMAND_EXPORT, export_command},
	{SUBCOMMAND_DOCTOR, doctor_command}, {SUBCOMMAND_HELP, print_help},	  {SUBCOMMAND_VERSION, print_version},
};

int main(int argc, char **argv)
{
	struct options options;
	enum exit_code code = EXIT_USAGE;
	char why[512];

	if (argc && !strcmp(argv[0], INJECT_LENDER))
		return inject_lend_main(argc, argv);
	/* Characters count as the terminal counts them; numbers stay in the C locale, which is part of every format. */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (options_parse(argc, argv, &options, why, sizeof(why))) {
		msg_error("%s", why);
		options_free(&options);
		return EXIT_USAGE;
	}
	msg_set_level(options.level);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].subcommand == options.subcommand)
			code = commands[i].run(&options);
	options_free(&options);
	return code;
}
