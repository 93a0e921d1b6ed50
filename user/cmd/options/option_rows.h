/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of options: for each its names, its help, the subcommands that know it, and its parser. */
#pragma once

#include "cmd/options/option_parser.h"

struct option_row {
	const char *name;
	char letter;	     /* of the short form, 0: none */
	const char *value;   /* the value it takes, for messages; NULL: none */
	const char *metavar; /* the same for the help; if value is NULL: an optional value after '=', else parse gets
				NULL */
	const char *help;    /* lines of at most 80 columns; NULL: the usage names it elsewhere */
	unsigned where;	     /* subcommands that know it, enum subcommand */
	/* What the option does: one of these.  Offsets are those of members of struct options. */
	int (*parse)(struct parse *parse, const char *value);
	size_t flag;   /* a bool that it sets */
	size_t choice; /* an enumeration: the first word of metavar, as in "auto|bpf", is `first` */
	unsigned first;
	size_t only_with; /* a const char * that gets its name: it is refused without another option */
};

/*
 * Ended by a row without a name.  An option whose meaning depends on the subcommand has a row for each meaning.
 */
extern const struct option_row option_rows[];
#define OPTION_ROWS_MAX 112
