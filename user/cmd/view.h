/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace view: a log in a browser on this machine, until Ctrl-C. */
#ifndef GPUTRACE_CMD_VIEW_H
#define GPUTRACE_CMD_VIEW_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code view_command(const struct options *options);

#endif
