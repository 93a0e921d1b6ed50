/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What gputrace dump looks at, and how it prints that: once (dump.c), or when a process hangs (dump_watch.c). */
#pragma once

#include "cmd/process/exit_code.h"
#include "cmd/options/options.h"
#include "dump/text.h"

/*
 * Starts looks at the processes that the options name, and at their descendants.  The processes that are named, or that
 * -p gpu and --all find, come first in the list; returns their number.
 */
size_t dump_looks_start(look_list *looks, const struct options *options, enum look_depth depth);

/* Prints that -p gpu or --all has found no process. */
void dump_say_none(const struct options *options);

/* Prints on standard output, in the format that was asked for. 0 or -errno, which a message has said */
int dump_looks_print(const struct options *options, const look_list *looks, const struct graph *graph,
		     const rank_list *ranks);

/* --when: watches until a process hangs, or all have ended. */
enum exit_code dump_watch(const struct options *options);
