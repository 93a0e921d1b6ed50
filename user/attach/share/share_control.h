/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The collector's side of struct gpt_share_control (gputrace/share.h): memory that agents can read but not write. It
 * shows when gputrace has ended, in whatever way, by a robust futex of the thread that opened it.
 */
#pragma once

#include <gputrace/share.h>

struct share_control {
	int fd; /* for agents */
	struct gpt_share_control *shared;
};

/* Call from the thread that lives as long as gputrace. 0 or -errno. */
int share_control_open(struct share_control *out);

/* Shows agents that no gputrace listens any more. */
void share_control_close(struct share_control *control);

/* Creates a file in memory of that size, which no one can resize. Returns its descriptor or -errno. */
int share_memory_make(const char *name, uint64_t bytes);
