/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The live trace: record into a log, then deliver from it. */
#ifndef GPUTRACE_RECORD_CMD_H
#define GPUTRACE_RECORD_CMD_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code record_command(const struct options *options);

#endif
