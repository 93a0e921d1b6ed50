/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command that only reads files confines itself before it opens the first one.  Whatever a hostile file makes of it
 * then writes only into the folders of its outputs and temporary files, executes nothing, and reaches no one by TCP,
 * abstract socket or signal.  By Landlock, as far as the kernel has it (Linux 5.13 and later).
 */
#ifndef GPUTRACE_CMD_CONFINE_H
#define GPUTRACE_CMD_CONFINE_H

#include "cmd/options/options.h"

/* For good: the calling thread and those that it starts.  Which folders: the options' outputs.  False: it is not. */
bool confine_reader(const struct options *options);

#endif
