/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --start-at: at which moment a recording begins. */
#pragma once

#include "capture/start.h"
#include "cmd/options/moment.h"

struct start_at {
	const char *text; /* as given, NULL: not given */
	enum start_kind kind;
	struct moment moment; /* START_AT_TIME */
	uint64_t ns;	      /* START_AFTER, START_AT_MULTIPLE: the time, the period */
};

/* "14:30:00", "2026-11-22T14:30:00+01:00", "@1796049000.5", "+5s", "/10s".  0, or -EINVAL; keeps the text. */
int start_at_parse(const char *text, struct start_at *out);

/*
 * The request for capture/, whose kind is set already if no moment was asked for.  Times are now's on both clocks.
 * Returns how far the moment lies in the past, in ns, or 0: it does not.
 */
uint64_t start_at_resolve(const struct start_at *start_at, uint64_t mono_ns, int64_t wall_offset_ns,
			  struct start_request *request);
