/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace why`: of a log, or of what it records itself. */
#ifndef GPUTRACE_CMD_WHY_H
#define GPUTRACE_CMD_WHY_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code why_command(const struct options *options);

#endif
