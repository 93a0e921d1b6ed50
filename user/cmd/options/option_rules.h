/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What options mean together: which need, exclude or imply one another. */
#ifndef GPUTRACE_OPTION_RULES_H
#define GPUTRACE_OPTION_RULES_H

#include "cmd/options/option_parser.h"

/* Of a command line that was read to its end; fills in what follows from others. 0 or -EINVAL */
int option_rules_check(struct parse *parse);

#endif
