/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moments of a recording as people write them: so long after its start, or by the clock on the wall. */
#ifndef GPUTRACE_MOMENT_H
#define GPUTRACE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum moment_kind {
	MOMENT_NONE,	    /* not given */
	MOMENT_SINCE_START, /* "5", "500ms", "1:30" */
	MOMENT_OF_DAY,	    /* "14:03:20": on the day that is nearest to the recording */
	MOMENT_OF_DATE,	    /* "2026-11-22T14:03:20.5Z" */
};

struct moment {
	enum moment_kind kind;
	int64_t ns;	  /* since the start; since midnight; of a date: since 1970 */
	bool has_zone;	  /* of a day: the clock's own offset was given ... */
	int32_t zone_s;	  /* ... how far it is ahead of UTC */
	const char *text; /* as it was given */
};

/* 0, or -EINVAL when the text, which is kept, is no such moment.  Without an offset dates are those of the local time
 * zone. */
int moment_parse(const char *text, struct moment *out);

/* Times by CLOCK_MONOTONIC, and how far CLOCK_REALTIME is ahead of it. */
struct moment_clock {
	uint64_t start_ns, end_ns;
	int64_t wall_offset_ns;
};

/* When that was by CLOCK_MONOTONIC; 0 for what is before that clock began. */
uint64_t moment_resolve(const struct moment *moment, const struct moment_clock *clock);

#endif
