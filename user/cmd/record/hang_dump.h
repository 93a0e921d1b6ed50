/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --trigger hang: what `gputrace dump` says when a process hangs, beside the file that is written of it. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "capture/trigger.h"
#include "cmd/process/own_child.h"

struct hang_dump {
	/* To TAKEN by the first thread, back to FREE by the one that writes files; the other members are theirs in
	 * turn. */
	_Atomic enum { DUMP_FREE, DUMP_TAKEN } state;
	uint64_t at_ns; /* the file that ends then or later is the first to have it */
	struct own_child child;
};

/* run_options.hang_seen; context: struct recording. */
void hang_dump_begin(void *context, const struct trigger_event *event);

/* A log was written, of what had happened until end_ns: writes FILE.dump.txt beside FILE.gpt if there is a dump. */
void hang_dump_write(struct hang_dump *dump, const char *log, uint64_t end_ns);

void hang_dump_end(struct hang_dump *dump);
