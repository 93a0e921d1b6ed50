/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace's own log as a trace (model/trace.h).  See two_pass_trace.h for short and long ones. */
#pragma once

#include "input/two_pass_trace.h"

struct log_restriction;

/*
 * division: NULL for the default.  wanted: which parts are read (gpt_slice.h), NULL: everything; it stays the caller's.
 * A log that is not a regular file counts as short.  Returns 0 also for a truncated log (receipt.truncated); -EPROTO:
 * not a gputrace log (*why says what is wrong, a literal), -EMEDIUMTYPE: an unsupported version, other -errno from
 * reading.  The caller closes *trace with gpt_trace_close; fd stays the caller's, who must not move its offset
 * meanwhile.
 */
int gpt_trace_open(int fd, const struct trace_division *division, const struct log_restriction *wanted,
		   struct trace **trace, const char **why);

/*
 * Opens another pass over a long log at the same time, with what pass 1 of it has collected (two_pass_trace_reopen).
 * fd and wanted are the same as for `of`, which must outlive *trace.  Returns 0 or -errno; close with gpt_trace_close.
 */
int gpt_trace_open_again(int fd, const struct log_restriction *wanted, const struct trace *of, struct trace **trace);
void gpt_trace_close(struct trace *trace);
