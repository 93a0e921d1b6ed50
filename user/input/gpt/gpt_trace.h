/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log of gputrace's own as a trace (model/trace.h).  See two_pass_trace.h for short and long ones.
 */
#ifndef GPUTRACE_INPUT_GPT_TRACE_H
#define GPUTRACE_INPUT_GPT_TRACE_H

#include "input/two_pass_trace.h"

struct log_restriction;

/*
 * division: NULL for the default.  wanted: what of it is read (gpt_slice.h), NULL: everything; it stays the caller's.
 * A log that is no regular file is short.  Returns as model_build does; the caller
 * ends *trace with gpt_trace_close, and fd stays the caller's, who does not move its offset meanwhile.
 */
int gpt_trace_open(int fd, const struct trace_division *division, const struct log_restriction *wanted,
		   struct trace **trace, const char **why);

/*
 * Another round over a long log at the same time, by what pass 1 of it has collected (two_pass_trace_reopen):
 * with the same fd and wanted as `of`, which stays as long.  0 or -errno; ended with gpt_trace_close.
 */
int gpt_trace_open_again(int fd, const struct log_restriction *wanted, const struct trace *of, struct trace **trace);
void gpt_trace_close(struct trace *trace);

#endif
