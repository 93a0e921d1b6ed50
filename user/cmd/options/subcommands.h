/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of subcommands, with names and help. Options are in option_rows.h, the calls in main.c. */
#ifndef GPUTRACE_SUBCOMMANDS_H
#define GPUTRACE_SUBCOMMANDS_H

#include "cmd/options/options.h"

struct subcommand_row {
	const char
		*name; /* the first word of the command line; NULL: none (tracing, and what --help and --version do) */
	enum subcommand subcommand;
	bool reads_log;	      /* its words are logs */
	const char *question; /* that it answers, for --help of tracing; NULL: it is not listed there */
	const char *summary;  /* NULL: it has no help of its own */
	const char *examples; /* whole lines */
	const char *synopsis; /* whole lines, without "gputrace " */
	const char *exit_status;
};

#define SUBCOMMAND_ROWS 14
extern const struct subcommand_row subcommand_rows[SUBCOMMAND_ROWS];

/* NULL: there is none of that name. */
const struct subcommand_row *subcommand_by_name(const char *name);
const struct subcommand_row *subcommand_row_of(enum subcommand subcommand);

/* Its name in messages. */
const char *subcommand_words(enum subcommand subcommand);

#endif
