/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moments of a recording as people write them: a time after its start, or a wall-clock time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum moment_kind {
	MOMENT_NONE,	    /* not given */
	MOMENT_SINCE_START, /* "5", "500ms", "1:30" */
	MOMENT_OF_DAY,	    /* "14:03:20": on the day nearest to the recording */
	MOMENT_OF_DATE,	    /* "2026-11-22T14:03:20.5Z", "@1795356200.5" */
};

struct moment {
	enum moment_kind kind;
	int64_t ns;	  /* by kind: since the start; since midnight; since 1970 */
	bool has_zone;	  /* an offset from UTC was given ... */
	int32_t zone_s;	  /* ... which is this far ahead */
	const char *text; /* as given */
};

/* 0, or -EINVAL when the text is no such moment.  Keeps the pointer to it.  Dates without an offset are in the local
 * time zone. */
int moment_parse(const char *text, struct moment *out);

/* Times by CLOCK_MONOTONIC, and how far CLOCK_REALTIME is ahead of it. */
struct moment_clock {
	uint64_t start_ns, end_ns;
	int64_t wall_offset_ns;
};

/* The moment by CLOCK_MONOTONIC; 0 if it is before that clock began. */
uint64_t moment_resolve(const struct moment *moment, const struct moment_clock *clock);
