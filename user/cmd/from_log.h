/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace report` and `gputrace export`: outputs from a log. */
#ifndef GPUTRACE_FROM_LOG_H
#define GPUTRACE_FROM_LOG_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

enum exit_code report_command(const struct options *options);
enum exit_code export_command(const struct options *options);

/* Opens a log for reading; -1: a message has said what is wrong. */
int from_log_open(const char *path);

#endif
