/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log of gputrace's own as a trace (model/trace.h).  A short one is read once and is one part.  A long one is read
 * once to learn what its end says, and once more for every round over its parts; what is held of it does not grow with
 * its length.
 */
#ifndef GPUTRACE_INPUT_GPT_TRACE_H
#define GPUTRACE_INPUT_GPT_TRACE_H

#include <stdint.h>

#include "model/trace.h"

struct log_restriction;

/* What decides how a log is divided. */
struct gpt_division {
	uint64_t whole_bytes;	  /* of records: a log with more is long */
	uint32_t stretch_records; /* builder_begin_stretch */
	uint32_t part_events;	  /* that wait before a part is asked for */
};

extern const struct gpt_division gpt_division_default;

/*
 * division: NULL for the default.  wanted: what of it is read (gpt_slice.h), NULL: everything; it stays the caller's.
 * A log that is no regular file is short.  Returns as model_build does; the caller
 * ends *trace with gpt_trace_close, and fd stays the caller's, who does not move its offset meanwhile.
 */
int gpt_trace_open(int fd, const struct gpt_division *division, const struct log_restriction *wanted,
		   struct trace **trace, const char **why);
void gpt_trace_close(struct trace *trace);

#endif
