/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace top` on a terminal (ncurses), or in blocks where there is none, until the recording or the user ends it. */
#ifndef GPUTRACE_TOP_SCREEN_H
#define GPUTRACE_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "top/live_log.h"

struct top {
	FILE *in, *out;		/* the terminal; blocks go to `out` */
	int log_fd;		/* that is being written */
	int ended_fd;		/* readable: the recording is over */
	const char *target;	/* what is traced, for people */
	uint64_t interval_ns;	/* from one look to the next, at least */
	bool (*is_ended)(void); /* by a signal */
	/* Writes the span into a file; what became of it goes into `said`. */
	void (*write)(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, char *said, size_t size);
};

/* True: the user ended it.  *known is false where the terminal's kind (TERM) is not: then nothing was shown. */
bool top_on_terminal(const struct top *top, bool *known);

void top_in_blocks(const struct top *top);

#endif
