/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace merge: logs of several ranks of one job, put on one clock. */
#ifndef GPUTRACE_MERGE_H
#define GPUTRACE_MERGE_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code merge_command(const struct options *options);

#endif
