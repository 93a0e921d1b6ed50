/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of subcommands, with names and help. Options are in option_rows.h. */
#pragma once

#include "cmd/options/options.h"

enum subcommand_needs {
	NEEDS_NO_RIGHTS, /* neither of these */
	NEEDS_FILES, /* it only reads files: with the rights of the user who runs it, without gputrace's capabilities */
	NEEDS_PROCESSES,	  /* it looks at processes, for which rights help */
	NEEDS_FILES_OR_PROCESSES, /* files if a log is named, else processes */
};

struct subcommand_row {
	const char
		*name; /* the first word of the command line; NULL: none (tracing, and what --help and --version do) */
	enum subcommand subcommand;
	enum subcommand_needs needs;
	bool reads_log;	      /* its words are logs */
	const char *question; /* that it answers, for --help of tracing; NULL: it is not listed there */
	const char *summary;  /* NULL: it has no help of its own */
	const char *examples; /* whole lines */
	const char *synopsis; /* whole lines, without "gputrace " */
	const char *exit_status;
};

/* In the order of the help. */
extern const struct subcommand_row subcommand_rows[SUBCOMMAND_COUNT];

/* NULL: there is none of that name. */
const struct subcommand_row *subcommand_by_name(const char *name);
const struct subcommand_row *subcommand_row_of(enum subcommand subcommand);

/* Its name in messages. */
const char *subcommand_words(enum subcommand subcommand);

/* What the command line needs by its subcommand: never NEEDS_FILES_OR_PROCESSES. */
enum subcommand_needs subcommand_needs(const struct options *options);
