/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of --help. */
#ifndef GPUTRACE_USAGE_H
#define GPUTRACE_USAGE_H

#include <stdio.h>

#include "cmd/options/options.h"

void usage_print(FILE *out, enum subcommand subcommand);

#endif
