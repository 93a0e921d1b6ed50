/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace diff: two logs compared. */
#ifndef GPUTRACE_DIFF_H
#define GPUTRACE_DIFF_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code diff_command(const struct options *options);

#endif
