/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A subcommand of gputrace that runs beside a recording, in a child: what it prints, bounded in time.  It is started
 * without a copy of the recording's memory, whose threads would wait for that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct own_child {
	pid_t pid;	   /* 0: none runs */
	FILE *out;	   /* what it prints; NULL: none */
	uint64_t until_ns; /* it is killed then */
	int status;	   /* of waitpid(2), once it has ended */
};

#define OWN_CHILD_INPUT "/proc/self/fd/3"

/*
 * words: as of the command line, NULL at the end.  input: a descriptor that it has at OWN_CHILD_INPUT, -1: none.
 * messages: whether they are among what it prints.  0 or -errno.
 */
int own_child_start(struct own_child *child, const char *const *words, int input, bool messages, uint64_t longest_ns);

/* Whether it has ended; one that takes too long is killed.  Then `out` is at its start. */
bool own_child_is_over(struct own_child *child, uint64_t now_ns);

/* Ends it, if it runs, and forgets what it printed. */
void own_child_close(struct own_child *child);
