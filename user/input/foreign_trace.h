/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any file that gputrace reads as a trace: its own logs, and those of other tools, distinguished by content, not by
 * name. Events of another tool's file are sorted first (rows.h).
 */
#pragma once

#include "input/two_pass_trace.h"

/* Whether the file starts like one of another tool; if not it is a log, if anything. */
bool foreign_is(int fd);

/*
 * As gpt_trace_open, but the caller frees *why.  Reads the whole file at once; fd may be closed afterwards.  The caller
 * closes *trace with two_pass_trace_close.
 */
int foreign_trace_open(int fd, const struct trace_division *division, struct trace **trace, char **why);

/*
 * For a file that users pass but gputrace does not read: says what it is, and what helps.  Returns one sentence to
 * follow the file's name, which the caller frees; NULL: not a known kind.  Decides by content, or by name if the
 * content says nothing.
 */
char *foreign_refusal(int fd, const char *name);
