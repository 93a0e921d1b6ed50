/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parsers of options share, each of which is named in a row of option_rows.c. */
#ifndef GPUTRACE_OPTION_PARSER_H
#define GPUTRACE_OPTION_PARSER_H

#include "cmd/options/options.h"

/* What a parser works on. */
struct parse {
	struct options *options;
	char *why;
	size_t why_size;
	bool after_output; /* export: the last thing read was an output file */
};

/* Puts the one line that is said into parse->why; returns -EINVAL. */
int option_fail(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The index of value in a NULL-terminated list, -1. */
int option_choose(const char *value, const char *const *names);

#endif
