/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last traces of a user are kept, so that report, why, view, export and diff need no file.  Each is the log itself
 * under one more name where the file system permits that, else a copy.
 */
#pragma once

#include <stdbool.h>

#include "cmd/options/options.h"

/* At most so many are kept, of so many bytes together; the oldest are removed first. */
#define LAST_TRACES_MOST 5u
#define LAST_TRACES_BYTES 1000000000ull

/* Keeps the log of a recording that is over.  If that cannot be, a line says why, and the trace is not touched. */
void last_trace_keep(int log_fd);

/* Sets options->log to the last trace that is kept, or for diff both logs to the last two, and prints which that is.
 * -ENOENT and a message: there is none. */
int last_trace_choose(struct options *options);

/* Whether last_trace_keep would find a home, and the log is not too large: the disk may still be full. */
bool last_trace_can_keep(int log_fd);

/* A log's name as a word of a command, for trace.file; the caller frees it. */
char *last_trace_word(const char *path);

/* Whether last_trace_choose has named that file; then it is opened here, with its owner's ids.  -1 and errno */
bool last_trace_is(const char *path);
int last_trace_open(const char *path);
