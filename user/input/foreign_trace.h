/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any file that gputrace reads as a trace: its own logs, and those of other tools, kept apart by what is in
 * them, not by their names.  Of another tool's file the events are sorted first (rows.h).
 */
#ifndef GPUTRACE_INPUT_FOREIGN_TRACE_H
#define GPUTRACE_INPUT_FOREIGN_TRACE_H

#include "input/two_pass_trace.h"

/* Whether the file begins as one of another tool does; if not it is a log, if anything. */
bool foreign_is(int fd);

/*
 * As gpt_trace_open, but the caller frees *why.  All of the file is read at once; fd may be closed then.  The caller
 * ends *trace with two_pass_trace_close.
 */
int foreign_trace_open(int fd, const struct trace_division *division, struct trace **trace, char **why);

/*
 * Of a file that people hand over and that is not read: what it is, and what helps.  One sentence, to stand after the
 * file's name, which the caller frees; NULL: it is none of these.  By what is in the file; by its name where that says
 * nothing.
 */
char *foreign_refusal(int fd, const char *name);

#endif
