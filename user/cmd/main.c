/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the command line to a subcommand and its exit code. */
#include <locale.h>
#include <string.h>

#include "attach/inject/lend.h"
#include "cmd/options.h"
#include "cmd/subcommands.h"

int main(int argc, char **argv)
{
	struct options options;
	enum exit_code code;
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
	code = subcommand_row_of(options.subcommand)->run(&options);
	options_free(&options);
	return code;
}
