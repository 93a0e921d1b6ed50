/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line, checked. Everything wrong with it is found here, before anything is touched. */
#pragma once

#include <stdio.h>

#include "cmd/options/options.h"

/*
 * Fills *out from main's arguments.  -EINVAL: why[] has one line that names the option, its value and what is
 * accepted.  Free with options_free in any case; strings stay argv's.
 */
int options_parse(int argc, char **argv, struct options *out, char *why, size_t why_size);

/* The text of --help; with `all`, of tracing, that of --help-all. */
void usage_print(FILE *out, enum subcommand subcommand, bool all);
