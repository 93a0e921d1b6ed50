/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs `gputrace top` on a terminal (ncurses), or in blocks of text without one, until the recording or the user ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "top/live_log.h"

struct top {
	FILE *in, *out;		/* the terminal; blocks go to `out` */
	int log_fd;		/* the log that is being written */
	int ended_fd;		/* becomes readable when the recording is over */
	const char *target;	/* name of what is traced, as shown */
	uint64_t interval_ns;	/* from one look to the next, at least */
	bool (*is_ended)(void); /* ended by a signal */
	/* Writes the span into a file; a message about the result goes into `said`. */
	void (*write)(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, char *said, size_t size);
};

/* True: the user ended it.  *known is false if the terminal's type (TERM) is unknown: then nothing was shown. */
bool top_on_terminal(const struct top *top, bool *known);

void top_in_blocks(const struct top *top);
